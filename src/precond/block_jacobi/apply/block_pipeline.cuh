#pragma once

#include <type_traits>

#include "gpu/bulk_copy.cuh"
#include "gpu/tuning/block_jacobi_h200.hpp"
#include "gpu/warp.cuh"
#include "precond/block_jacobi/storage/block_formats.hpp"

/// Per-warp pipeline of bulk copies (TMA) that streams stored blocks into shared memory. A warp
/// processes every `step`-th chunk: some groups of whole blocks with at most 32 rows each,
/// contiguous in memory. While it computes on one stage, the others are filled. A lane computes one
/// row of each group.
namespace tessera::cuda {

/// The row of a lane.
struct LaneRow {
    const std::byte* block;  ///< Values of its block.
    int n;                   ///< Rows of the block; 0: the lane has no row.
    BlockPrecision format;
    int in_block;  ///< The row in the block.
    int factor;    ///< Offset of the elements of r for its block, in the stage.
    Index row;     ///< Row of the matrix.
};

/// First column of the sum of a row of a transposed block; avoids bank conflicts.
__device__ __forceinline__ int first_column(int n, int in_block) {
    return n % 2 == 0 ? in_block : 0;
}

/// Sizes of the pipeline of a kernel.
template <class T, ApplyKernel Kernel>
struct ChunkShape {
    using Real = T;
    static constexpr ApplyShape shape = apply_shape<T>(Kernel);
    static constexpr BlockLayout layout = shape.layout;
    static constexpr int groups = shape.groups;
    static constexpr int stages = shape.stages;
    static constexpr int vectors = shape.vectors;
    static constexpr int rows = 32 * groups;
    static constexpr int pack_width = 16 / int(sizeof(T));  ///< Elements of r read at once.
    /// With several vectors, blocks of one size and more than pack_width rows have their elements
    /// of r aligned to pack_width. That needs 42 (T of 8 bytes) or 48 values per group.
    static constexpr bool padded = layout != BlockLayout::mixed_sizes && vectors > 1;
    static constexpr int padded_from = padded ? pack_width + 1 : 33;
    /// Distance of the vectors in a stage.
    static constexpr int factor_stride = padded ? (sizeof(T) == 8 ? 42 : 48) * groups : rows;
    static_assert(vectors == 1 || groups <= 2);
    static constexpr int factor_bytes = vectors * factor_stride * int(sizeof(T));
    static constexpr int row_table_bytes =
        layout == BlockLayout::uniform ? 0 : rows * int(sizeof(int2));
    static constexpr int barrier_bytes = 128;
    static_assert(stages * 8 <= barrier_bytes);

    static __host__ __device__ constexpr int warp_bytes(int value_bytes) {
        return barrier_bytes + stages * (value_bytes + factor_bytes + row_table_bytes);
    }
};

/// Copies of single values to shared memory (cp.async), in groups of each thread.
template <class T>
__device__ __forceinline__ void start_value_copy(const T* from, T* to) {
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(unsigned(__cvta_generic_to_shared(to))),
        "l"(from), "n"(sizeof(T))
        : "memory");
}
__device__ __forceinline__ void end_value_copies() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
/// Waits until all but the last `Pending` groups, each closed by end_value_copies, have arrived.
template <int Pending>
__device__ __forceinline__ void wait_for_value_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

/// The stages of a warp: each holds stored values, elements of r, and a table of rows.
template <class Shape>
class PipelineStages {
  public:
    __device__ __forceinline__ PipelineStages(unsigned char* memory, int value_bytes)
        : memory_(memory), value_bytes_(value_bytes) {
        if (int(threadIdx.x) % 32 < Shape::stages) barrier(int(threadIdx.x) % 32).init();
        __syncwarp();
    }
    __device__ __forceinline__ CopyBarrier barrier(int stage) const {
        return CopyBarrier(reinterpret_cast<unsigned long long*>(memory_) + stage);
    }
    __device__ __forceinline__ unsigned char* values(int stage) const {
        return memory_ + Shape::barrier_bytes +
               stage * (value_bytes_ + Shape::factor_bytes + Shape::row_table_bytes);
    }
    template <class T>
    __device__ __forceinline__ T* factors(int stage) const {
        return reinterpret_cast<T*>(values(stage) + value_bytes_);
    }
    __device__ __forceinline__ int2* row_table(int stage) const {
        return reinterpret_cast<int2*>(values(stage) + value_bytes_ + Shape::factor_bytes);
    }
    __device__ __forceinline__ void wait(int stage, int phase) const { barrier(stage).wait(phase); }

