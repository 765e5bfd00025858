#pragma once

#include "precond/block_jacobi/apply/block_pipeline.cuh"

namespace tessera::cuda {

/// Chunks of blocks that all have `largest` rows, the last one perhaps fewer: the row of a lane in
/// its chunk is known. A block may begin in one group and end in the next. Where all have one
/// format (uniform), only values are read. Otherwise blocks have 3 rows or more, each lane
/// prefetches the start of one block of the next chunk (one lane its end), and blocks of a chunk
/// are sorted by format, since lanes of a warp with different formats diverge.
template <class Shape>
class OneSizeChunks : public PipelineStages<Shape> {
    using Stages = PipelineStages<Shape>;
    using T = typename Shape::Real;
    static constexpr bool uniform = Shape::layout == BlockLayout::uniform;
    static_assert(uniform || Shape::rows == 64, "as chunk_blocks has it");

  public:
    static Offset chunks(const StoredBlocks& blocks) {
        const Index each = Shape::rows / blocks.largest;
        return (Offset(blocks.count) + each - 1) / each;
    }
    static int value_bytes(const StoredBlocks& blocks) {
        if (!uniform) return Stages::stage_bytes(int(blocks.max_chunk_units) * blocks.unit);
        const int n = blocks.largest;
        return Stages::stage_bytes(Shape::rows / n * n * n * bytes_of(blocks.format));
    }

    __device__ __forceinline__ OneSizeChunks(const StoredBlocks& blocks, int value_bytes,
                                             unsigned char* memory, Index first, Index step)
        : Stages(memory, value_bytes),
          blocks_(blocks),
          n_(blocks.largest),
          each_(Shape::rows / n_),
          step_(step),
          next_(first),
          chunks_((blocks.count - 1) / each_ + 1) {
#pragma unroll
        for (int q = 0; q < Shape::groups; ++q) block_[q] = in_chunk(q) / n_;
        padded_rows_ = n_ < Shape::padded_from
                           ? n_
                           : (n_ + Shape::pack_width - 1) / Shape::pack_width * Shape::pack_width;
        if constexpr (uniform) {
            block_bytes_ = n_ * n_ * blocks.unit;
            rows_each_ = each_ * n_;
            chunk_bytes_ = unsigned(each_ * block_bytes_);
            const Index last = blocks.rows - (blocks.count - 1) * n_;
            end_ = Offset(blocks.count - 1) * block_bytes_ + last * last * blocks.unit;
        } else {
            read_blocks();
        }
    }
    __device__ __forceinline__ Index chunks() const { return chunks_; }
    /// Offset in the stage of the element of r for this lane's row.
    __device__ __forceinline__ int factor_offset(int q) const {
        return in_chunk(q) + block_[q] * (padded_rows_ - n_);
    }
    /// The row of this lane, or -1.
    __device__ __forceinline__ Index row(Index chunk, int stage, int q) const {
        if constexpr (uniform) return row_at(chunk, in_chunk(q));
        if (block_[q] >= each_) return -1;
        const Index first = this->row_table(stage)[block_[q]].y;
        const Index row = first + (in_chunk(q) - block_[q] * n_);
        return first >= 0 && row < blocks_.rows ? row : -1;
    }
    __device__ __forceinline__ LaneRow lane_row(Index chunk, int stage, int q) const {
        const int block = block_[q];
        const int in_block = in_chunk(q) - block * n_;
        if constexpr (uniform) {
            const Index own_row = row_at(chunk, in_chunk(q));
            const int last =
                blocks_.rows - (own_row - in_block);  // Rows from the block's first on.
            const unsigned char* const values =
                this->values(stage) + this->line_offset(begin(chunk));
            return {reinterpret_cast<const std::byte*>(values) + block * block_bytes_,
                    own_row < 0 ? 0 : min(n_, last),
                    blocks_.format,
                    in_block,
                    block * padded_rows_,
                    own_row};
        } else {
            const int2 packed = this->row_table(stage)[min(block, each_ - 1)];
            const bool present =
                block < each_ && packed.y >= 0 && packed.y + in_block < blocks_.rows;
            return {reinterpret_cast<const std::byte*>(this->values(stage)) +
                        unsigned(packed.x) % (1u << format_at),
                    present ? min(n_, blocks_.rows - packed.y) : 0,
                    BlockPrecision(unsigned(packed.x) >> format_at),
                    in_block,
                    block * padded_rows_,
                    packed.y + in_block};
        }
    }
    __device__ __forceinline__ void produce(int stage) {
        if constexpr (uniform) {
            if (next_ < chunks_) {
                const Offset bytes = min(Offset(chunk_bytes_), end_ - Offset(next_) * chunk_bytes_);
                this->copy(stage, begin(next_), unsigned(bytes));
            }
            next_ += step_;
        } else {
            if (next_ < chunks_) {
                const Offset start = __shfl_sync(full_warp, start_, 0);
                const Offset end = __shfl_sync(full_warp, start_, each_);
                const std::byte* const begin = blocks_.bytes + start * blocks_.unit;
                this->copy(stage, begin, unsigned(int(end - start) * blocks_.unit));
                write_blocks(
                    stage, this->line_offset(begin) + unsigned(int(start_ - start)) * blocks_.unit);
            }
            next_ += step_;
            if (next_ < chunks_) read_blocks();
        }
    }

