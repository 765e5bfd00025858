#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/dispatch.hpp"

namespace tessera {

/// The pattern of the transpose of compressed rows in host memory, by a counting sort: `offsets`,
/// one more than there are columns, and the row of each entry in `indices`. Calls
/// place(k, to) for each entry k and its position. Throws InvalidArgument for columns out of range.
template <class Place>
void transpose_pattern(Index rows, const Offset* row_offsets, const Index* columns,
                       std::span<Offset> offsets, Index* indices, Place&& place) {
    const Offset count = Offset(offsets.size()) - 1;
    std::ranges::fill(offsets, 0);
    for (Offset k = 0; k < row_offsets[rows]; ++k) {
        require(columns[k] >= 0 && columns[k] < count, "transpose: column ", columns[k],
                " is outside 0..", count - 1);
        ++offsets[std::size_t(columns[k]) + 1];
    }
    for (std::size_t j = 1; j < offsets.size(); ++j) offsets[j] += offsets[j - 1];
    std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
    for (Index i = 0; i < rows; ++i) {
        for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
            const Offset to = next[std::size_t(columns[k])]++;
            indices[to] = i;
            place(k, to);
        }
    }
}

}  // namespace tessera
