#include <algorithm>
#include <cmath>
#include <vector>

#include "batched/pivot_pair.hpp"
#include "batched/solve/kernels.hpp"
#include "simd/batch.hpp"

namespace tessera::batched::cpu {

namespace {

/// The factors of one matrix; null permutations are identities.
template <class T>
struct Factors {
    Factorisation factorisation;
    Index n;
    const T* f;
    Offset ld;
    const Index* rows;
    const Index* columns;

    T at(Index i, Index j) const { return f[i + j * ld]; }
};

/// y = L^-1 y; the diagonal of L is 1 but for llt.
template <class T>
void solve_lower(const Factors<T>& m, T* y) {
    for (Index j = 0; j < m.n; ++j) {
        const T* const column = m.f + j * m.ld;
        if (m.factorisation == Factorisation::llt) y[j] /= column[j];
        const T value = y[j];
        for (Index i = j + 1; i < m.n; ++i) y[i] -= column[i] * value;
    }
}

/// y = L^-T y.
template <class T>
void solve_lower_transposed(const Factors<T>& m, T* y) {
    for (Index j = m.n - 1; j >= 0; --j) {
        const T* const column = m.f + j * m.ld;
        T sum = y[j];
        for (Index i = j + 1; i < m.n; ++i) sum -= column[i] * y[i];
        y[j] = m.factorisation == Factorisation::llt ? sum / column[j] : sum;
    }
}

/// y = U^-1 y and y = U^-T y for the U of ldu.
template <class T>
void solve_upper(const Factors<T>& m, T* y) {
    for (Index j = m.n - 1; j >= 0; --j) {
        const T value = y[j];
        for (Index i = 0; i < j; ++i) y[i] -= m.at(i, j) * value;
    }
}
template <class T>
void solve_upper_transposed(const Factors<T>& m, T* y) {
    for (Index j = 0; j < m.n; ++j) {
        T sum = y[j];
        for (Index i = 0; i < j; ++i) sum -= m.at(i, j) * y[i];
        y[j] = sum;
    }
}

/// y = D^-1 y.
template <class T>
void solve_pivots(const Factors<T>& m, T* y) {
    for (Index s = 0; s < m.n; ++s) {
        const T e21 = m.factorisation == Factorisation::ldlt && s + 1 < m.n ? m.at(s, s + 1) : T(0);
        if (e21 == T(0)) {
            y[s] /= m.at(s, s);
            continue;
        }
        const T f1 = m.at(s, s) / e21;
        const T f2 = m.at(s + 1, s + 1) / e21;
        const T y1 = y[s] / e21;
        const T y2 = y[s + 1] / e21;
        const T denominator = f1 * f2 - T(1);
        y[s] = (f2 * y1 - y2) / denominator;
        y[s + 1] = (f1 * y2 - y1) / denominator;
        ++s;
    }
}

/// x = op(A)^-1 b; y has room for n values, so that b may be x.
template <class T>
void solve_one(const Factors<T>& m, Transpose transpose, const T* b, T* x, T* y) {
    const bool transposed = m.factorisation == Factorisation::ldu && transpose == Transpose::yes;
    const Index* from = transposed ? m.columns : m.rows;
    const Index* to = m.factorisation != Factorisation::ldu || transposed ? m.rows : m.columns;
    for (Index s = 0; s < m.n; ++s) y[s] = b[from != nullptr ? from[s] : s];
    if (transposed) {
        solve_upper_transposed(m, y);
    } else {
        solve_lower(m, y);
    }
    if (m.factorisation != Factorisation::llt) solve_pivots(m, y);
    if (m.factorisation == Factorisation::ldu && !transposed) {
        solve_upper(m, y);
    } else {
        solve_lower_transposed(m, y);
    }
    for (Index s = 0; s < m.n; ++s) x[to != nullptr ? to[s] : s] = y[s];
}

/// X = A^-1 into x, of leading dimension n.
template <class T>
void invert_one(const Factors<T>& m, T* x, T* y) {
    const Index n = m.n;
    for (Index j = 0; j < n; ++j) {
        T* const column = x + j * n;
        std::fill(column, column + n, T(0));
        column[j] = T(1);
        solve_one(m, Transpose::no, column, column, y);
    }
    if (m.factorisation == Factorisation::ldu) return;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j + 1; i < n; ++i) x[j + i * n] = x[i + j * n];
    }
}

