#pragma once

#include "precond/block_ldlt/solve/factor_solver.hpp"
#include "precond/block_ldlt/test_symmetric.hpp"

// A factor as dense matrices, for the tests of the block LDL^T preconditioner.

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

/// The matrix in the slots of a grid, with ones for padding.
template <class T>
Dense in_grid(const block_ldlt::Grid& grid, const CsrView<T>& matrix) {
    Dense a(grid.slots.size());
    for (std::size_t s = 0; s < grid.slots.size(); ++s) {
        if (grid.slots[s] < 0) a(s, s) = 1;
    }
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
            const auto column = std::size_t(matrix.column_indices[e]);
            a(std::size_t(grid.slot_of_row[std::size_t(i)]),
              std::size_t(grid.slot_of_row[column])) = double(matrix.values[e]);
        }
    }
    return a;
}

/// I + V, F and P^T |L| |D| |L|^T P of its factors, F^-1 as computed, and the pattern of stored
/// blocks (ones).
struct TakenApart {
    Dense lower, diagonal, size, inverse, pattern;

    Dense matrix() const { return product(product(lower, diagonal), transposed(lower)); }
    /// First-order componentwise bound on the rounding errors of (I + V) F (I + V)^T on the
    /// pattern: sums of at most `n` terms, and V from the computed inverses X.
    Dense bound(double unit) const {
        const double n = double(lower.size());
        const Dense gap = absolute(sum(1, product(inverse, diagonal), -1, identity(lower.size())));
        const Dense middle = sum(8 * n * unit, size, 2, product(absolute(diagonal), gap));
        const Dense around = absolute(lower);
        return product(product(around, middle), transposed(around));
    }
};

template <class T>
TakenApart take_apart(const Context& context, const block_ldlt::NumericFactor<T>& factor) {
    const auto k = std::size_t(factor.grid().k), n = factor.grid().slots.size();
    TakenApart parts{identity(n), Dense(n), Dense(n), Dense(n), identity(n)};
    const auto v = copy_to_host(context, factor.v());
    std::vector<Index> rows(std::size_t(factor.view().blocks)), columns(rows);
    copy_to_host(context, std::span<const Index>(factor.view().rows, rows.size()),
                 std::span<Index>(rows));
    copy_to_host(context, std::span<const Index>(factor.view().columns, columns.size()),
                 std::span<Index>(columns));
    for (std::size_t b = 0; b < std::size_t(factor.view().blocks); ++b) {
        const auto i = std::size_t(rows[b]) * k, j = std::size_t(columns[b]) * k;
        for (std::size_t e = 0; e < k * k; ++e) {
            parts.lower(i + e % k, j + e / k) = double(v[b * k * k + e]);
            parts.pattern(i + e % k, j + e / k) = parts.pattern(j + e / k, i + e % k) = 1;
        }
    }
    const auto factors = copy_to_host(context, factor.factors());
    const auto inverses = copy_to_host(context, factor.inverses());
    const auto permutations = copy_to_host(context, factor.permutations());
    for (std::size_t first = 0; first < n; first += k) {
        const T* f = factors.data() + first * k;
        Dense l = identity(k), d(k);
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t i = j + 1; i < k; ++i) l(i, j) = double(f[i + j * k]);
            d(j, j) = double(f[j + j * k]);
            if (j + 1 < k) d(j, j + 1) = d(j + 1, j) = double(f[j + (j + 1) * k]);
        }
        const Dense block = product(product(l, d), transposed(l));
        const Dense size = product(product(absolute(l), absolute(d)), transposed(absolute(l)));
        for (std::size_t i = 0; i < k; ++i) {
            const auto row = first + std::size_t(permutations[first + i]);
            for (std::size_t j = 0; j < k; ++j) {
                const auto column = first + std::size_t(permutations[first + j]);
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
void load(const Context& context, block_ldlt::NumericFactor<T>& factor, const CsrView<T>& matrix) {
    const auto placed = copy_to(context, matrix);
    const auto ones = copy_to_buffer(context, std::vector<T>(std::size_t(matrix.rows), T(1)));
    factor.load(context, ones.view(), placed.view());
}

/// The estimate for a factor of the unscaled `matrix` (in host memory).
template <class T>
double reconstruction_error(const Context& context, const block_ldlt::NumericFactor<T>& factor,
                            const CsrView<T>& matrix) {
    const auto placed = copy_to(context, matrix);
    const auto ones = copy_to_buffer(context, std::vector<T>(std::size_t(matrix.rows), T(1)));
    return block_ldlt::reconstruction_error<T>(context, factor, ones.view(), placed.view(),
                                               plan_spmv<T>(context, placed.view()));
}

/// z = S P^T M^-1 P S r.
template <class T>
std::vector<T> solve(const Context& context, const block_ldlt::NumericFactor<T>& factor,
                     const std::vector<T>& scale, int sweeps, const std::vector<T>& r) {
    const auto device = copy_to_buffer(context, r), scales = copy_to_buffer(context, scale);
    Buffer<T> z(context, device.size());
    block_ldlt::apply_inverse<T>(context, factor, scales.view(), sweeps, device.data(), z.data());
    return copy_to_host(context, z);
}

/// A factor of `matrix` (in host memory) in a random grid, loaded, its threshold set.
template <class T>
block_ldlt::NumericFactor<T> make_factor(const Context& context, const CsrView<T>& matrix, Index k,
                                         std::vector<Index> slots, int fill, BlockLdltStage method,
                                         double epsilon,
                                         batched::Pivoting pivoting = batched::Pivoting::full) {
    auto grid = block_ldlt::make_grid(k, matrix.rows, std::move(slots));
    auto pattern = block_ldlt::arrange_by_levels(
        grid, block_ldlt::fill_pattern(grid, matrix, fill, Offset(1) << 30, 2));
    const bool by_sweeps = method == BlockLdltStage::jacobi;
    block_ldlt::NumericFactor<T> factor(
        context,
        block_ldlt::SymbolicFactor(context, std::move(grid), std::move(pattern), matrix,
                                   by_sweeps ? 3 : 1, by_sweeps ? 2 : 1),
        pivoting, by_sweeps);
    load(context, factor, matrix);
    factor.set_threshold(context, epsilon);
    return factor;
}

}  // namespace tessera::test
