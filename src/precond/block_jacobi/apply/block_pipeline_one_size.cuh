#pragma once

#include "precond/block_jacobi/apply/block_pipeline.cuh"

/// Chunks of blocks that all have `largest` rows, the last one perhaps fewer: which row of a chunk
/// a lane takes is known. A block may begin in one group and end in the next.
namespace tessera::cuda {

/// What does not depend on the formats.
template <class Shape>
class EqualChunks : public PipelineStages<Shape> {
    using Stages = PipelineStages<Shape>;

  public:
    static __host__ __device__ constexpr Index blocks_each(Index largest) {
        return Shape::rows / largest;
    }
    static Offset chunks(const StoredBlocks& blocks) {
        const Index each = blocks_each(blocks.largest);
        return (Offset(blocks.count) + each - 1) / each;
    }
    __device__ __forceinline__ Index chunks() const { return chunks_; }
    /// Where the factor of this lane's row goes.
    __device__ __forceinline__ int factor_offset(int q) const {
        return in_chunk(q) + block_[q] * (factors_each_ - n_);
    }

  protected:
    __device__ __forceinline__ EqualChunks(const StoredBlocks& blocks, int value_bytes,
                                           unsigned char* memory, Index first, Index step)
        : Stages(memory, value_bytes),
          blocks_(blocks),
          n_(blocks.largest),
          each_(blocks_each(n_)),
          step_(step),
          next_(first),
          chunks_((blocks.count - 1) / each_ + 1) {
#pragma unroll
        for (int q = 0; q < Shape::groups; ++q) block_[q] = in_chunk(q) / n_;
        factors_each_ =
            n_ < Shape::padded_from ? n_ : (n_ + Shape::widest - 1) / Shape::widest * Shape::widest;
    }
    /// Which row of a chunk group q gives to this lane.
    static __device__ __forceinline__ int in_chunk(int q) { return q * 32 + int(threadIdx.x) % 32; }

    const StoredBlocks& blocks_;
    int n_;
    Index each_;                ///< Blocks of a chunk.
    int block_[Shape::groups];  ///< Of a chunk, of this lane.
    int factors_each_;          ///< Stages of a block.
    Index step_, next_, chunks_;
};

/// All in one format: nothing is read but values.
template <class Shape>
class UniformChunks : public EqualChunks<Shape> {
    using Base = EqualChunks<Shape>;
    using Base::block_, Base::blocks_, Base::chunks_, Base::each_, Base::factors_each_, Base::n_,
        Base::next_, Base::step_, Base::in_chunk;

  public:
    static int value_bytes(const StoredBlocks& blocks) {
        return Base::stage_bytes(Base::blocks_each(blocks.largest) * blocks.largest *
                                 blocks.largest * bytes_of(blocks.format));
    }

    __device__ __forceinline__ UniformChunks(const StoredBlocks& blocks, int value_bytes,
                                             unsigned char* memory, Index first, Index step)
        : Base(blocks, value_bytes, memory, first, step), block_bytes_(n_ * n_ * blocks.unit) {
        rows_each_ = each_ * n_;
        chunk_bytes_ = unsigned(each_ * block_bytes_);
        const Index last = blocks.rows - (blocks.count - 1) * n_;
        end_ = Offset(blocks.count - 1) * block_bytes_ + last * last * blocks.unit;
    }
    /// The row of this lane, or -1.
    __device__ __forceinline__ Index row(Index chunk, int, int q) const {
        return row_at(chunk, in_chunk(q));
    }
    __device__ __forceinline__ RowShare share(Index chunk, int stage, int q) const {
        const int block = block_[q];
        const int at = in_chunk(q);
        const Index own_row = row_at(chunk, at);
        const int in_block = at - block * n_;
        const int last = blocks_.rows - (own_row - in_block);  // Rows from those of the block on.
        const unsigned char* const values = this->values(stage) + this->into_line(begin(chunk));
        return {reinterpret_cast<const std::byte*>(values) + block * block_bytes_,
                own_row < 0 ? 0 : min(n_, last),
                blocks_.format,
                in_block,
                block * factors_each_,
                own_row};
    }
    __device__ __forceinline__ void produce(int stage) {
        if (next_ < chunks_) {
            const Offset bytes = min(Offset(chunk_bytes_), end_ - Offset(next_) * chunk_bytes_);
            this->copy(stage, begin(next_), unsigned(bytes));
        }
        next_ += step_;
    }

