#pragma once

#include <string>

#include "batched/test_zoo.hpp"

// Common parts of the tests of the factorisations: factoring a batch, and checking the factors.

namespace tessera::test {

using batched::Factorisation;
using batched::Pivoting;

/// All outputs of a factorisation, in host memory; permutations have n_b values per matrix.
template <class T>
struct HostFactors {
    std::vector<T> values;
    std::vector<Index> rows, columns;
    std::vector<Offset> starts;  ///< Starts of the permutations.
    std::vector<Index> info, perturbed, inertia, sign;
    std::vector<T> perturbation, smallest, log_determinant;
};

template <class T>
bool same_bits(const HostFactors<T>& a, const HostFactors<T>& b) {
    return same_bits(a.values, b.values) && a.rows == b.rows && a.columns == b.columns &&
           a.info == b.info && a.perturbed == b.perturbed && a.inertia == b.inertia &&
           a.sign == b.sign && same_bits(a.perturbation, b.perturbation) &&
           same_bits(a.smallest, b.smallest) && same_bits(a.log_determinant, b.log_determinant);
}

/// A factorisation with its pivoting.
struct Method {
    Factorisation factorisation;
    Pivoting pivoting;

    std::string name() const {
        return std::string(factorisation == Factorisation::ldu   ? "ldu "
                           : factorisation == Factorisation::llt ? "llt "
                                                                 : "ldlt ") +
               to_string(pivoting);
    }
    bool symmetric() const { return factorisation != Factorisation::ldu; }
};

inline std::vector<Method> methods_of(Factorisation factorisation) {
    std::vector<Pivoting> pivotings;
    switch (factorisation) {
        case Factorisation::ldu:
            pivotings = {Pivoting::fixed, Pivoting::partial, Pivoting::full};
            break;
        case Factorisation::llt:
            pivotings = {Pivoting::fixed, Pivoting::full};
            break;
        case Factorisation::ldlt:
            pivotings = {Pivoting::fixed, Pivoting::bunch_kaufman, Pivoting::rook, Pivoting::full};
    }
    std::vector<Method> methods;
    for (const Pivoting pivoting : pivotings) methods.push_back({factorisation, pivoting});
    return methods;
}

template <class T>
void factor(const Context& context, const Method& method, const batched::BatchView<const T>& a,
            const batched::BatchView<T>& f, const batched::PermutationsView<Index>& permutations,
            const batched::FactorResults<T>& results = {},
            const batched::FactorOptions<T>& options = {}, const batched::Plan* plan = nullptr) {
    const auto factorise = method.factorisation == Factorisation::ldu   ? batched::ldu<T>
                           : method.factorisation == Factorisation::llt ? batched::llt<T>
                                                                        : batched::ldlt<T>;
    factorise(context, method.pivoting, a, f, permutations, results, options, plan);
}

/// The permutations and results of `count` matrices in the memory of a Context.
template <class T>
struct DeviceFactors {
    DeviceFactors(const Context& context, const std::vector<Index>& sizes)
        : info(context, Offset(sizes.size())),
          perturbed(context, Offset(sizes.size())),
          inertia(context, 3 * Offset(sizes.size())),
          sign(context, Offset(sizes.size())),
          perturbation(context, Offset(sizes.size())),
          smallest(context, Offset(sizes.size())),
          log_determinant(context, Offset(sizes.size())) {
        Offset length = 0;
        for (const Index n : sizes) starts.push_back(std::exchange(length, length + n));
        offsets = copy_to_buffer(context, starts);
        rows = Buffer<Index>(context, length);
        columns = Buffer<Index>(context, length);
    }
    batched::PermutationsView<Index> permutations() {
        return {rows.data(), columns.data(), 0, offsets.data()};
    }
    batched::FactorResults<T> results() {
        return {info.data(),    perturbed.data(),       perturbation.data(), smallest.data(),
                inertia.data(), log_determinant.data(), sign.data()};
    }
    void copy_permutations(const Context& context, HostFactors<T>& host) const {
        host.starts = starts;
        host.rows = copy_to_host(context, rows);
        host.columns = copy_to_host(context, columns);
    }
    /// For a factorisation with results() requested.
    void copy_outputs(const Context& context, HostFactors<T>& host) const {
        copy_permutations(context, host);
        host.info = copy_to_host(context, info);
        host.perturbed = copy_to_host(context, perturbed);
        host.inertia = copy_to_host(context, inertia);
        host.sign = copy_to_host(context, sign);
        host.perturbation = copy_to_host(context, perturbation);
        host.smallest = copy_to_host(context, smallest);
        host.log_determinant = copy_to_host(context, log_determinant);
    }

