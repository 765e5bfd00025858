#pragma once

#include "base/for_each.hpp"
#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"

/// The loop bodies of for_each_index over blocks: they choose formats and read stored values.
namespace tessera {

/// formats[b] = smallest_format, or two_byte_format, of block b, whose bit is set in `chosen`.
template <class T>
struct ChooseFormat {
    static constexpr int work = 4;
    SetupResults<T> results;
    bool two_bytes;
    BlockPrecision* formats;
    unsigned* chosen;

    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        const double largest = double(results.largest[b]);
        formats[b] = two_bytes ? two_byte_format(largest)
                               : smallest_format<T>(double(results.reciprocal_condition[b]),
                                                    largest, results.accuracy);
        const unsigned bit = 1u << int(formats[b]);
#ifdef __CUDA_ARCH__
        if ((*chosen & bit) == 0) atomicOr(chosen, bit);
#else
        const std::atomic_ref<unsigned> all(*chosen);
        if ((all.load(std::memory_order_relaxed) & bit) == 0) {
            all.fetch_or(bit, std::memory_order_relaxed);
        }
#endif
    }
};

/// The values of block b, column-major from values[entry_offsets[b]] on.
template <class T>
struct ExpandBlock {
    static constexpr int work = 256;
    StoredBlocks stored;
    const Offset* entry_offsets;
    T* values;

    TESSERA_HOST_DEVICE void operator()(Offset b) const {
        const BlockPrecision format = stored.format_of(b);
        const std::byte* from = stored.block(b);
        for (Offset e = entry_offsets[b]; e < entry_offsets[b + 1]; ++e) {
            values[e] = load<T>(format, from);
            from += bytes_of(format);
        }
    }
};

}  // namespace tessera
