#include "precond/direct/analysis/strong_components.hpp"

#include <algorithm>

#include "base/check_time.hpp"

namespace tessera::direct {

template <class T>
Index strong_components(const CsrView<T>& matrix, const std::vector<Index>& row_of_column,
                        std::vector<Index>& block_of_column) {
    const auto columns = std::size_t(matrix.rows);
    // Columns are numbered as the search finds them; `lowest` is the least number that a column
    // reaches by the columns found after it. Columns of the component at work are on `open`.
    constexpr Index is_unseen = -2, is_open = -1;  // Or the component.
    std::vector<Index>& state = block_of_column;
    state.assign(columns, is_unseen);
    struct Column {
        Offset next;  ///< The entry of its row that is looked at next.
        Index number, lowest;
    };
    std::vector<Column> seen(columns);
    std::vector<Index> open(columns), path(columns);
    Index found = 0, components = 0;
    std::size_t opened = 0, depth = 0;
    const auto enter = [&](Index j) {
        state[j] = is_open;
        seen[j] = {matrix.row_offsets[row_of_column[j]], found, found};
        ++found;
        open[opened++] = j;
        path[depth++] = j;
        if (found % 1024 == 0) check_time();
    };
    const auto leave = [&](Index j) {
        --depth;
        const Column& column = seen[j];
        if (depth > 0) {
            Index& before = seen[path[depth - 1]].lowest;
            before = std::min(before, column.lowest);
        }
        if (column.lowest != column.number) return;
        Index member;
        do {
            member = open[--opened];
            state[member] = components;
        } while (member != j);
        ++components;
    };
    for (Index start = 0; start < matrix.rows; ++start) {
        if (state[start] != is_unseen) continue;
        enter(start);
        while (depth > 0) {
            const Index j = path[depth - 1];
            const Offset end = matrix.row_offsets[row_of_column[j] + 1];
            Offset k = seen[j].next;
            Index least = seen[j].lowest, unseen = -1;
            for (; k < end && unseen < 0; ++k) {
                const Index other = matrix.column_indices[k];
                if (state[other] == is_unseen) {
                    unseen = other;
                } else if (state[other] == is_open) {
                    least = std::min(least, seen[other].number);
                }
            }
            seen[j].next = k;
            seen[j].lowest = least;
            if (unseen >= 0) {
                enter(unseen);
            } else {
                leave(j);
            }
        }
    }
    // A component is complete before those that have entries in its columns.
    for (Index& block : block_of_column) block = components - 1 - block;
    return components;
}

template Index strong_components(const CsrView<float>&, const std::vector<Index>&,
                                 std::vector<Index>&);
template Index strong_components(const CsrView<double>&, const std::vector<Index>&,
                                 std::vector<Index>&);

}  // namespace tessera::direct
