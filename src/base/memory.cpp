#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/context_state.hpp"
#include "base/dispatch.hpp"
#include "base/parallel.hpp"
#include "base/runtime_cuda.hpp"

namespace tessera {

using cuda::with_cuda;

namespace detail {

namespace {

constexpr std::size_t huge_page = std::size_t(1) << 21;

/// Memory of the host, large ones in huge pages where the system has them: a product reads x and
/// the matrix in more places than there are translations of small pages at hand (measured:
/// docs/decisions/sliced-formats.md).
void* allocate_on_host(std::size_t bytes) {
    const bool large = bytes >= 4 * huge_page;
    const std::size_t alignment = large ? huge_page : 64;
    void* const memory =
        std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory != nullptr && large) madvise(memory, bytes, MADV_HUGEPAGE);  // A hint only.
    return memory;
}

/// Touches fresh pages from all threads, so that each lies near the thread that walks it later.
void first_touch(int threads, void* memory, Offset bytes, bool poison) {
    parallel_ranges(
        threads, bytes,
        [&](Offset first, Offset last) {
            char* begin = static_cast<char*>(memory);
            if (poison) {
                std::memset(begin + first, 0xff, std::size_t(last - first));
            } else {
                for (Offset at = first; at < last; at += 4096) begin[at] = 0;
            }
        },
        Offset(1) << 22);
}

}  // namespace

Memory::Memory(const Context& context, Offset bytes)
    : state_(context.state_), bytes_(bytes), allocated_(bytes) {
    require(bytes >= 0, "Buffer: negative size");
    ContextState& state = *state_;
    if (bytes > 0) {
        if (context.on_gpu()) {
            if constexpr (with_cuda) {
                data_ = cuda::allocate(state.device, state.pool, state.stream, bytes);
                if (state.poison) {
                    cuda::fill_bytes(state.device, state.stream, data_, 0xff, bytes);
                }
            }
        } else {
            data_ = allocate_on_host(std::size_t(bytes));
            if (data_ == nullptr) {
                throw OutOfMemory("out of memory: " + std::to_string(bytes >> 20) +
                                  " MiB requested");
            }
            first_touch(state.threads, data_, bytes, state.poison);
        }
    }
    ++state.allocations;
    state.memory.current += bytes;
    state.memory.peak = std::max(state.memory.peak, state.memory.current);
}

Memory::~Memory() {
    if (!state_) return;
    state_->memory.current -= allocated_;
    if (data_ == nullptr) return;
    if (state_->backend == Backend::cpu) {
        std::free(data_);
    } else if constexpr (with_cuda) {
        cuda::release(state_->device, state_->stream, data_);
    }
}

void Memory::truncate(Offset bytes) {
    require(bytes >= 0 && bytes <= bytes_, "Buffer::truncate: the buffer is smaller");
    bytes_ = bytes;
}

namespace {
void copy_on_host(const Context& context, const void* from, void* to, Offset bytes) {
    parallel_ranges(
        context.threads(), bytes,
        [&](Offset first, Offset last) {
            std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first,
                        std::size_t(last - first));
        },
        Offset(1) << 18);
}
}  // namespace

void copy_bytes(const Context& context, const void* from, void* to, Offset bytes) {
    if (bytes == 0) return;
    if constexpr (with_cuda) {
        if (context.on_gpu()) {
            return cuda::copy_within(context.device(), context.stream(), from, to, bytes);
        }
    }
    copy_on_host(context, from, to, bytes);
}

void copy_bytes_to_host(const Context& context, const void* from, void* to, Offset bytes) {
    if (bytes == 0) return context.synchronize();
    if constexpr (with_cuda) {
        if (context.on_gpu()) {
            return cuda::copy_to_host(context.device(), context.stream(), from, to, bytes);
        }
    }
    copy_on_host(context, from, to, bytes);
}

void copy_bytes_from_host(const Context& context, const void* from, void* to, Offset bytes) {
    if (bytes == 0) return;
    if constexpr (with_cuda) {
        if (context.on_gpu()) {
            return cuda::copy_from_host(context.device(), context.stream(), from, to, bytes);
        }
    }
    copy_on_host(context, from, to, bytes);
}

}  // namespace detail

}  // namespace tessera