  private:
    static constexpr int format_at = 20;

    /// The row of this lane in its chunk, group q.
    static __device__ __forceinline__ int in_chunk(int q) { return q * 32 + int(threadIdx.x) % 32; }
    __device__ __forceinline__ Index row_at(Index chunk, int at) const {
        const Index row = chunk * rows_each_ + at;
        return at < rows_each_ && row < blocks_.rows ? row : -1;
    }
    __device__ __forceinline__ const std::byte* begin(Index chunk) const {
        return blocks_.bytes + Offset(chunk) * chunk_bytes_;
    }
    /// Prefetches the starts of the next chunk; lanes without a block have the end of the last one.
    __device__ __forceinline__ void read_blocks() {
        const Index own = min(next_ * each_ + int(threadIdx.x) % 32, blocks_.count);
        start_ = __ldg(blocks_.starts + own);
        format_ = BlockPrecision::f64;
        if (own < blocks_.count) format_ = blocks_.formats[own];
    }
    /// Writes offsets and first rows of the blocks of the next chunk, -1 after the last block;
    /// `offset`: where the block of this lane begins.
    __device__ __forceinline__ void write_blocks(int stage, unsigned offset) const {
        constexpr BlockPrecision formats[] = {BlockPrecision::f64, BlockPrecision::f32,
                                              BlockPrecision::bf16, BlockPrecision::f16};
        const int lane = int(threadIdx.x) % 32;
        const Index block = next_ * each_ + lane;
        const bool present = lane < each_ && block < blocks_.count;
        int position = lane, before = 0;
#pragma unroll
        for (int f = 0; f < 4; ++f) {
            if (!is_format_of<T>(formats[f])) continue;
            const bool same = present && format_ == formats[f];
            const unsigned all = __ballot_sync(full_warp, same);
            if (same) position = before + __popc(all & ((1u << lane) - 1));
            before += __popc(all);
        }
        if (lane < each_) {
            this->row_table(stage)[position] =
                make_int2(int(offset | unsigned(format_) << format_at), present ? block * n_ : -1);
        }
        __syncwarp();
    }

    const StoredBlocks& blocks_;
    int n_;
    Index each_;                ///< Blocks per chunk.
    int block_[Shape::groups];  ///< Block of this lane in its chunk, per group.
    int padded_rows_;           ///< Elements of r per block, with padding.
    Index step_, next_, chunks_;
    // For uniform blocks:
    int block_bytes_;
    Index rows_each_;
    unsigned chunk_bytes_;
    Offset end_;
    // For other blocks: start and format of this lane's block in the next chunk.
    Offset start_;
    BlockPrecision format_;
};

template <class Shape>
using Chunks = std::conditional_t<Shape::layout == BlockLayout::mixed_sizes, GroupChunks<Shape>,
                                  OneSizeChunks<Shape>>;

}  // namespace tessera::cuda
