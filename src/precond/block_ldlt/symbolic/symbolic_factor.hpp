#pragma once

#include "precond/block_ldlt/symbolic/gpu_schedule.hpp"

namespace tessera::block_ldlt {

/// What of a block factor depends on the pattern of the matrix alone, in the memory of a Context.
struct SymbolicFactor {
    SymbolicFactor() = default;
    /// The lists are made on the host, where `matrix` is. Throws OutOfMemory where `context` has
    /// not the bytes for the whole factor, which has `sets` versions of V and F and `products` of
    /// W.
    template <class T>
    SymbolicFactor(const Context& context, Grid grid, BlockPattern pattern,
                   const CsrView<T>& matrix, int sets, int products);

    /// Whether a symmetric matrix has the pattern of the lists. Waits.
    template <class T>
    bool has_pattern_of(const Context& context, const CsrView<T>& matrix) const;
    Index levels() const { return Index(level_starts.size()) - 1; }

    Grid grid;
    Offset nonzeros = 0, triples = 0;
    Offset bytes = 0;                      ///< Of the whole factor.
    std::vector<LevelStart> level_starts;  ///< levels() + 1.
    Buffer<Index> slots;
    PatternLists lists;  ///< In the buffers that follow, which are as in BlockPattern,
    Buffer<Offset> column_offsets, row_offsets, triple_offsets;
    Buffer<Index> rows, columns, row_blocks, left, right;
    Buffer<Offset> entry_offsets, entry_source;  ///< and in BlockEntries.
    Buffer<std::uint16_t> entry_places;
    Buffer<Index> entry_rows, entry_columns;
    // On a GPU; on the CPU a single group of levels, and nothing else.
    std::vector<LevelGroup> level_groups;
    Buffer<LevelStart> level_starts_there;
    SplitSums split_rows, split_columns, split_blocks;
    SplitSolve lower_tasks, upper_tasks;
};

}  // namespace tessera::block_ldlt
