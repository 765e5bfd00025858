#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/choose_format.hpp"
#include "precond/block_jacobi/kernels.hpp"

/// Storage formats of inverted blocks.
namespace tessera::cuda {

namespace {

constexpr int format_threads = 256;

/// The block of this group of `Lanes` lanes, and where its values are; n is 0 behind the last.
template <class T>
struct InvertedBlock {
    Index block;
    int n;
    const T* values;
};

template <int Lanes, class T>
__device__ __forceinline__ InvertedBlock<T> inverted_block(const PackedBlocks<T>& blocks,
                                                           const T* inverses) {
    const Offset b = (Offset(blockIdx.x) * format_threads + threadIdx.x) / Lanes;
    if (b >= blocks.count) return {0, 0, inverses};
    const int n = blocks.block_offsets[b + 1] - blocks.block_offsets[b];
    return {Index(b), n, inverses + blocks.entry_offsets[b]};
}

/// formats[b] = the smallest format that does; or, where `check`, misfits += whether the format
/// that is there does not.
template <class T, int Lanes, bool check>
__global__ void __launch_bounds__(format_threads)
    choose_kernel(PackedBlocks<T> blocks, const T* inverses, const T* reciprocal_condition,
                  double accuracy, BlockFormat* formats, SetupVerdict* verdict) {
    const InvertedBlock<T> at = inverted_block<Lanes>(blocks, inverses);
    const int lane = int(threadIdx.x) % Lanes;
    T largest = T(0);
    for (int e = lane; e < at.n * at.n; e += Lanes) largest = fmax(largest, fabs(at.values[e]));
    largest = lanes_max<Lanes>(largest);
    if (at.n == 0 || lane != 0) return;
    const double condition = double(reciprocal_condition[at.block]);
    if constexpr (check) {
        constexpr BlockFormat working = sizeof(T) == 8 ? BlockFormat::f64 : BlockFormat::f32;
        const BlockFormat kept = formats[at.block];
        if (kept != working && !fits_format(kept, condition, double(largest), accuracy)) {
            atomicAdd(&verdict->misfits, 1);
        }
    } else {
        formats[at.block] = smallest_format<T>(condition, double(largest), accuracy);
    }
}

/// Writes the blocks in their formats, and counts those of `format` (all of one) that overflow.
template <class T, int Lanes>
__global__ void __launch_bounds__(format_threads)
    store_kernel(PackedBlocks<T> blocks, const T* inverses, BlockFormat format,
                 const BlockFormat* formats, const Offset* starts, int unit, std::byte* bytes,
                 SetupVerdict* verdict) {
    const InvertedBlock<T> at = inverted_block<Lanes>(blocks, inverses);
    if (at.n == 0) return;
    const int lane = int(threadIdx.x) % Lanes;
    if (formats != nullptr) format = formats[at.block];
    std::byte* const to = bytes + starts[at.block] * unit;
    bool overflow = false;
    with_format<T>(format, [&](auto known) {
        constexpr BlockFormat in = decltype(known)::value;
        auto* const out = reinterpret_cast<StoredBits<in>*>(to);
#pragma unroll 4
        for (int e = lane; e < at.n * at.n; e += Lanes) {
            const T value = at.values[e];
            out[e] = narrow<in>(value);
            overflow = overflow || (isfinite(value) && fabs(double(value)) > largest_finite(in));
        }
    });
    if (overflow) atomicOr(&verdict->overflow, 1);
}

struct StoredUnits {
    const Index* block_offsets;
    const BlockFormat* formats;
    __device__ Offset operator()(Offset b) const {
        return stored_units(block_offsets[b + 1] - block_offsets[b], formats[b]);
    }
};

__global__ void __launch_bounds__(format_threads)
    sizes_kernel(Index count, const Index* block_offsets, Index* sizes) {
    for_elements<1>(count, [&](Offset b) { sizes[b] = block_offsets[b + 1] - block_offsets[b]; });
}

__global__ void __launch_bounds__(format_threads)
    verdict_kernel(Index count, const Index* info, SetupVerdict* verdict) {
    int failed = 0;
    for_elements<8>(count, [&](Offset b) { failed += info[b] != 0; });
    failed = warp_sum(failed);
    if (threadIdx.x % 32 == 0 && failed > 0) atomicAdd(&verdict->singular, failed);
}

/// f(lanes a block as a constant, thread blocks).
template <class T, class F>
void with_lanes(const PackedBlocks<T>& blocks, F&& f) {
    if (blocks.count == 0) return;
    if (blocks.largest <= 6) {
        f(std::integral_constant<int, 8>(), blocks_for(blocks.count, format_threads / 8));
    } else {
        f(std::integral_constant<int, 32>(), blocks_for(blocks.count, format_threads / 32));
    }
}

}  // namespace

void block_sizes(const Context& context, Index count, const Index* block_offsets, Index* sizes) {
    if (count == 0) return;
    sizes_kernel<<<blocks_for(count, format_threads), format_threads, 0, stream_of(context)>>>(
        count, block_offsets, sizes);
    TESSERA_CUDA(cudaGetLastError());
}

void count_singular(const Context& context, Index count, const Index* info, SetupVerdict* verdict) {
    const cudaStream_t stream = stream_of(context);
    TESSERA_CUDA(cudaMemsetAsync(verdict, 0, sizeof(SetupVerdict), stream));
    if (count == 0) return;
    verdict_kernel<<<blocks_for(count, 8 * format_threads), format_threads, 0, stream>>>(
        count, info, verdict);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void choose_formats(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                    const T* reciprocal_condition, double accuracy, BlockFormat* formats) {
    with_lanes(blocks, [&](auto lanes, unsigned grid) {
        choose_kernel<T, decltype(lanes)::value, false>
            <<<grid, format_threads, 0, stream_of(context)>>>(
                blocks, inverses, reciprocal_condition, accuracy, formats, nullptr);
        TESSERA_CUDA(cudaGetLastError());
    });
}

template <class T>
void check_formats(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                   const T* reciprocal_condition, double accuracy, const BlockFormat* formats,
                   SetupVerdict* verdict) {
    with_lanes(blocks, [&](auto lanes, unsigned grid) {
        choose_kernel<T, decltype(lanes)::value, true>
            <<<grid, format_threads, 0, stream_of(context)>>>(
                blocks, inverses, reciprocal_condition, accuracy, const_cast<BlockFormat*>(formats),
                verdict);
        TESSERA_CUDA(cudaGetLastError());
    });
}

void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockFormat* formats, Offset* starts) {
    exclusive_scan(context, count, StoredUnits{block_offsets, formats}, starts);
}

template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupVerdict* verdict) {
    with_lanes(blocks, [&](auto lanes, unsigned grid) {
        store_kernel<T, decltype(lanes)::value><<<grid, format_threads, 0, stream_of(context)>>>(
            blocks, inverses, stored.format, stored.formats, stored.starts, stored.unit, bytes,
            verdict);
        TESSERA_CUDA(cudaGetLastError());
    });
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template void choose_formats<T>(const Context&, const PackedBlocks<T>&, const T*, const T*, \
                                    double, BlockFormat*);                                      \
    template void check_formats<T>(const Context&, const PackedBlocks<T>&, const T*, const T*,  \
                                   double, const BlockFormat*, SetupVerdict*);                  \
    template void store_blocks<T>(const Context&, const PackedBlocks<T>&, const T*,             \
                                  const StoredBlocks&, std::byte*, SetupVerdict*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cuda
