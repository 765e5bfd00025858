#include "base/cuda/page_locked.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/cuda/event.hpp"
#include "base/parallel.hpp"

namespace tessera::cuda {

void* PageLockedBlocks::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            void* const block = free_.back();
            free_.pop_back();
            return block;
        }
        free_.reserve(++made_);
    }
    void* block = nullptr;
    TESSERA_CUDA(cudaHostAlloc(&block, std::size_t(block_bytes), cudaHostAllocPortable));
    return block;
}

void PageLockedBlocks::give_back(void* block) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(block);  // Its capacity was reserved.
}

PageLockedBlocks& page_locked_blocks() {
    static auto* const blocks = new PageLockedBlocks;
    return *blocks;
}

namespace {

/// Measured on an H200 of a host with 16 cores: fewer or smaller stages and more threads are
/// slower.
constexpr Offset stages = 4, stage_bytes = Offset(4) << 20;
constexpr int max_threads = 8;
/// Shorter copies by one thread.
constexpr Offset bytes_per_thread = Offset(1) << 17;

/// The page-locked memory of all copies of the process; one copy at a time has it.
struct Stages {
    std::mutex mutex;
    char* memory = nullptr;
};

Stages& all_stages() {
    static auto* const made = new Stages;  // Never destroyed, as page_locked_blocks.
    return *made;
}

/// Copies end before others use the stages, also if a later call fails.
struct WaitAtEnd {
    cudaStream_t stream;
    ~WaitAtEnd() { cudaStreamSynchronize(stream); }
};

cudaMemoryType type_of(const void* memory) {
    cudaPointerAttributes found{};
    TESSERA_CUDA(cudaPointerGetAttributes(&found, memory));
    return found.type;
}

}  // namespace

bool copy_in_stages(const void* from, void* to, Offset bytes, int threads, CUstream_st* stream) {
    const cudaMemoryType source = type_of(from), target = type_of(to);
    const bool upwards = source == cudaMemoryTypeUnregistered && target == cudaMemoryTypeDevice;
    if (!upwards && (source != cudaMemoryTypeDevice || target != cudaMemoryTypeUnregistered)) {
        return false;
    }
    threads = std::min(threads, max_threads);
    if (threads < 2) return false;
    // Kernels may write pageable memory of some systems. And a lock is held no longer than a copy.
    TESSERA_CUDA(cudaStreamSynchronize(stream));
    Stages& all = all_stages();
    const std::unique_lock lock(all.mutex, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    if (all.memory == nullptr &&
        cudaHostAlloc(&all.memory, stages * stage_bytes, cudaHostAllocPortable) != cudaSuccess) {
        cudaGetLastError();
        return false;
    }
    const WaitAtEnd wait{stream};
    std::array<Event, stages> copied;
    for (Event& event : copied) event = make_event(cudaEventDisableTiming);
    const auto copy_on_host = [threads](const char* source_part, char* target_part, Offset count) {
        parallel_ranges(
            threads, count,
            [=](Offset first, Offset last) {
                std::memcpy(target_part + first, source_part + first, std::size_t(last - first));
            },
            bytes_per_thread);
    };
    const char* const begin = static_cast<const char*>(from);
    char* const destination = static_cast<char*>(to);
    const Offset parts = (bytes + stage_bytes - 1) / stage_bytes;
    // Part k goes through stage k % stages, when part k - stages has left it.
    for (Offset k = 0; k < parts + stages; ++k) {
        char* const stage = all.memory + k % stages * stage_bytes;
        cudaEvent_t const event = copied[std::size_t(k % stages)].get();
        if (const Offset first = (k - stages) * stage_bytes; first >= 0 && first < bytes) {
            TESSERA_CUDA(cudaEventSynchronize(event));
            if (!upwards) {
                copy_on_host(stage, destination + first, std::min(stage_bytes, bytes - first));
            }
        }
        if (const Offset first = k * stage_bytes; first < bytes) {
            const Offset count = std::min(stage_bytes, bytes - first);
            if (upwards) copy_on_host(begin + first, stage, count);
            TESSERA_CUDA(cudaMemcpyAsync(upwards ? destination + first : stage,
                                         upwards ? stage : begin + first, std::size_t(count),
                                         cudaMemcpyDefault, stream));
            TESSERA_CUDA(cudaEventRecord(event, stream));
        }
    }
    return true;
}

}  // namespace tessera::cuda
