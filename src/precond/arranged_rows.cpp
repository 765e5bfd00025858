#include "precond/arranged_rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/transpose_pattern.hpp"
#include "base/zeros.hpp"
#include "precond/row_sizes.hpp"

namespace tessera {

namespace {

/// Threads of a GPU that share a row.
constexpr int lanes_of_row = 8;

struct RowSizes {
    Buffer<double> diagonal, in_row;
    Buffer<std::uint64_t> in_column;

    template <class T>
    RowSizes(const Context& context, const ScaledMatrix<T>& matrix)
        : diagonal(context, matrix.a.rows),
          in_row(context, matrix.a.rows),
          in_column(zeros<std::uint64_t>(context, matrix.a.rows)) {
        for_each_index(context, matrix.a.rows,
                       MeasureRow<T>{matrix, diagonal.data(), in_row.data(), in_column.data()});
    }
};

}  // namespace

template <class T>
bool has_small_diagonal(const Context& context, const CsrView<T>& a) {
    if (!context.on_gpu()) return a.rows > 0 && scaling_of_large_diagonal(a).empty();
    Buffer<int> found = zeros<int>(context, 1);
    for_each_index(context, Offset(a.rows) * lanes_of_row,
                   FindSmallInRow<T>{lanes_of_row, a, found.data()});
    if (read_value(context, found.data()) == 0) return false;
    // The largest entries of columns take atomic operations: seven times as long.
    const RowSizes sizes(context, ScaledMatrix<T>{a});
    found = zeros<int>(context, 1);
    for_each_index(context, a.rows,
                   FindSmallDiagonal{sizes.diagonal.data(), sizes.in_row.data(),
                                     sizes.in_column.data(), found.data()});
    return copy_to_host(context, found)[0] != 0;
}

template <class T>
bool is_scaled(const Context& context, const CsrView<T>& a, std::span<const T> row_scale,
               std::span<const T> column_scale) {
    constexpr double bound = 1e3;
    const RowSizes sizes(context, ScaledMatrix<T>{a, row_scale.data(), column_scale.data()});
    Buffer<int> found = zeros<int>(context, 1);
    for_each_index(
        context, a.rows,
        FindOutOfScale{sizes.in_row.data(), sizes.in_column.data(), bound, found.data()});
    return copy_to_host(context, found)[0] == 0;
}

template <class T>
Buffer<double> diagonal_scaling(const Context& context, const CsrView<T>& a) {
    Buffer<double> scaling(context, a.rows);
    for_each_index(context, a.rows, ScaleDiagonal<T>{a, scaling.data()});
    return scaling;
}

/// By one thread: without atomic operations one is as fast as several.
template <class T>
std::vector<double> scaling_of_large_diagonal(const CsrView<T>& a) {
    struct Sizes {
        double in_row = 0, in_column = 0;
    };
    std::vector<Sizes> sizes(std::size_t(a.rows));
    std::vector<double> diagonal(sizes.size());
    for (Index i = 0; i < a.rows; ++i) {
        if (i % 1024 == 0) check_time();
        double own = 0, largest = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            const Index j = a.column_indices[e];
            const double size = std::abs(double(a.values[e]));
            if (size > largest) largest = size;
            if (size > sizes[j].in_column) sizes[j].in_column = size;
            if (i == j) own = size;
        }
        if (own == 0) return {};
        sizes[i].in_row = largest;
        diagonal[i] = own;
    }
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (is_small(diagonal[i], std::min(sizes[i].in_row, sizes[i].in_column))) return {};
        diagonal[i] = 1 / std::sqrt(diagonal[i]);
    }
    return diagonal;
}

template <class T>
bool has_large_entries(const Context& context, const CsrView<T>& a, const double* scaling) {
    //   poisson2d:120, rows times 10^-10 to 10^10  0.19 s, 5.7e6 entries  matched 0.03 s, 5e5
    constexpr double bound = 1e3;
    Buffer<int> found = zeros<int>(context, 1);
    const int lanes = context.on_gpu() ? lanes_of_row : 1;
    for_each_index(context, Offset(a.rows) * lanes,
                   FindLargeEntry<T>{lanes, a, scaling, bound, found.data()});
    return copy_to_host(context, found)[0] != 0;
}

template <class T>
bool needs_matching(const Context& context, const CsrView<T>& a) {
    return has_small_diagonal(context, a) ||
           has_large_entries(context, a, diagonal_scaling(context, a).data());
}

void round_to_powers_of_two(std::vector<double>& scaling) {
    for (double& s : scaling) {
        // The exponent, one more where the fraction is at least sqrt 2.
        constexpr std::uint64_t fraction = (std::uint64_t(1) << 52) - 1;
        const std::uint64_t bits = std::bit_cast<std::uint64_t>(s);
        const bool rounds_up =
            (bits & fraction) >= (std::bit_cast<std::uint64_t>(std::numbers::sqrt2) & fraction);
        s = std::bit_cast<double>((bits & ~fraction) + (rounds_up ? fraction + 1 : 0));
    }
}

template <class T>
GatheredRows transposed_pattern(const CsrView<T>& a) {
    GatheredRows result{std::vector<Offset>(std::size_t(a.rows) + 1),
                        std::vector<Index>(std::size_t(a.nonzeros))};
    transpose_pattern(a.rows, a.row_offsets, a.column_indices, result.offsets, result.items.data(),
                      [](Offset k, Offset) {
                          if (k % 65536 == 0) check_time();
                      });
    return result;
}

template <class T>
GatheredRows union_pattern(const Context& cpu, const CsrView<T>& a, const GatheredRows& transposed,
                           const std::vector<Index>& row_of_column,
                           const std::vector<Index>& block_of_column) {
    std::vector<Index> column_of_row(std::size_t(a.rows));
    for (Index j = 0; j < a.rows; ++j) column_of_row[row_of_column[j]] = j;
    return gather_rows(cpu.threads(), a.rows, [&](Offset vertex, std::vector<Index>& list) {
        const Index j = Index(vertex), row = row_of_column[j];
        const auto add = [&](Index other) {
            if (other == j) return;
            if (block_of_column.empty() || block_of_column[other] == block_of_column[j]) {
                list.push_back(other);
            }
        };
        for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
            add(a.column_indices[k]);
        }
        for (Offset k = transposed.offsets[j]; k < transposed.offsets[j + 1]; ++k) {
            add(column_of_row[transposed.items[k]]);
        }
    });
}

#define TESSERA_INSTANTIATE(T)                                                    \
    template decltype(has_small_diagonal<T>) has_small_diagonal<T>;               \
    template decltype(is_scaled<T>) is_scaled<T>;                                 \
    template decltype(diagonal_scaling<T>) diagonal_scaling<T>;                   \
    template decltype(scaling_of_large_diagonal<T>) scaling_of_large_diagonal<T>; \
    template decltype(has_large_entries<T>) has_large_entries<T>;                 \
    template decltype(needs_matching<T>) needs_matching<T>;                       \
    template decltype(transposed_pattern<T>) transposed_pattern<T>;               \
    template decltype(union_pattern<T>) union_pattern<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
