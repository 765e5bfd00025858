#include "precond/incomplete/symbolic/symbolic_factor.hpp"

#include <cmath>

#include "base/concat.hpp"
#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/symbolic/entries.hpp"

namespace tessera::incomplete {

namespace {

/// Throws OutOfMemory unless `context` has memory for all buffers that grow with the matrix;
/// returns their bytes.
template <class T>
Offset checked_bytes(const Context& context, const BlockPattern& pattern, Index k, Offset entries,
                     bool symmetric, const FactorArrays& arrays) {
    const double square = double(k) * k * sizeof(T), m = pattern.block_rows;
    const int triangles = symmetric ? 1 : 2;
    const double bytes = double(pattern.blocks()) *
                             (square * arrays.blocks + 8 * triangles + 3 * sizeof(Index) + 16) +
                         m * (arrays.diagonals * square +
                              k * (arrays.permutations * sizeof(Index) + 4 * sizeof(T)) + 72) +
                         double(pattern.updates()) * 2 * sizeof(Index) +
                         double(entries) * (sizeof(T) + sizeof(Offset) + 2 * sizeof(Index) + 2);
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
SymbolicFactor::SymbolicFactor(const Context& context, Grid the_grid, BlockPattern pattern,
                               const CsrView<T>& matrix, bool symmetric, const FactorArrays& arrays)
    : grid(std::move(the_grid)), nonzeros(matrix.nonzeros) {
    const Index k = grid.k;
    if (pattern.update_offsets.empty()) count_updates(pattern, context.threads());
    updates = pattern.updates();
    const Offset entry_count = matrix.nonzeros / (symmetric ? 2 : 1) + Offset(grid.slots.size());
    bytes = checked_bytes<T>(context, pattern, k, entry_count, symmetric, arrays);
    if (updates > 0) list_updates(pattern, context.threads());
    for (const Index row : pattern.level_offsets) {
        level_starts.push_back({row, pattern.column_offsets[row]});
    }
    level_groups.assign(1, {0, levels(), false});
    if (context.on_gpu()) {
        level_groups = find_level_groups(pattern, k, symmetric);
        device_level_starts = copy_to_buffer(context, level_starts);
        split_rows = SplitSums(context, pattern.row_offsets);
        split_columns = SplitSums(context, pattern.column_offsets);
        split_updates = SplitSums(context, pattern.update_offsets);
        lower_tasks = SplitSolve(context, pattern.row_offsets, false);
        upper_tasks = SplitSolve(context, pattern.column_offsets, true);
    }
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    BlockEntries entries = find_entries(host, grid, pattern, matrix, symmetric);
    // Frees each host list after it is copied.
    const auto upload = [&](auto& list, auto& buffer) {
        buffer = copy_to_buffer(context, list);
        list = {};
        return std::as_const(buffer).data();
    };
    const auto move_to_context = [&](auto& in_host, auto& buffer) {
        if (context.on_gpu()) {
            buffer = copy_to_buffer(context, std::as_const(in_host).view());
            in_host = {};
        } else {
            buffer = std::move(in_host);
        }
        return std::as_const(buffer).data();
    };
    lists = {k,
             grid.block_rows,
             pattern.blocks(),
             symmetric,
             upload(pattern.column_offsets, column_offsets),
             upload(pattern.rows, rows),
             upload(pattern.columns, columns),
             upload(pattern.row_offsets, row_offsets),
             upload(pattern.row_blocks, row_blocks),
             upload(pattern.update_offsets, update_offsets),
             upload(pattern.left, left),
             upload(pattern.right, right),
             upload(entries.offsets, entry_offsets),
             move_to_context(entries.position, entry_positions)};
    move_to_context(entries.source, entry_source);
    move_to_context(entries.row, entry_rows);
    move_to_context(entries.column, entry_columns);
    slots = copy_to_buffer(context, grid.slots);
    if (grid.row_of_column.empty()) return;
    std::vector<Index> in_slots;
    for (std::size_t s = 0; s < grid.slots.size(); ++s) in_slots.push_back(grid.row(s));
    row_slots = copy_to_buffer(context, in_slots);
}

template <class T>
bool SymbolicFactor::has_pattern_of(const Context& context, const CsrView<T>& matrix) const {
    if (matrix.rows != grid.rows || matrix.columns != grid.rows || matrix.nonzeros != nonzeros) {
        return false;
    }
    // One entry of each pair of a symmetric matrix is listed: if all match, so do the others.
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(context, entry_source.size(),
                   CheckSource<T>{entry_source.data(), entry_rows.data(), entry_columns.data(),
                                  matrix, fault.data()});
    return copy_to_host(context, fault)[0] == 0;
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template SymbolicFactor::SymbolicFactor(const Context&, Grid, BlockPattern, const CsrView<T>&, \
                                            bool, const FactorArrays&);                            \
    template bool SymbolicFactor::has_pattern_of(const Context&, const CsrView<T>&) const;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
