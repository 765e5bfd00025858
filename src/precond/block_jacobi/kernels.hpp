#pragma once

#include <algorithm>

#include "precond/block_jacobi/storage/stored_blocks.hpp"
#include "tessera/batched.hpp"

namespace tessera {

/// Rows of the largest block that can be set up.
inline constexpr Index largest_stored_block = 64;

/// A block-diagonal matrix of packed column-major blocks; all arrays in the memory of a Context.
template <class T>
struct PackedBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;                      ///< Rows of the largest block, 0..64.
    const Index* block_offsets = nullptr;   ///< count + 1 rows.
    const Offset* entry_offsets = nullptr;  ///< count + 1 positions in the values.
};

/// The outcome of a setup. That in the memory of a Context gathers what the functions below find
/// until take_verdict.
struct SetupVerdict {
    Index singular = 0;          ///< Blocks whose info is not 0.
    Index misfits = 0;           ///< Blocks that do not fit the format that they are kept in.
    Index overflow = 0;          ///< Not 0 where a finite value is infinite in its format.
    unsigned rows_from_end = 0;  ///< Rows from the first one with NaN or infinity in its block on.
    unsigned formats = 0;        ///< Bit f: a block was given BlockFormat(f).
    unsigned judged = 0;         ///< GPU: thread blocks that have judged theirs.

    void add(const SetupVerdict& more) {
        singular += more.singular;
        misfits += more.misfits;
        overflow |= more.overflow;
        rows_from_end = std::max(rows_from_end, more.rows_from_end);
        formats |= more.formats;
    }
};

/// Where inverses go that are not kept as they are computed.
struct NarrowStore {
    StoredBlocks blocks;
    std::byte* bytes = nullptr;       ///< Those of the blocks, to be written; null: nowhere.
    SetupVerdict* verdict = nullptr;  ///< Gathers `overflow`.
};

/// What the kernels that invert count, as judge does.
struct CountedBlocks {
    SetupVerdict* verdict = nullptr;    ///< Gathers `singular` and `misfits`; null: nothing does.
    const BlockFormat* kept = nullptr;  ///< The format of each block; null: no misfits.
    double accuracy = 0;
};

/// Extraction and inversion of the diagonal blocks of `matrix`.
template <class T>
struct SetupJob {
    CsrView<T> matrix;
    PackedBlocks<T> blocks;
    BlockExtraction extraction = BlockExtraction::automatic;
    /// BlockExtraction::separate only: whether all blocks have `largest` rows, else the rows of
    /// each and their plan; room for `count` flags; groups of at most group_rows(largest) rows.
    bool uniform = false;
    const Index* sizes = nullptr;
    const batched::Plan* plan = nullptr;
    std::uint8_t* symmetric = nullptr;
    Index group_count = 0;
    const Index* groups = nullptr;

    T* inverses = nullptr;  ///< Sum of size^2 values; block b column-major at entry_offsets[b].
    /// BlockExtraction::shared_multiple only: in their formats instead, if there is room.
    NarrowStore narrow;
    CountedBlocks counted;  ///< GPU, all but BlockExtraction::separate.
    Index* info = nullptr;
    T* reciprocal_condition = nullptr;
    T* largest = nullptr;  ///< The largest magnitude in each inverse; null where not wanted.
};

/// What a setup tells about the inverses, and the accuracy that is asked for.
template <class T>
struct InvertedBlocks {
    Index count = 0;
    const Index* info = nullptr;
    const T* reciprocal_condition = nullptr;
    const T* largest = nullptr;
    double accuracy = 0;
};

