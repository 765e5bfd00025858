#pragma once

#include "precond/incomplete/solve/factor_solver.hpp"
#include "precond/incomplete/test_symmetric.hpp"

// A factor as dense matrices, for the tests of block LDL^T and ILU.

namespace tessera::test {

/// A square matrix, column-major.
class Dense {
  public:
    explicit Dense(std::size_t n) : n_(n), values_(n * n, 0) {}
    std::size_t size() const { return n_; }
    double& operator()(std::size_t i, std::size_t j) { return values_[i + j * n_]; }
    double operator()(std::size_t i, std::size_t j) const { return values_[i + j * n_]; }

  private:
    std::size_t n_;
    std::vector<double> values_;
};

inline Dense identity(std::size_t n) {
    Dense a(n);
    for (std::size_t i = 0; i < n; ++i) a(i, i) = 1;
    return a;
}

inline Dense product(const Dense& a, const Dense& b) {
    const std::size_t n = a.size();
    Dense c(n);
    for (std::size_t j = 0; j < n; ++j) {
        for (std::size_t k = 0; k < n; ++k) {
            if (b(k, j) == 0) continue;
            for (std::size_t i = 0; i < n; ++i) c(i, j) += a(i, k) * b(k, j);
        }
    }
    return c;
}

inline Dense transposed(const Dense& a) {
    Dense t(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) t(j, i) = a(i, j);
    }
    return t;
}

inline Dense absolute(Dense a) {
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) a(i, j) = std::abs(a(i, j));
    }
    return a;
}

/// alpha a + beta b.
inline Dense sum(double alpha, const Dense& a, double beta, const Dense& b) {
    Dense c(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) c(i, j) = alpha * a(i, j) + beta * b(i, j);
    }
    return c;
}

inline double largest(const Dense& a) {
    double size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (std::size_t j = 0; j < a.size(); ++j) size = std::max(size, std::abs(a(i, j)));
    }
    return size;
}

/// A grid in host memory.
struct HostGrid {
    Index k, rows, block_rows;
    std::vector<Index> slots, row_slots, slot_of_column;

    HostGrid(const Context& context, const incomplete::Grid& grid)
        : k(grid.k),
          rows(grid.rows),
          block_rows(grid.block_rows),
          slots(copy_to_host(context, grid.slots)),
          row_slots(copy_to_host(context, grid.rows_in_slots())),
          slot_of_column(copy_to_host(context, grid.slot_of_column)) {}
    Index row(std::size_t slot) const { return row_slots[slot]; }
};

/// The matrix in the slots of a grid, with ones for padding.
template <class T>
Dense in_grid(const HostGrid& grid, const CsrView<T>& matrix) {
    Dense a(grid.slots.size());
    for (std::size_t s = 0; s < grid.slots.size(); ++s) {
        const Index i = grid.row(s);
        if (i < 0) a(s, s) = 1;
        if (i < 0) continue;
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const auto column = std::size_t(matrix.column_indices[e]);
            a(s, std::size_t(grid.slot_of_column[column])) = double(matrix.values[e]);
        }
    }
    return a;
}

/// I + L, I + U, F, |L| |D| |U| of the factors of its blocks in the places of F, F^-1 as computed,
/// and the pattern of stored blocks (ones).
struct TakenApart {
    Dense lower, upper, diagonal, size, inverse, pattern;

    Dense matrix() const { return product(product(lower, diagonal), upper); }
    /// First-order componentwise bound on the rounding errors of (I + L) F (I + U) on the pattern:
    /// sums of at most `n` terms, and L and U from the computed inverses X.
    Dense bound(double unit) const {
        const double n = double(lower.size());
        const Dense one = identity(lower.size());
        const Dense right = absolute(sum(1, product(inverse, diagonal), -1, one));
        const Dense left = absolute(sum(1, product(diagonal, inverse), -1, one));
        const Dense gap =
            sum(1, product(absolute(diagonal), right), 1, product(left, absolute(diagonal)));
        const Dense middle = sum(8 * n * unit, size, 1, gap);
        return product(product(absolute(lower), middle), absolute(upper));
    }
};