    /// Offset in a line of 128 bytes, equal in global memory and in the stage.
    static __device__ __forceinline__ unsigned line_offset(const std::byte* begin) {
        return unsigned(reinterpret_cast<unsigned long long>(begin)) % 128;
    }
    /// Starts the copy of these bytes, with up to 15 before and after them.
    __device__ __forceinline__ void copy(int stage, const std::byte* begin, unsigned bytes) const {
        if (threadIdx.x % 32 != 0) return;
        const unsigned skipped = line_offset(begin) % 16;
        const unsigned copied = (bytes + skipped + 15) / 16 * 16;
        barrier(stage).expect(int(copied));
        barrier(stage).copy(begin - skipped, values(stage) + (line_offset(begin) - skipped),
                            int(copied));
    }
    /// Bytes of a stage for copies of at most max_bytes.
    static int stage_bytes(int max_bytes) { return (max_bytes + 15 + 127) / 128 * 128 + 128; }

  private:
    unsigned char* memory_;
    int value_bytes_;
};

/// Chunks of blocks of any sizes and formats; sizes and offsets of the next chunk are prefetched.
template <class Shape>
class GroupChunks : public PipelineStages<Shape> {
    using Stages = PipelineStages<Shape>;
    static constexpr int groups = Shape::groups;

  public:
    /// If formats differ, blocks of an odd number of floats end with an unused one.
    static int value_bytes(const StoredBlocks& blocks) {
        const bool mixed = blocks.formats != nullptr;
        const int each = mixed ? int(sizeof(typename Shape::Real)) : bytes_of(blocks.format);
        const int unused = mixed && sizeof(typename Shape::Real) == 4 ? 4 : 0;
        return Stages::stage_bytes(Shape::rows * (blocks.largest * each + unused));
    }
    static Offset chunks(const StoredBlocks& blocks) {
        return (blocks.group_count + groups - 1) / groups;
    }

    __device__ __forceinline__ GroupChunks(const StoredBlocks& blocks, int value_bytes,
                                           unsigned char* memory, Index first, Index step)
        : Stages(memory, value_bytes),
          blocks_(blocks),
          step_(step),
          next_(first),
          chunks_((blocks.group_count + groups - 1) / groups),
          lane_(int(threadIdx.x) % 32) {
        bounds_ = group_bounds(first);
        read_blocks();
        bounds_ = group_bounds(first + step);
    }
    __device__ __forceinline__ Index chunks() const { return chunks_; }
    __device__ __forceinline__ Index row(Index, int stage, int q) const {
        return this->row_table(stage)[q * 32 + lane_].y;
    }
    __device__ __forceinline__ int factor_offset(int q) const { return q * 32 + lane_; }
    __device__ __forceinline__ LaneRow lane_row(Index, int stage, int q) const {
        const int in_chunk = q * 32 + lane_;
        const int2 packed_row = this->row_table(stage)[in_chunk];
        const unsigned packed = unsigned(packed_row.x);
        const int in_block = int(packed >> in_block_shift);
        return {
            reinterpret_cast<const std::byte*>(this->values(stage)) + packed % (1u << size_shift),
            int(packed >> size_shift) % (1 << (format_shift - size_shift)),
            BlockPrecision((packed >> format_shift) % (1 << (in_block_shift - format_shift))),
            in_block,
            in_chunk - in_block,
            packed_row.y};
    }
    /// Starts the copy of the next chunk and writes its table of rows; prefetches the blocks of the
    /// chunk after it.
    __device__ __forceinline__ void produce(int stage) {
        if (next_ < chunks_) {
            const Offset start = __shfl_sync(full_warp, next_chunk_.start[0], 0);
            const std::byte* const begin = blocks_.bytes + start * blocks_.unit;
            this->copy(stage, begin, unsigned(int(next_chunk_.end - start) * blocks_.unit));
            Index first_row = __shfl_sync(full_warp, next_chunk_.row[0], 0);
#pragma unroll
            for (int q = 0; q < groups; ++q) {
                const Index end_row =
                    q + 1 < groups ? __shfl_sync(full_warp, next_chunk_.row[(q + 1) % groups], 0)
                                   : next_chunk_.end_row;
                const unsigned offset =
                    unsigned(int(next_chunk_.start[q]) - int(start)) * blocks_.unit;
                write_row_table(stage, q, first_row, end_row,
                                this->line_offset(begin) + offset | unsigned(next_chunk_.format[q])
                                                                        << format_shift);
                first_row = end_row;
            }
        }
        next_ += step_;
        if (next_ < chunks_) {
            read_blocks();
            bounds_ = group_bounds(next_ + step_);
        }
    }

