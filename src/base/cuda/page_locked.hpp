#pragma once

#include <mutex>
#include <vector>

#include "tessera/types.hpp"

struct CUstream_st;

namespace tessera::cuda {

/// Blocks of page-locked memory of the host. The process keeps them: to free one may wait for all
/// work on the device, which no capture of a stream allows, and Contexts end at any time.
class PageLockedBlocks {
  public:
    static constexpr Offset block_bytes = 4096;

    void* take();
    void give_back(void* block) noexcept;

  private:
    std::mutex mutex_;
    std::size_t made_ = 0;
    std::vector<void*> free_;
};

/// Never destroyed: Contexts may end after the objects of any file.
PageLockedBlocks& page_locked_blocks();

/// Shorter copies gain little from copy_in_stages.
inline constexpr Offset min_staged_bytes = Offset(8) << 20;

/// Copies between memory of the current device and pageable memory of the host through page-locked
/// memory, which up to eight threads fill or empty while the GPU copies; cudaMemcpyAsync has one
/// thread for that. Waits for earlier work of the stream and for the copy. Returns false, having
/// copied nothing, for other memory or one thread, where another thread is in a copy, or without
/// page-locked memory.
bool copy_in_stages(const void* from, void* to, Offset bytes, int threads, CUstream_st* stream);

}  // namespace tessera::cuda
