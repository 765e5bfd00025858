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
    std::vector<Index> number(columns, -1), lowest(columns), open, path;
    std::vector<Offset> next(columns);
    Index found = 0, components = 0;
    block_of_column.assign(columns, -1);
    const auto enter = [&](Index j) {
        number[j] = lowest[j] = found++;
        next[j] = matrix.row_offsets[row_of_column[j]];
        open.push_back(j);
        path.push_back(j);
        if (found % 1024 == 0) check_time();
    };
    const auto leave = [&](Index j) {
        path.pop_back();
        if (!path.empty()) lowest[path.back()] = std::min(lowest[path.back()], lowest[j]);
        if (lowest[j] != number[j]) return;
        Index member;
        do {
            member = open.back();
            open.pop_back();
            block_of_column[member] = components;
        } while (member != j);
        ++components;
    };
    for (Index start = 0; start < matrix.rows; ++start) {
        if (number[start] >= 0) continue;
        enter(start);
        while (!path.empty()) {
            const Index j = path.back();
            const Offset end = matrix.row_offsets[row_of_column[j] + 1];
            Offset k = next[j];
            Index least = lowest[j], unseen = -1;
            for (; k < end && unseen < 0; ++k) {
                const Index other = matrix.column_indices[k];
                if (number[other] < 0) {
                    unseen = other;
                } else if (block_of_column[other] < 0) {
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
