#pragma once

#include "precond/incomplete/symbolic/entries.hpp"
#include "precond/incomplete/symbolic/gpu_schedule.hpp"

namespace tessera::incomplete {

/// The arrays of a factor, for the prediction of its memory, and words for the error.
struct FactorArrays {
    int blocks = 1;        ///< Arrays of all blocks off the diagonal,
    int diagonals = 1;     ///< of all diagonal blocks,
    int permutations = 0;  ///< and of one index for each row.
    const char* who = "incomplete factors";
    const char* remedy = "use a smaller fill or smaller blocks, or method=level";

    /// `sets` versions of V and F, and `products` of W; of several, the blocks of A too.
    static FactorArrays of_factor(bool symmetric, int sets, int products) {
        const int triangles = symmetric ? 1 : 2, copies = sets > 1 ? 1 : 0;
        return {triangles * (sets + products + copies), (1 + triangles) * sets + copies,
                triangles * sets};
    }
};

/// Symbolic factorisation: all lists that depend on the pattern of the matrix alone, in the memory
/// of a Context.
struct SymbolicFactor {
    SymbolicFactor() = default;
    /// Throws OutOfMemory unless `context`, where `matrix` is, has the memory for the whole factor
    /// with these arrays.
    template <class T>
    SymbolicFactor(const Context& context, GridByLevels arranged, const CsrView<T>& matrix,
                   bool symmetric, const FactorArrays& arrays);

    /// Whether a matrix has the pattern of the setup, by a hash. Waits.
    template <class T>
    bool has_pattern_of(const Context& context, const CsrView<T>& matrix) const;

    Grid grid;
    BlockPattern pattern;
    PatternLists lists;  ///< The lists of `pattern`.
    Offset nonzeros = 0;
    Offset bytes = 0;  ///< Memory of the whole factor.
    std::uint64_t pattern_hash = 0;
    // GPU schedule; on the CPU one group of all levels.
    std::vector<LevelGroup> level_groups;
    SplitSums split_rows, split_columns, split_updates;
    SplitSolve lower_tasks, upper_tasks;
};

/// Loads the values of `matrix`, scaled, into blocks of `symbolic`, ones in the diagonal blocks for
/// padding; the largest of the RowsOfThread::results elements of `largest_bits`, 0 before, becomes
/// the bits of the largest magnitude. No wait.
template <class T>
void load_blocks(const Context& context, const SymbolicFactor& symbolic, const Scales<T>& scales,
                 const CsrView<T>& matrix, const MatrixBlocks<T>& blocks,
                 std::uint64_t* largest_bits = nullptr);

}  // namespace tessera::incomplete
