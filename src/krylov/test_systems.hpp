#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "support/test.hpp"

// Small systems for the tests of the solvers, and a function that solves them on any Context.
namespace tessera::test {

/// All registered solvers, some with several options.
inline std::vector<std::string> all_solvers() {
    std::vector<std::string> all = {"idr:1",         "idr:4",   "idr:4,smoothing",
                                    "idr:8,angle=0", "gmres:5", "gmres:30"};
    for (const std::string& name : solver_names()) {
        if (name != "idr" && name != "gmres") all.push_back(name);
    }
    return all;
}

/// Those that are not stationary, with the given answer to SolverConfig::symmetric_only.
inline std::vector<std::string> solvers_for(bool symmetric_only) {
    std::vector<std::string> chosen;
    for (const std::string& name : all_solvers()) {
        const auto solver = parse_solver(name);
        if (!solver->is_stationary() && solver->symmetric_only() == symmetric_only) {
            chosen.push_back(name);
        }
    }
    return chosen;
}
inline const std::vector<std::string> symmetric_solvers = solvers_for(true);
inline const std::vector<std::string> general_solvers = solvers_for(false);

inline std::vector<std::string> krylov_solvers() {
    std::vector<std::string> all = symmetric_solvers;
    all.insert(all.end(), general_solvers.begin(), general_solvers.end());
    return all;
}

/// A CSR matrix in host memory from a function that gives entry (i, j); zeros are left out.
template <class T>
CsrMatrix<T> matrix_of(Index n, const std::function<double(Index, Index)>& entry) {
    std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(n));
    std::vector<std::vector<T>> values(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const double value = entry(i, j);
            if (value == 0) continue;
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(T(value));
        }
    }
    return make_csr<T>(n, n, pattern, values);
}

/// A square CSR matrix in host memory from the entries of its rows.
inline CsrMatrix<double> matrix_of_rows(const std::vector<std::map<Index, double>>& rows) {
    std::vector<std::vector<Index>> pattern(rows.size());
    std::vector<std::vector<double>> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const auto& [column, value] : rows[i]) {
            pattern[i].push_back(column);
            values[i].push_back(value);
        }
    }
    return make_csr<double>(Index(rows.size()), Index(rows.size()), pattern, values);
}

/// Scaled so that Richardson converges without a preconditioner: 1 on the diagonal.
template <class T>
CsrMatrix<T> easy(Index n) {
    return matrix_of<T>(n, [](Index i, Index j) {
        return i == j ? 1.0 : std::abs(i - j) == 1 ? -0.25 : 0.0;
    });
}

/// (-1, 2, -1)
template <class T>
CsrMatrix<T> laplacian_1d(Index n) {
    return matrix_of<T>(n, [](Index i, Index j) {
        return i == j ? 2.0 : std::abs(i - j) == 1 ? -1.0 : 0.0;
    });
}

/// Five-point Laplacian on side x side; `wind` adds upwind convection along x: nonsymmetric.
template <class T>
CsrMatrix<T> laplacian_2d(Index side, double wind = 0) {
    const Index n = side * side;
    std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(n));
    std::vector<std::vector<T>> values(static_cast<std::size_t>(n));
    for (Index i = 0; i < n; ++i) {
        const auto add = [&](Index j, double value) {
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(T(value));
        };
        const Index column = i % side;
        if (i >= side) add(i - side, -1);
        if (column > 0) add(i - 1, -1 - wind);
        add(i, 4 + wind);
        if (column + 1 < side) add(i + 1, -1);
        if (i + side < n) add(i + side, -1);
    }
    return make_csr<T>(n, n, pattern, values);
}

/// Random entries, each row dominated twofold by its diagonal entry.
template <class T>
CsrMatrix<T> dominant(std::mt19937_64& random, Index n) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<double> a(std::size_t(n) * std::size_t(n));
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index j = 0; j < n; ++j) {
            a[std::size_t(i) * std::size_t(n) + std::size_t(j)] = uniform(random);
            sum += std::abs(a[std::size_t(i) * std::size_t(n) + std::size_t(j)]);
        }
        a[std::size_t(i) * std::size_t(n) + std::size_t(i)] = 2 * sum;
    }
    return matrix_of<T>(
        n, [&](Index i, Index j) { return a[std::size_t(i) * std::size_t(n) + std::size_t(j)]; });
}