namespace cpu {
/// Extracts the diagonal blocks, inverts each by Gauss-Jordan elimination with implicit partial
/// pivoting (Anzt et al., Fig. 2) and stores the inverses:
///   info  per block 0, or k: the k-th pivot (1-based), or its reciprocal, is zero or not finite;
///         or the block's rows where only an entry of its inverse is not finite. The inverse is
///         then NaN;
///   reciprocal_condition  1 / (||B||_inf ||X||_inf), 0 where info is not 0.
/// Where B is exactly symmetric, (X + X^T) / 2 is stored in place of X. The left residual
/// ||X B - I|| is below n eps ||B|| ||X|| max(1, growth). Results do not depend on neighbours or on
/// threads. No wait.
template <class T>
void setup(const Context& context, const SetupJob<T>& job);

/// sizes[b] = rows of block b.
void block_sizes(const Context& context, Index count, const Index* block_offsets, Index* sizes);

/// take_verdict, having counted `singular`, and, where formats are given, the `misfits` that no
/// longer fit theirs.
template <class T>
SetupVerdict judge(const Context& context, const InvertedBlocks<T>& blocks,
                   const BlockFormat* formats, SetupVerdict* verdict);

/// What the policy says in the place of the inverses of all blocks whose info is not 0 (see
/// SingularPolicy; a block with NaN or infinity stays NaN under every policy, a zero block counts
/// as norm 1), and the shift that was used or -1 for every block. Finds rows_from_end.
template <class T>
void replace_singular(const Context& context, const CsrView<T>& matrix,
                      const PackedBlocks<T>& blocks, SingularPolicy policy, const Index* info,
                      T* inverses, std::int8_t* shifts, SetupVerdict* verdict);

/// formats[b] = smallest_format of block b; finds `formats`.
template <class T>
void choose_formats(const Context& context, const InvertedBlocks<T>& blocks, BlockFormat* formats,
                    SetupVerdict* verdict);
/// Where blocks of these formats start, in units of 8 bytes; count + 1 of them.
void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockFormat* formats, Offset* starts);
/// Writes the blocks to `bytes` as `stored` says; finds `overflow`.
template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupVerdict* verdict);

/// Zeros.
void clear(const Context& context, void* memory, Offset bytes);
/// What was found since the last call; waits for it, and so for all work before.
SetupVerdict take_verdict(const Context& context, SetupVerdict* verdict);
}  // namespace cpu
namespace cuda {
template <class T>
void setup(const Context& context, const SetupJob<T>& job);
void block_sizes(const Context& context, Index count, const Index* block_offsets, Index* sizes);
template <class T>
SetupVerdict judge(const Context& context, const InvertedBlocks<T>& blocks,
                   const BlockFormat* formats, SetupVerdict* verdict);
template <class T>
void replace_singular(const Context& context, const CsrView<T>& matrix,
                      const PackedBlocks<T>& blocks, SingularPolicy policy, const Index* info,
                      T* inverses, std::int8_t* shifts, SetupVerdict* verdict);
template <class T>
void choose_formats(const Context& context, const InvertedBlocks<T>& blocks, BlockFormat* formats,
                    SetupVerdict* verdict);
void format_starts(const Context& context, Index count, const Index* block_offsets,
                   const BlockFormat* formats, Offset* starts);
template <class T>
void store_blocks(const Context& context, const PackedBlocks<T>& blocks, const T* inverses,
                  const StoredBlocks& stored, std::byte* bytes, SetupVerdict* verdict);
void clear(const Context& context, void* memory, Offset bytes);
SetupVerdict take_verdict(const Context& context, SetupVerdict* verdict);

/// Blocks of at most 32 rows: BlockExtraction::shared_multiple, and the other merged kernels.
template <class T>
void setup_merged(const Context& context, const SetupJob<T>& job);
template <class T>
void setup_compared(const Context& context, const SetupJob<T>& job);
/// As setup_merged if all blocks have `largest` rows and there is a kernel for these; else false.
template <class T>
bool setup_equal(const Context& context, const SetupJob<T>& job);
/// BlockExtraction::separate.
template <class T>
void setup_separate(const Context& context, const SetupJob<T>& job);
}  // namespace cuda

}  // namespace tessera
