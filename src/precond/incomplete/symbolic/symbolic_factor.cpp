#include "precond/incomplete/symbolic/symbolic_factor.hpp"

#include <cmath>

#include "base/concat.hpp"
#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "precond/pattern_hash.hpp"

namespace tessera::incomplete {

namespace {

/// Throws OutOfMemory unless `context` has memory for all buffers that grow with the matrix;
/// returns their bytes.
template <class T>
Offset checked_bytes(const Context& context, const BlockPattern& pattern, Index k,
                     const FactorArrays& arrays) {
    const double square = double(k) * k * sizeof(T), m = pattern.block_rows;
    const double bytes =
        double(pattern.blocks()) * (square * arrays.blocks + 3 * sizeof(Index) + sizeof(Offset)) +
        m * (arrays.diagonals * square + 72 +
             k * ((arrays.permutations + 2) * sizeof(Index) + 4 * sizeof(T))) +
        double(pattern.updates) * 2 * sizeof(Index);
    const auto free = double(context.free_memory());
    if (bytes <= free) return Offset(bytes);
    const auto megabytes = [](double count) {
        return std::to_string(Offset(std::ceil(count / 1e6))) + " MB";
    };
    throw OutOfMemory(concat(arrays.who, ": ", pattern.blocks() + pattern.block_rows, " blocks of ",
                             k, " x ", k, " need ", megabytes(bytes), ", ", megabytes(free),
                             " are free; ", arrays.remedy));
}

}  // namespace

template <class T>
SymbolicFactor::SymbolicFactor(const Context& context, GridByLevels arranged,
                               const CsrView<T>& matrix, bool symmetric, const FactorArrays& arrays)
    : grid(std::move(arranged.grid)),
      pattern(std::move(arranged.pattern)),
      nonzeros(matrix.nonzeros) {
    const Index k = grid.k;
    if (pattern.update_offsets.empty()) count_updates(context, pattern);
    bytes = checked_bytes<T>(context, pattern, k, arrays);
    list_updates(context, pattern);
    lists = pattern.lists(k, symmetric);
    pattern_hash = tessera::pattern_hash(context, matrix);
    level_groups.assign(1, {0, pattern.levels(), false});
    if (!context.on_gpu()) return;
    level_groups = find_level_groups(context, pattern, k, symmetric);
    split_rows = SplitSums(context, pattern.row_offsets);
    split_columns = SplitSums(context, pattern.column_offsets);
    split_updates = SplitSums(context, pattern.update_offsets);
    lower_tasks = SplitSolve(context, pattern.row_offsets, false);
    upper_tasks = SplitSolve(context, pattern.column_offsets, true);
}

template <class T>
bool SymbolicFactor::has_pattern_of(const Context& context, const CsrView<T>& matrix) const {
    if (matrix.rows != grid.rows || matrix.columns != grid.rows || matrix.nonzeros != nonzeros) {
        return false;
    }
    return tessera::pattern_hash(context, matrix) == pattern_hash;
}

template <class T>
void load_blocks(const Context& context, const SymbolicFactor& symbolic, const Scales<T>& scales,
                 const CsrView<T>& matrix, const MatrixBlocks<T>& blocks,
                 std::uint64_t* largest_bits) {
    const PatternLists& lists = symbolic.lists;
    const Offset square = Offset(lists.k) * lists.k * Offset(sizeof(T));
    const auto clear = [&](T* values, Offset count) {
        if (values != nullptr && count > 0) {
            context.state().fill_bytes(values, 0, count * square);
        }
    };
    clear(blocks.lower, lists.blocks);
    clear(blocks.upper, lists.blocks);
    clear(blocks.diagonal, lists.block_rows);
    const RowsOfThread slots(context.on_gpu(), symbolic.grid.slots.size());
    for_each_index(
        context, slots.threads,
        LoadEntries<T>{slots, lists, symbolic.grid.rows_in_slots().data(),
                       symbolic.grid.slot_of_column.data(), scales, matrix, blocks, largest_bits});
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template SymbolicFactor::SymbolicFactor(const Context&, GridByLevels, const CsrView<T>&, bool, \
                                            const FactorArrays&);                                  \
    template bool SymbolicFactor::has_pattern_of(const Context&, const CsrView<T>&) const;         \
    template decltype(load_blocks<T>) load_blocks<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