/// A x in long double, and with `absolute` |A| |x|.
template <class T>
std::vector<long double> product(const CsrMatrix<T>& matrix, const std::vector<T>& x,
                                 bool absolute = false) {
    const CsrView<T> a = matrix.view();
    std::vector<long double> y(std::size_t(a.rows), 0.0L);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const long double term = static_cast<long double>(a.values[k]) *
                                     static_cast<long double>(x[std::size_t(a.column_indices[k])]);
            y[std::size_t(i)] += absolute ? std::abs(term) : term;
        }
    }
    return y;
}

template <class T>
std::vector<T> rounded_product(const CsrMatrix<T>& matrix, const std::vector<T>& x) {
    const auto exact = product(matrix, x);
    return std::vector<T>(exact.begin(), exact.end());
}

template <class V>
double norm(const V& v) {
    long double sum = 0;
    for (const auto element : v) {
        sum += static_cast<long double>(element) * static_cast<long double>(element);
    }
    return double(std::sqrt(sum));
}

/// ||b - A x||, and a bound of the error of its computation in T.
struct Residual {
    double norm = 0;
    double rounding = 0;
};
template <class T>
Residual residual(const CsrMatrix<T>& matrix, const std::vector<T>& b, const std::vector<T>& x) {
    std::vector<long double> r = product(matrix, x);
    std::vector<long double> bound = product(matrix, x, true);
    for (std::size_t i = 0; i < b.size(); ++i) {
        r[i] = static_cast<long double>(b[i]) - r[i];
        bound[i] += std::abs(static_cast<long double>(b[i]));
    }
    const double entries = double(matrix.nonzeros()) / std::max<double>(1, matrix.rows());
    return {norm(r), gamma<T>(2 * entries + 8) * norm(bound) + gamma<T>(4096) * norm(r)};
}

/// z = d r, element by element.
template <class T>
class Diagonal final : public Operator<T> {
  public:
    Diagonal(const Context& context, const std::vector<T>& d) : d_(copy_to_buffer(context, d)) {}
    Index rows() const override { return Index(d_.size()); }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        multiply_elementwise<T>(context, d_.view(), x, y);
    }

  private:
    Buffer<T> d_;
};

/// 1 / a_ii
template <class T>
std::vector<T> inverse_diagonal(const CsrMatrix<T>& matrix) {
    const CsrView<T> a = matrix.view();
    std::vector<T> d(std::size_t(a.rows), T(1));
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            if (a.column_indices[k] == i) d[std::size_t(i)] = 1 / a.values[k];
        }
    }
    return d;
}

template <class T>
struct Solved {
    SolveReport report;
    std::vector<T> x;
};

/// Solves with a matrix, right-hand side, start (empty: 0) and diagonal preconditioner (empty:
/// none) in host memory.
template <class T>
Solved<T> run(const Context& context, const std::string& solver, const CsrMatrix<T>& matrix,
              const std::vector<T>& b, const SolveOptions& options = {},
              const std::vector<T>& start = {}, const std::vector<T>& preconditioner = {}) {
    const CsrMatrix<T> device_matrix = copy_to(context, matrix.view());
    const CsrOperator<T> a(context, device_matrix.view());
    const Diagonal<T> m(context, preconditioner);
    const Buffer<T> right = copy_to_buffer(context, b);
    Buffer<T> x = copy_to_buffer(context, start.empty() ? std::vector<T>(b.size()) : start);
    Solved<T> solved;
    solved.report = solve<T>(context, Spec(solver), a, preconditioner.empty() ? nullptr : &m,
                             right.view(), x.view(), options);
    solved.x = copy_to_host(context, x);
    return solved;
}

/// Whether all bits are equal, NaN included.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

}  // namespace tessera::test
