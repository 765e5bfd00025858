#pragma once

#include <algorithm>

#include "base/dispatch.hpp"
#include "precond/block_jacobi/storage/stored_blocks.hpp"
#include "tessera/batched.hpp"

namespace tessera {

/// Rows of the largest block that can be set up.
inline constexpr Index max_block_rows = 64;

/// Rows of the largest block that one kernel extracts, inverts and stores on a GPU.
inline constexpr Index max_fused_rows = 32;

/// A block-diagonal matrix of packed column-major blocks; all arrays in the memory of a Context.
template <class T>
struct PackedBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;                      ///< Rows of the largest block, 0..64.
    const Index* block_offsets = nullptr;   ///< count + 1 rows.
    const Offset* entry_offsets = nullptr;  ///< count + 1 positions in the values.
};

/// The outcome of a setup. The functions below add to the one in the memory of a Context.
struct SetupSummary {
    Index singular = 0;          ///< Blocks whose info is not 0.
    Index misfits = 0;           ///< Blocks that do not fit the format that they are stored in.
    Index outside = 0;           ///< Not 0 if a stored block is_outside the range of its format.
    unsigned rows_from_end = 0;  ///< Rows from the first one with NaN or infinity to the end.
    unsigned formats = 0;        ///< Bit f: some block has BlockPrecision(f).

    void add(const SetupSummary& more) {
        singular += more.singular;
        misfits += more.misfits;
        outside |= more.outside;
        rows_from_end = std::max(rows_from_end, more.rows_from_end);
        formats |= more.formats;
    }
};

/// Results of a setup, one per block.
template <class T>
struct SetupResults {
    Index count = 0;
    Index* info = nullptr;
    T* reciprocal_condition = nullptr;
    T* largest = nullptr;  ///< The largest magnitude in each inverse; null: not requested.
    double accuracy = 0;   ///< BlockJacobiOptions::accuracy.
    const BlockPrecision* formats = nullptr;  ///< Current formats of the blocks; null: none yet.
    SetupSummary* summary = nullptr;          ///< Counts singular and misfits; null: not counted.
};

/// Destination of inverses in reduced precision.
struct ReducedStore {
    StoredBlocks blocks;
    std::byte* bytes = nullptr;       ///< Memory of the blocks, to be written; null: none.
    SetupSummary* summary = nullptr;  ///< Receives `outside`.
};

/// Extraction and inversion of the diagonal blocks of `matrix`.
template <class T>
struct SetupJob {
    CsrView<T> matrix;
    PackedBlocks<T> blocks;
    T* inverses = nullptr;  ///< Sum of size^2 values; block b column-major at entry_offsets[b].
    /// GPU, blocks of at most max_fused_rows rows: destination instead of `inverses`, unless null.
    ReducedStore reduced;
    SetupResults<T> results;
    /// GPU, larger blocks: the rows of each and their plan, null if all have `largest`; `count`
    /// flags as workspace.
    const Index* sizes = nullptr;
    const batched::Plan* plan = nullptr;
    std::uint8_t* symmetric = nullptr;
};

/// Replacement of the inverses of all blocks whose info is not 0.
template <class T>
struct ReplaceJob {
    CsrView<T> matrix;
    PackedBlocks<T> blocks;
    SingularPolicy policy;
    const Index* info;
    T* inverses;
    std::int8_t* shift_exponents;  ///< Receives the shift that was used, or -1, for every block.
    SetupSummary* summary;
};

/// setup extracts the diagonal blocks, inverts each by Gauss-Jordan elimination with implicit
/// partial pivoting (Anzt et al., Fig. 2) and stores the inverses:
///   info  per block 0, or k: the k-th pivot (1-based), or its reciprocal, is zero or not finite;
///         or the block's rows where only an entry of its inverse is not finite. The inverse is
///         then NaN;
///   reciprocal_condition  1 / (||B||_inf ||X||_inf), 0 where info is not 0.
/// Where B is exactly symmetric, (X + X^T) / 2 is stored in place of X. The left residual
/// ||X B - I|| is below n eps ||B|| ||X|| max(1, growth). Results do not depend on neighbours or on
/// threads. Asynchronous on a GPU.
///
/// replace_singular writes the replacement chosen by the SingularPolicy (a block with NaN or
/// infinity stays NaN under every policy, a zero block counts as norm 1) and sets rows_from_end.
///
/// format_starts writes the starts of blocks of these formats, in units of 8 bytes, count + 1 of
/// them, and to starts[count + 1] the largest number of units of a chunk of `each` blocks.
/// store_blocks writes the blocks to `bytes` in the formats of `stored`; sets `outside`.
/// clear writes zeros.
TESSERA_BACKENDS(template <class T> void setup(const Context& context, const SetupJob<T>& job);

                 template <class T>
                 void replace_singular(const Context& context, const ReplaceJob<T>& job);

                 void format_starts(const Context& context, Index count, const Index* block_offsets,
                                    const BlockPrecision* formats, Index each, Offset* starts);

                 template <class T>
                 void store_blocks(const Context& context, const PackedBlocks<T>& blocks,
                                   const T* inverses, const StoredBlocks& stored, std::byte* bytes,
                                   SetupSummary* summary);

                 void clear(const Context& context, void* memory, Offset bytes);)

namespace cuda {
/// setup for blocks of at most max_fused_rows rows. Reduced: to job.reduced.
template <class T, bool Reduced>
void setup_fused(const Context& context, const SetupJob<T>& job);
}  // namespace cuda

}  // namespace tessera