template <class T>
class FactorsOf {
  public:
    FactorsOf(Factorisation factorisation, const BatchView<const T>& f,
              const PermutationsView<const Index>& permutations)
        : factorisation_(factorisation), f_(f), permutations_(permutations) {}
    Factors<T> operator()(Index b, Index n) const {
        const auto of = [&](const Index* array) {
            if (array == nullptr) return array;
            const Offset* offsets = permutations_.offsets;
            return array + (offsets != nullptr ? offsets[b] : b * permutations_.stride);
        };
        return {factorisation_,         n,
                start_of(f_, b),        f_.sizes != nullptr ? n : f_.leading_dimension,
                of(permutations_.rows), of(permutations_.columns)};
    }

  private:
    Factorisation factorisation_;
    BatchView<const T> f_;
    PermutationsView<const Index> permutations_;
};

}  // namespace

template <class T>
void solve(const Context& context, Factorisation factorisation, Transpose transpose,
           const BatchView<const T>& f, const PermutationsView<const Index>& permutations,
           const VectorsView<const T>& b, const VectorsView<T>& x, const Plan* plan) {
    const FactorsOf<T> factors(factorisation, f, permutations);
    const auto cost = [&](Index n) { return 2.0 * n * n * b.vectors + 4; };
    for_batch_parts(context, f, plan, cost, [&](auto&& for_sets) {
        T y[largest_size];
        for_sets([&](const BatchSet& set) {
            for (Index k = 0; k < set.count; ++k) {
                const Index matrix = set.members[k];
                const T* from = start_of(b, matrix);
                T* to = start_of(x, matrix);
                for (Index v = 0; v < b.vectors; ++v) {
                    solve_one(factors(matrix, set.n), transpose, from + v * b.leading_dimension,
                              to + v * x.leading_dimension, y);
                }
            }
        });
    });
}

template <class T>
void inverse_from_factors(const Context& context, Factorisation factorisation,
                          const BatchView<const T>& f,
                          const PermutationsView<const Index>& permutations, const BatchView<T>& x,
                          const Plan* plan) {
    const FactorsOf<T> factors(factorisation, f, permutations);
    const Index largest = plan != nullptr ? plan->largest() : f.size;
    const auto cost = [](Index n) { return 2.0 * n * n * n + 4; };
    for_batch_parts(context, f, plan, cost, [&](auto&& for_sets) {
        std::vector<T> inverse(std::size_t(largest) * std::size_t(largest));
        T y[largest_size];
        for_sets([&](const BatchSet& set) {
            const Index n = set.n;
            for (Index k = 0; k < set.count; ++k) {
                invert_one(factors(set.members[k], n), inverse.data(), y);
                T* const to = start_of(x, set.members[k]);
                const Offset ld = x.sizes != nullptr ? n : x.leading_dimension;
                for (Index j = 0; j < n; ++j) {
                    std::copy_n(inverse.data() + j * n, n, to + j * ld);
                }
            }
        });
    });
}

template <class T>
void take_absolute_pivots(const Context& context, const BatchView<T>& f, const Plan* plan) {
    const auto cost = [](Index n) { return 8.0 * n + 4; };
    for_batch_parts(context, f, plan, cost, [&](auto&& for_sets) {
        for_sets([&](const BatchSet& set) {
            const Offset ld = f.sizes != nullptr ? set.n : f.leading_dimension;
            for (Index k = 0; k < set.count; ++k) {
                T* const m = start_of(f, set.members[k]);
                for (Index s = 0; s < set.n; ++s) {
                    T* const pivot = m + s + s * ld;
                    if (s + 1 == set.n || pivot[ld] == T(0)) {
                        *pivot = std::abs(*pivot);
                        continue;
                    }
                    const PivotPair<T> e{pivot[0], pivot[ld], pivot[ld + 1]};
                    const PivotEigen<T> v = eigenpairs(e);
                    const PivotPair<T> positive =
                        with_eigenvalues(e, v, std::abs(v.first), std::abs(v.second));
                    pivot[0] = positive.e11;
                    pivot[ld] = positive.e21;
                    pivot[ld + 1] = positive.e22;
                    ++s;
                }
            }
        });
    });
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template void solve<T>(const Context&, Factorisation, Transpose, const BatchView<const T>&, \
                           const PermutationsView<const Index>&, const VectorsView<const T>&,   \
                           const VectorsView<T>&, const Plan*);                                 \
    template void inverse_from_factors<T>(                                                      \
        const Context&, Factorisation, const BatchView<const T>&,                               \
        const PermutationsView<const Index>&, const BatchView<T>&, const Plan*);                \
    template void take_absolute_pivots<T>(const Context&, const BatchView<T>&, const Plan*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::batched::cpu