  private:
    __device__ __forceinline__ Index row_at(Index chunk, int at) const {
        const Index row = chunk * rows_each_ + at;
        return at < rows_each_ && row < blocks_.rows ? row : -1;
    }
    __device__ __forceinline__ const std::byte* begin(Index chunk) const {
        return blocks_.bytes + Offset(chunk) * chunk_bytes_;
    }

    int block_bytes_;
    Index rows_each_;
    unsigned chunk_bytes_;
    Offset end_;
};

/// Each in its format, of 3 rows or more: a lane reads where a block of the next chunk begins, and
/// one where the last ends. Those of a chunk are taken in the order of formats, since lanes
/// of a warp with different ones go one after the other.
template <class Shape>
class FormatChunks : public EqualChunks<Shape> {
    using Base = EqualChunks<Shape>;
    using Base::block_, Base::blocks_, Base::chunks_, Base::each_, Base::factors_each_, Base::n_,
        Base::next_, Base::step_, Base::in_chunk;
    using T = typename Shape::Real;

    static_assert(Shape::rows == 64, "as chunk_blocks has it");

  public:
    static int value_bytes(const StoredBlocks& blocks) {
        return Base::stage_bytes(int(blocks.chunk_units) * blocks.unit);
    }

    __device__ __forceinline__ FormatChunks(const StoredBlocks& blocks, int value_bytes,
                                            unsigned char* memory, Index first, Index step)
        : Base(blocks, value_bytes, memory, first, step) {
        read_blocks();
    }
    __device__ __forceinline__ Index row(Index, int stage, int q) const {
        if (block_[q] >= each_) return -1;
        const Index first = this->shares(stage)[block_[q]].y;
        const Index row = first + (in_chunk(q) - block_[q] * n_);
        return first >= 0 && row < blocks_.rows ? row : -1;
    }
    __device__ __forceinline__ RowShare share(Index, int stage, int q) const {
        const int block = block_[q];
        const int in_block = in_chunk(q) - block * n_;
        const int2 packed_share = this->shares(stage)[min(block, each_ - 1)];
        const bool present =
            block < each_ && packed_share.y >= 0 && packed_share.y + in_block < blocks_.rows;
        return {reinterpret_cast<const std::byte*>(this->values(stage)) +
                    unsigned(packed_share.x) % (1u << format_at),
                present ? min(n_, blocks_.rows - packed_share.y) : 0,
                BlockPrecision(unsigned(packed_share.x) >> format_at),
                in_block,
                block * factors_each_,
                packed_share.y + in_block};
    }
    __device__ __forceinline__ void produce(int stage) {
        if (next_ < chunks_) {
            const Offset start = __shfl_sync(full_warp, start_, 0);
            const Offset end = __shfl_sync(full_warp, start_, each_);
            const std::byte* const begin = blocks_.bytes + start * blocks_.unit;
            this->copy(stage, begin, unsigned(int(end - start) * blocks_.unit));
            write_blocks(stage,
                         this->into_line(begin) + unsigned(int(start_ - start)) * blocks_.unit);
        }
        next_ += step_;
        if (next_ < chunks_) read_blocks();
    }

  private:
    static constexpr int format_at = 20;

    /// Of the next chunk; lanes without a block hold where the last one ends.
    __device__ __forceinline__ void read_blocks() {
        const Index own = min(next_ * each_ + int(threadIdx.x) % 32, blocks_.count);
        start_ = __ldg(blocks_.starts + own);
        format_ = BlockPrecision::f64;
        if (own < blocks_.count) format_ = blocks_.formats[own];
    }
    /// Writes where the blocks of the next chunk lie and their first rows, -1 after the
    /// last block; `offset` is that of this lane's.
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
            this->shares(stage)[position] =
                make_int2(int(offset | unsigned(format_) << format_at), present ? block * n_ : -1);
        }
        __syncwarp();
    }

    Offset start_;           ///< Of the next chunk's block of this lane.
    BlockPrecision format_;  ///< Of it.
};

template <class Shape>
using Chunks = std::conditional_t<Shape::layout == BlockLayout::uniform, UniformChunks<Shape>,
                                  std::conditional_t<Shape::layout == BlockLayout::one_size,
                                                     FormatChunks<Shape>, GroupChunks<Shape>>>;

}  // namespace tessera::cuda
