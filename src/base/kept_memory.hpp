#pragma once

#include <vector>

#include "tessera/types.hpp"

namespace tessera {

/// Memory of a GPU that was freed in the order of a stream, for the next allocations of the same
/// size in that: the driver's pool takes 1 to 2 us each, often while the GPU waits for the host.
/// Keeps at most 32 pieces, 64 MB together: what was freed last.
class KeptMemory {
  public:
    KeptMemory(int device, void* stream);
    ~KeptMemory() { give_back(); }
    KeptMemory(const KeptMemory&) = delete;
    KeptMemory& operator=(const KeptMemory&) = delete;

    /// What was kept, or else new memory. Throws OutOfMemory.
    void* allocate(Offset bytes);
    /// Keeps memory, or frees it.
    void release(void* memory, Offset bytes) noexcept;
    /// Frees all that is kept; false if there was nothing.
    bool give_back() noexcept;

  private:
    struct Piece {
        void* memory;
        Offset bytes;
    };
    void release_oldest() noexcept;

    int device_;
    void* stream_;
    std::vector<Piece> pieces_;  ///< The last one was freed last.
    Offset bytes_ = 0;
};

}  // namespace tessera
