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
    std::vector<Index> number(columns), lowest(columns), open(columns), path(columns);
    std::vector<Offset> next(columns);
    Index found = 0, components = 0;
    std::size_t opened = 0, depth = 0;
    const auto enter = [&](Index j) {
        state[j] = is_open;
        number[j] = lowest[j] = found++;
        next[j] = matrix.row_offsets[row_of_column[j]];
        open[opened++] = j;
        path[depth++] = j;
        if (found % 1024 == 0) check_time();
    };
    const auto leave = [&](Index j) {
        --depth;
        if (depth > 0) lowest[path[depth - 1]] = std::min(lowest[path[depth - 1]], lowest[j]);
        if (lowest[j] != number[j]) return;
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
            Offset k = next[j];
            Index least = lowest[j], unseen = -1;
            for (; k < end && unseen < 0; ++k) {
                const Index other = matrix.column_indices[k];
                if (state[other] == is_unseen) {
                    unseen = other;
                } else if (state[other] == is_open) {
                    least = std::min(least, number[other]);
                }
            }
            next[j] = k;
            lowest[j] = least;
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