    std::vector<Offset> starts;
    Buffer<Offset> offsets;
    Buffer<Index> rows, columns, info, perturbed, inertia, sign;
    Buffer<T> perturbation, smallest, log_determinant;
};

/// Factors with all optional outputs, or with info alone; in place on request.
template <class T>
HostFactors<T> factored(const Context& context, const Method& method, const HostBatch<T>& batch,
                        const batched::FactorOptions<T>& options = {}, bool in_place = false,
                        bool info_alone = false) {
    DeviceBatch<T> device(context, batch);
    DeviceFactors<T> factors(context, batch.sizes);
    Buffer<T> values(context, Offset(batch.values.size()));
    auto f = device.view();
    if (!in_place) f.values = values.data();
    factor<T>(context, method, device.view(), f, factors.permutations(),
              info_alone ? batched::FactorResults<T>{factors.info.data()} : factors.results(),
              options);
    HostFactors<T> host;
    host.values = copy_to_host(context, in_place ? device.values : values);
    if (info_alone) {
        factors.copy_permutations(context, host);
        host.info = copy_to_host(context, factors.info);
    } else {
        factors.copy_outputs(context, host);
    }
    return host;
}

/// A dense matrix for verification, column-major.
template <class Real>
struct Dense {
    Index n = 0;
    std::vector<Real> values;

    explicit Dense(Index rows) : n(rows), values(std::size_t(rows) * std::size_t(rows), Real(0)) {}
    Real& at(Index i, Index j) { return values[std::size_t(i + j * n)]; }
    Real at(Index i, Index j) const { return values[std::size_t(i + j * n)]; }
    Dense magnitudes() const {
        Dense result = *this;
        for (Real& value : result.values) value = std::abs(value);
        return result;
    }
    Dense transposed() const {
        Dense result(n);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < n; ++i) result.at(j, i) = at(i, j);
        }
        return result;
    }
};

template <class Real>
Dense<Real> product(const Dense<Real>& a, const Dense<Real>& b) {
    Dense<Real> c(a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index k = 0; k < a.n; ++k) {
            const Real factor = b.at(k, j);
            if (factor == Real(0)) continue;
            for (Index i = 0; i < a.n; ++i) c.at(i, j) += a.at(i, k) * factor;
        }
    }
    return c;
}

template <class Real>
double norm_inf(const Dense<Real>& a) {
    return norm_inf(a.n, a.values);
}

/// L, D and U of one matrix as separate matrices.
template <class Real>
struct Parts {
    Dense<Real> l, d, u;
    Index pairs = 0;  ///< 2 x 2 pivots.

    Dense<Real> ldu() const { return product(product(l, d), u); }
    Dense<Real> sizes() const {
        return product(product(l.magnitudes(), d.magnitudes()), u.magnitudes());
    }
};

