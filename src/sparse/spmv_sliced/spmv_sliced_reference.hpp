#pragma once

#include <cmath>
#include <vector>

#include "sparse/stored_value.hpp"

namespace tessera {

/// A x and |A| |x| in long double, and the entries that each row reads.
struct SlicedProduct {
    std::vector<long double> product, size;
    std::vector<Index> entries;
};

/// The paper's algorithm 4 as it reads, but for the pads, which are skipped, and for the entries
/// beyond the matrix, which are not read; for a matrix in host memory.
template <class T>
SlicedProduct sliced_product(const SlicedView<T>& matrix, const T* x) {
    const SlicedPattern& a = matrix.pattern;
    const std::size_t rows = std::size_t(a.rows);
    SlicedProduct result{std::vector<long double>(rows), std::vector<long double>(rows),
                         std::vector<Index>(rows)};
    const Offset area = Offset(a.block) * a.block, height = a.slice_height;
    with_stored<T>(matrix.format, [&](auto tag) {
        const auto* const values = static_cast<const typename decltype(tag)::type*>(matrix.values);
        for (Offset p = 0; p < a.positions(); ++p) {
            const Offset slice = p / height, lane = p % height;
            const Offset block_row = a.block_row(p);
            for (Index k = 0; k < a.row_lengths[p]; ++k) {
                const Offset slot = a.slice_offsets[slice] + k * height + lane;
                for (Offset e = 0; e < area; ++e) {
                    const Offset row = block_row * a.block + e / a.block;
                    const Offset column =
                        Offset(a.block_column(slice, slot)) * a.block + e % a.block;
                    if (row >= a.rows || column >= a.columns) continue;
                    const Offset at = a.slice_offsets[slice] * area + (k * area + e) * height;
                    const long double value = widen_to<T>(values[at + lane]);
                    result.product[std::size_t(row)] += value * x[column];
                    result.size[std::size_t(row)] += std::abs(value * x[column]);
                    ++result.entries[std::size_t(row)];
                }
            }
        }
    });
    return result;
}

}  // namespace tessera