  private:
    static constexpr int size_shift = 15, format_shift = 21, in_block_shift = 24;

    /// Returns the first block of group q in lane q.
    __device__ __forceinline__ Index group_bounds(Index chunk) const {
        return __ldg(blocks_.groups +
                     min(chunk * groups + min(lane_, groups), blocks_.group_count));
    }

    __device__ __forceinline__ void read_blocks() {
        Index block = __shfl_sync(full_warp, bounds_, 0);
#pragma unroll
        for (int q = 0; q < groups; ++q) {
            const Index end = __shfl_sync(full_warp, bounds_, q + 1);
            const Index own = min(block + lane_, end);
            next_chunk_.row[q] = __ldg(blocks_.block_offsets + own);
            next_chunk_.start[q] = __ldg(blocks_.starts + own);
            next_chunk_.format[q] = blocks_.format;
            if (blocks_.formats != nullptr && own < end)
                next_chunk_.format[q] = blocks_.formats[own];
            block = end;
        }
        next_chunk_.end_row = __ldg(blocks_.block_offsets + block);
        next_chunk_.end = __ldg(blocks_.starts + block);
    }

    /// Writes the row of each lane in group q. A bit mask over the lanes marks the first rows of
    /// the blocks; lanes after the last block have the start of the next group.
    __device__ __forceinline__ void write_row_table(int stage, int q, Index first_row,
                                                    Index end_row, unsigned own_block) const {
        const int begin = int(next_chunk_.row[q] - first_row);
        const unsigned begins = __reduce_or_sync(full_warp, begin < 32 ? 1u << begin : 0);
        const unsigned begins_so_far = begins & (~0u >> (31 - lane_));
        const int first = 31 - __clz(int(begins_so_far));
        const int end = __clz(int(__brev(begins & (~1u << lane_))));
        const unsigned block = __shfl_sync(full_warp, own_block, __popc(begins_so_far) - 1);
        const bool inside = lane_ < end_row - first_row;
        const unsigned packed = block | unsigned(inside ? end - first : 0) << size_shift |
                                unsigned(inside ? lane_ - first : 0) << in_block_shift;
        this->row_table(stage)[q * 32 + lane_] =
            make_int2(int(packed), inside ? first_row + lane_ : -1);
    }

    /// One block of each group per lane.
    struct NextChunk {
        Index row[groups];
        Offset start[groups];
        BlockPrecision format[groups];
        Index end_row;  ///< End row of the chunk.
        Offset end;
    };
    const StoredBlocks& blocks_;
    Index step_, next_, chunks_;
    int lane_;
    Index bounds_;
    NextChunk next_chunk_;
};

}  // namespace tessera::cuda
