#pragma once

#include <algorithm>
#include <map>
#include <numeric>

#include "support/blocks.hpp"

// Symmetric matrices and grids for the tests of the block LDL^T preconditioner.

namespace tessera::test {

/// The lower triangle of a symmetric matrix, both triangles of which are stored.
using SymmetricEntries = std::map<std::pair<Index, Index>, double>;

template <class T>
CsrMatrix<T> symmetric_csr(Index rows, const SymmetricEntries& lower) {
    std::vector<std::map<Index, double>> whole(static_cast<std::size_t>(rows));
    for (const auto& [place, value] : lower) {
        whole[std::size_t(place.first)][place.second] = value;
        whole[std::size_t(place.second)][place.first] = value;
    }
    std::vector<std::vector<Index>> pattern(whole.size());
    std::vector<std::vector<T>> values(whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) {
        for (const auto& [column, value] : whole[i]) {
            pattern[i].push_back(column);
            values[i].push_back(T(value));
        }
    }
    return make_csr(rows, rows, pattern, values);
}

/// About `around` random entries per row in the lower triangle, uniform in [-1, 1); diagonal
/// +-[0.5, 2), or none at all in three of ten rows (or the share `empty`).
inline SymmetricEntries random_indefinite(std::mt19937_64& random, Index rows, double around,
                                          double empty = 0.3) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    SymmetricEntries entries;
    for (Index i = 0; i < rows; ++i) {
        const int others = int(std::floor(around + (uniform(random) + 1) / 2));
        for (int e = 0; e < others && i > 0; ++e) {
            entries[{i, Index(random() % std::uint64_t(i))}] = uniform(random);
        }
        if (uniform(random) < 2 * empty - 1) continue;
        const double size = 1.25 + 0.75 * uniform(random);
        entries[{i, i}] = uniform(random) < 0 ? -size : size;
    }
    return entries;
}

/// A random order of 0..rows-1 with `padding` slots in between.
inline std::vector<Index> random_slots(std::mt19937_64& random, Index rows, Index padding) {
    std::vector<Index> slots(std::size_t(rows + padding), -1);
    std::iota(slots.begin(), slots.begin() + rows, 0);
    std::shuffle(slots.begin(), slots.end(), random);
    return slots;
}

}  // namespace tessera::test