/// `clean` becomes false if f has nonzeros where zeros are documented.
template <class Real, class T>
Parts<Real> parts_of(Factorisation factorisation, Index n, const T* f, bool& clean) {
    Parts<Real> parts{Dense<Real>(n), Dense<Real>(n), Dense<Real>(n)};
    clean = true;
    const auto at = [&](Index i, Index j) { return f[i + j * n]; };
    for (Index j = 0; j < n; ++j) {
        const bool llt = factorisation == Factorisation::llt;
        parts.l.at(j, j) = llt ? at(j, j) : T(1);
        parts.d.at(j, j) = llt ? T(1) : at(j, j);
        for (Index i = j + 1; i < n; ++i) parts.l.at(i, j) = at(i, j);
        for (Index i = 0; i < j; ++i) {
            if (factorisation == Factorisation::ldu) {
                parts.u.at(i, j) = at(i, j);
            } else if (at(i, j) != T(0)) {
                const bool pair = !llt && i + 1 == j && at(j, i) == T(0) &&
                                  (i == 0 || parts.d.at(i, i - 1) == Real(0));
                clean = clean && pair;
                parts.d.at(i, j) = parts.d.at(j, i) = at(i, j);
                ++parts.pairs;
            }
        }
        parts.u.at(j, j) = 1;
    }
    if (factorisation != Factorisation::ldu) parts.u = parts.l.transposed();
    return parts;
}

/// The parts of matrix b, whose factors are among `values` in the layout of the batch.
template <class Real, class T>
Parts<Real> parts_of(const Method& method, const HostBatch<T>& batch, const std::vector<T>& values,
                     Index b) {
    bool clean = false;
    return parts_of<Real>(method.factorisation, batch.rows(b),
                          values.data() + batch.offsets[std::size_t(b)], clean);
}

/// Matrix b as its factorisation reads it.
template <class Real, class T>
Dense<Real> dense_of(const Method& method, const HostBatch<T>& batch, Index b) {
    const Index n = batch.rows(b);
    const T* a = batch.at(b);
    Dense<Real> dense(n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            dense.at(i, j) = method.symmetric() && i < j ? a[j + i * n] : a[i + j * n];
        }
    }
    return dense;
}

template <class Real>
Dense<Real> permuted(const Dense<Real>& a, const Index* p, const Index* q) {
    Dense<Real> result(a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.n; ++i) result.at(i, j) = a.at(p[i], q[j]);
    }
    return result;
}

/// The matrix of which `permuted` makes a.
template <class Real>
Dense<Real> unpermuted(const Dense<Real>& a, const Index* p, const Index* q) {
    Dense<Real> result(a.n);
    for (Index j = 0; j < a.n; ++j) {
        for (Index i = 0; i < a.n; ++i) result.at(p[i], q[j]) = a.at(i, j);
    }
    return result;
}

/// ||b - A x||_inf stays below 10 n eps ||S |x|||_inf, S = |L| |D| |U| in the order of A.
template <class T>
void expect_small_residual(const Dense<Wider<T>>& a, const Dense<Wider<T>>& sizes, const T* b,
                           const T* x, const std::string& what) {
    double residual = 0, bound = 0;
    for (Index i = 0; i < a.n; ++i) {
        Wider<T> rest = b[i], sum = 0;
        for (Index j = 0; j < a.n; ++j) {
            rest -= a.at(i, j) * x[j];
            sum += sizes.at(i, j) * std::abs(Wider<T>(x[j]));
        }
        const bool finite = std::isfinite(rest);
        residual = std::max(residual, finite ? double(std::abs(rest)) : INFINITY);
        bound = std::max(bound, double(sum));
    }
    EXPECT_LE(residual, 10.0 * a.n * double(std::numeric_limits<T>::epsilon()) * bound)
        << what << ", n = " << a.n;
}

inline bool is_permutation(Index n, const Index* p) {
    std::vector<bool> seen(static_cast<std::size_t>(n), false);
    for (Index s = 0; s < n; ++s) {
        if (p[s] < 0 || p[s] >= n || seen[std::size_t(p[s])]) return false;
        seen[std::size_t(p[s])] = true;
    }
    return true;
}

/// The bound on |L| that a pivoting promises; infinity without one.
inline double bound_on_l(const Method& method) {
    const bool bounded = method.pivoting == Pivoting::full ||
                         method.pivoting == Pivoting::partial || method.pivoting == Pivoting::rook;
    if (!bounded || method.factorisation == Factorisation::llt) {
        return std::numeric_limits<double>::infinity();
    }
    const double alpha = (1 + std::sqrt(17.0)) / 8;
    return method.factorisation == Factorisation::ldu ? 1 : 1 / (1 - alpha);
}

