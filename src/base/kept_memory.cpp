#include "base/kept_memory.hpp"

#include "base/runtime_cuda.hpp"

namespace tessera {

namespace {
constexpr std::size_t most_pieces = 32;
constexpr Offset most_bytes = Offset(64) << 20;
}  // namespace

KeptMemory::KeptMemory(int device, void* stream) : device_(device), stream_(stream) {
    pieces_.reserve(most_pieces);
}

void* KeptMemory::allocate(Offset bytes) {
    for (std::size_t k = pieces_.size(); k-- > 0;) {
        if (pieces_[k].bytes != bytes) continue;
        void* const memory = pieces_[k].memory;
        pieces_.erase(pieces_.begin() + std::ptrdiff_t(k));
        bytes_ -= bytes;
        return memory;
    }
    if constexpr (cuda::with_cuda) {
        try {
            return cuda::allocate(device_, stream_, bytes);
        } catch (const OutOfMemory&) {
            if (!give_back()) throw;
        }
        return cuda::allocate(device_, stream_, bytes);
    }
    return nullptr;
}

void KeptMemory::release(void* memory, Offset bytes) noexcept {
    if (bytes > most_bytes) {
        if constexpr (cuda::with_cuda) cuda::release(device_, stream_, memory);
        return;
    }
    while (bytes_ > most_bytes - bytes || pieces_.size() == most_pieces) release_oldest();
    pieces_.push_back({memory, bytes});
    bytes_ += bytes;
}

bool KeptMemory::give_back() noexcept {
    const bool any = !pieces_.empty();
    while (!pieces_.empty()) release_oldest();
    return any;
}

void KeptMemory::release_oldest() noexcept {
    if constexpr (cuda::with_cuda) cuda::release(device_, stream_, pieces_.front().memory);
    bytes_ -= pieces_.front().bytes;
    pieces_.erase(pieces_.begin());
}

}  // namespace tessera