template <class T>
TakenApart take_apart(const Context& context, const incomplete::NumericFactor<T>& factor) {
    const auto k = std::size_t(factor.grid().k), n = std::size_t(factor.grid().slots.size());
    TakenApart parts{identity(n), identity(n), Dense(n), Dense(n), Dense(n), identity(n)};
    const auto v = copy_to_host(context, factor.v(incomplete::lower));
    const auto u = copy_to_host(context, factor.v(incomplete::upper));
    std::vector<Index> rows(std::size_t(factor.view().blocks)), columns(rows);
    copy_to_host(context, std::span<const Index>(factor.view().rows, rows.size()),
                 std::span<Index>(rows));
    copy_to_host(context, std::span<const Index>(factor.view().columns, columns.size()),
                 std::span<Index>(columns));
    for (std::size_t b = 0; b < std::size_t(factor.view().blocks); ++b) {
        const auto i = std::size_t(rows[b]) * k, j = std::size_t(columns[b]) * k;
        for (std::size_t e = 0; e < k * k; ++e) {
            parts.lower(i + e % k, j + e / k) = double(v[b * k * k + e]);
            parts.upper(j + e / k, i + e % k) = double(u[b * k * k + e]);
            parts.pattern(i + e % k, j + e / k) = parts.pattern(j + e / k, i + e % k) = 1;
        }
    }
    const auto factors = copy_to_host(context, factor.factors());
    const auto inverses = copy_to_host(context, factor.inverses());
    const auto in_rows = copy_to_host(context, factor.permutations());
    const auto in_columns = copy_to_host(context, factor.column_permutations());
    for (std::size_t first = 0; first < n; first += k) {
        const T* f = factors.data() + first * k;
        Dense l = identity(k), d(k), r = identity(k);
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t i = j + 1; i < k; ++i) {
                l(i, j) = double(f[i + j * k]);
                r(j, i) = factor.symmetric() ? l(i, j) : double(f[j + i * k]);
            }
            d(j, j) = double(f[j + j * k]);
            if (!factor.symmetric() || j + 1 == k) continue;
            d(j, j + 1) = d(j + 1, j) = double(f[j + (j + 1) * k]);
        }
        const Dense block = product(product(l, d), r);
        const Dense size = product(product(absolute(l), absolute(d)), absolute(r));
        for (std::size_t i = 0; i < k; ++i) {
            const auto row = first + std::size_t(in_rows[first + i]);
            for (std::size_t j = 0; j < k; ++j) {
                const auto column = first + std::size_t(in_columns[first + j]);
                parts.diagonal(row, column) = block(i, j);
                parts.size(row, column) = size(i, j);
                parts.inverse(first + i, first + j) = double(inverses[(first + j) * k + i]);
                parts.pattern(row, column) = 1;
            }
        }
    }
    return parts;
}

template <class T>
void expect_same_bits(const Context& context, const Buffer<T>& first, const Buffer<T>& second,
                      const char* what) {
    const auto a = copy_to_host(context, first), b = copy_to_host(context, second);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t e = 0; e < a.size(); ++e) ASSERT_EQ(a[e], b[e]) << what << ' ' << e;
}

/// Loads the unscaled `matrix` (in host memory).
template <class T>
void load(const Context& context, incomplete::NumericFactor<T>& factor, const CsrView<T>& matrix) {
    const auto placed = copy_to(context, matrix);
    const auto ones = copy_to_buffer(context, std::vector<T>(std::size_t(matrix.rows), T(1)));
    factor.load(context, ones.view(), placed.view());
}

/// The estimate for a factor of the unscaled `matrix` (in host memory).
template <class T>
double reconstruction_error(const Context& context, const incomplete::NumericFactor<T>& factor,
                            const CsrView<T>& matrix) {
    const auto placed = copy_to(context, matrix);
    const auto ones = copy_to_buffer(context, std::vector<T>(std::size_t(matrix.rows), T(1)));
    return incomplete::reconstruction_error<T>(context, factor, ones.view(), placed.view(),
                                               plan_spmv<T>(context, placed.view()));
}

/// z = S P^T M^-1 P S r, or its transpose.
template <class T>
std::vector<T> solve(const Context& context, const incomplete::NumericFactor<T>& factor,
                     const std::vector<T>& scale, int sweeps, const std::vector<T>& r,
                     bool transposed = false) {
    const auto device = copy_to_buffer(context, r), scales = copy_to_buffer(context, scale);
    Buffer<T> z(context, device.size());
    incomplete::apply_inverse<T>(context, factor, scales.view(), sweeps, device.data(), z.data(),
                                 transposed);
    return copy_to_host(context, z);
}

/// The blocks of a factor of a matrix (both in the memory of `context`) with fill, by levels.
template <class T>
incomplete::GridByLevels arrange(const Context& context, const incomplete::Grid& grid,
                                 const CsrView<T>& placed, bool symmetric, int fill) {
    const auto lower = [&] {
        return incomplete::lower_blocks(context, grid,
                                        incomplete::group_pattern(context, placed, 1), symmetric);
    };
    return incomplete::arrange_by_levels(
        context, grid, incomplete::add_fill(context, lower(), fill, Offset(1) << 30));
}

/// A factor of `matrix` (in host memory) in a grid, loaded, its threshold set.
template <class T>
incomplete::NumericFactor<T> make_factor(const Context& context, const CsrView<T>& matrix,
                                         const incomplete::Grid& grid, bool symmetric, int fill,
                                         BlockLdltStage method, double epsilon,
                                         batched::Pivoting pivoting) {
    const bool by_sweeps = method == BlockLdltStage::jacobi;
    const auto placed = copy_to(context, matrix);
    incomplete::NumericFactor<T> factor(
        context,
        incomplete::SymbolicFactor(
            context, arrange(context, grid, placed.view(), symmetric, fill), placed.view(),
            symmetric,
            incomplete::FactorArrays::of_factor(symmetric, by_sweeps ? 3 : 1, by_sweeps ? 2 : 1)),
        pivoting, by_sweeps);
    load(context, factor, matrix);
    factor.set_threshold(context, epsilon);
    return factor;
}

/// make_factor for a symmetric matrix in the grid of `slots`.
template <class T>
incomplete::NumericFactor<T> make_factor(const Context& context, const CsrView<T>& matrix, Index k,
                                         std::vector<Index> slots, int fill, BlockLdltStage method,
                                         double epsilon,
                                         batched::Pivoting pivoting = batched::Pivoting::full) {
    const auto grid = incomplete::make_grid(context, k, matrix.rows, std::move(slots));
    return make_factor(context, matrix, grid, true, fill, method, epsilon, pivoting);
}

}  // namespace tessera::test