/// Checks the outputs of one matrix; returns an error text or "". After a zero pivot the factors
/// may be anything, except with full pivoting of ldu and ldlt.
template <class T>
std::string fault_of(const Method& method, const HostBatch<T>& batch, const HostFactors<T>& factors,
                     Index b) {
    using Real = Wider<T>;
    const auto at = std::size_t(b);
    const Index n = batch.sizes[at];
    const T* f = factors.values.data() + batch.offsets[at];
    const Index* p = factors.rows.data() + factors.starts[at];
    const Index* q = factors.columns.data() + factors.starts[at];
    if (!is_permutation(n, p) || !is_permutation(n, q)) return "the permutations are none";
    if (method.symmetric() || method.pivoting != Pivoting::full) {
        for (Index s = 0; s < n; ++s) {
            if (q[s] != s) return "columns are exchanged";
            if (method.pivoting == Pivoting::fixed && p[s] != s) return "rows are exchanged";
        }
    }
    if (std::isnan(factors.log_determinant[at])) return "failed";
    bool clean = false;
    const Parts<Real> parts = parts_of<Real>(method.factorisation, n, f, clean);
    if (!clean) return "there is something above the diagonal";
    const bool any_rank =
        method.pivoting == Pivoting::full && method.factorisation != Factorisation::llt;
    if (factors.info[at] != 0 && !any_rank) return {};
    Dense<Real> difference = parts.ldu();
    const Dense<Real> sizes = parts.sizes();
    const Dense<Real> a = permuted(dense_of<Real>(method, batch, b), p, method.symmetric() ? p : q);
    for (std::size_t e = 0; e < difference.values.size(); ++e) {
        difference.values[e] -= a.values[e];
    }
    const double eps = double(std::numeric_limits<T>::epsilon());
    const double tiny = double(std::numeric_limits<T>::min());
    const double bound = 10 * n * eps * norm_inf(sizes) + n * tiny +
                         std::sqrt(2.0) * double(factors.perturbation[at]);
    if (!(norm_inf(difference) <= bound)) {
        return "residual " + std::to_string(norm_inf(difference) / bound) + " of its bound";
    }
    double largest = 0;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j + 1; i < n; ++i) {
            largest = std::max(largest, double(std::abs(parts.l.at(i, j))));
            const bool full = method.pivoting == Pivoting::full && !method.symmetric();
            if (full) largest = std::max(largest, double(std::abs(parts.u.at(j, i))));
        }
    }
    // Thresholds only make pivots larger, so that they keep to the bound as well.
    if (!(largest <= bound_on_l(method) * (1 + 10 * n * eps))) {
        return "|L| or |U| reaches " + std::to_string(largest);
    }
    return {};
}

/// Checks all matrices of a batch, but those named by `except`.
template <class T, class Except>
void expect_factors(const Method& method, const HostBatch<T>& batch, const HostFactors<T>& factors,
                    const char* what, Except&& except) {
    std::vector<std::string> faults(batch.sizes.size());
    parallel_ranges(
        2, Offset(batch.sizes.size()),
        [&](Offset first, Offset last) {
            for (Offset b = first; b < last; ++b) {
                faults[std::size_t(b)] = fault_of(method, batch, factors, Index(b));
            }
        },
        16);
    for (Index b = 0; b < batch.count(); ++b) {
        const std::string& fault = faults[std::size_t(b)];
        if (!except(b)) {
            EXPECT_TRUE(fault.empty()) << method.name() << ", " << what << ", matrix " << b
                                       << ", n = " << batch.rows(b) << ": " << fault;
        }
    }
}
template <class T>
void expect_factors(const Method& method, const HostBatch<T>& batch, const HostFactors<T>& factors,
                    const char* what) {
    expect_factors(method, batch, factors, what, [](Index) { return false; });
}

}  // namespace tessera::test
