#include "sparse/matching/cycles.hpp"

#include <cmath>

#include "base/find_csr_entry.hpp"
#include "base/parallel.hpp"

namespace tessera::matching {

namespace {

/// s_i a_ij s_j; zero if not stored.
template <class T>
double scaled(const CsrView<T>& matrix, std::span<const double> scaling, Index i, Index j) {
    const Offset k = find_csr_entry(matrix, i, j);
    return k < 0 ? 0. : scaling[i] * double(matrix.values[k]) * scaling[j];
}

template <class T>
double log_determinant(const CsrView<T>& matrix, std::span<const double> scaling, Index i,
                       Index j) {
    constexpr double min_size =
        1e-300;  // Lower bound: singular pairs must not outweigh all others.
    const double off = scaled(matrix, scaling, i, j);
    const double size =
        std::abs(scaled(matrix, scaling, i, i) * scaled(matrix, scaling, j, j) - off * off);
    return std::log2(std::max(size, min_size));
}

/// Position of the first row with the largest diagonal entry.
template <class T>
std::size_t largest_diagonal(const CsrView<T>& matrix, std::span<const double> scaling,
                             const std::vector<Index>& cycle) {
    std::size_t best = 0;
    double largest = -1;
    for (std::size_t p = 0; p < cycle.size(); ++p) {
        const double size = std::abs(scaled(matrix, scaling, cycle[p], cycle[p]));
        if (size > largest) {
            largest = size;
            best = p;
        }
    }
    return best;
}

/// The position in a cycle where its pairs start.
template <class T>
std::size_t best_cycle_start(const CsrView<T>& matrix, std::span<const double> scaling,
                             const std::vector<Index>& cycle) {
    const std::size_t n = cycle.size();
    if (n % 2 == 1) return largest_diagonal(matrix, scaling, cycle) + 1;
    double product[2] = {0, 0};
    for (std::size_t p = 0; p < n; ++p) {
        product[p % 2] += log_determinant(matrix, scaling, cycle[p], cycle[(p + 1) % n]);
    }
    return product[1] > product[0] ? 1 : 0;
}

}  // namespace

template <class T>
std::vector<Index> cut_cycles(int threads, const CsrView<T>& matrix,
                              std::span<const double> scaling,
                              std::span<const Index> column_of_row) {
    const auto rows = column_of_row.size();
    std::vector<Index> partner(rows);
    std::vector<char> done(rows);
    const auto assign_pairs = [&](Offset begin, Offset end) {
        for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
            const Index j = column_of_row[i];
            done[i] = j >= 0 && column_of_row[j] == Index(i);
            partner[i] = done[i] ? j : Index(i);
        }
    };
    parallel_ranges(threads, Offset(rows), assign_pairs);
    std::vector<Index> cycle;
    for (Index start = 0; start < matrix.rows; ++start) {
        cycle.clear();
        for (Index i = start; i >= 0 && !done[i]; i = column_of_row[i]) {
            done[i] = 1;
            cycle.push_back(i);
        }
        const std::size_t n = cycle.size();
        if (n < 2) continue;
        const std::size_t cut = best_cycle_start(matrix, scaling, cycle);
        for (std::size_t p = 0; p + 1 < n; p += 2) {
            const Index i = cycle[(cut + p) % n], j = cycle[(cut + p + 1) % n];
            partner[i] = j;
            partner[j] = i;
        }
    }
    return partner;
}

template std::vector<Index> cut_cycles<float>(int, const CsrView<float>&, std::span<const double>,
                                              std::span<const Index>);
template std::vector<Index> cut_cycles<double>(int, const CsrView<double>&, std::span<const double>,
                                               std::span<const Index>);

}  // namespace tessera::matching
