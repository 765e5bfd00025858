#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "batched/solve/solve_cpu.cpp"
#include "batched/solve/kernels.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "simd/dispatch.hpp"
#include "simd/tiles/elimination-inl.h"

#ifndef TESSERA_BATCHED_SOLVE_CPU_ONCE
#define TESSERA_BATCHED_SOLVE_CPU_ONCE
namespace tessera::batched::cpu {

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
    Index row(Index s) const { return rows != nullptr ? rows[s] : s; }
    Index column(Index s) const { return columns != nullptr ? columns[s] : s; }
};

}  // namespace tessera::batched::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace tessera::batched::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using namespace tessera::cpu::HWY_NAMESPACE;

// Z = (L D U)^-1 in the order of the pivots: row i of it is z.column(i).

/// Z = L^-1, in the vectors that reach up to the diagonal.
template <class D, class T>
HWY_INLINE void invert_lower(D d, const Factors<T>& m, const Square<T>& z) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index i = 0; i < m.n; ++i) {
        T* const row = z.column(i);
        for (Index j = 0; j < z.rows; ++j) row[j] = T(0);
        row[i] = T(1);
        const T diagonal = m.factorisation == Factorisation::llt ? m.at(i, i) : T(1);
        for (Index v = 0; v <= i; v += lanes) {
            auto sum = hn::Load(d, row + v);
            for (Index k = v; k < i; ++k) {
                sum = hn::NegMulAdd(hn::Set(d, m.at(i, k)), hn::Load(d, z.column(k) + v), sum);
            }
            hn::Store(hn::Div(sum, hn::Set(d, diagonal)), d, row + v);
        }
    }
}

/// Z = D^-1 Z.
template <class D, class T>
HWY_INLINE void divide_by_pivots(D d, const Factors<T>& m, const Square<T>& z) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index s = 0; s < m.n; ++s) {
        const bool last = m.factorisation != Factorisation::ldlt || s + 1 == m.n;
        const T coupling = last ? T(0) : m.at(s, s + 1);
        T* const one = z.column(s);
        if (coupling == T(0)) {
            for (Index v = 0; v <= s; v += lanes) {
                hn::Store(hn::Div(hn::Load(d, one + v), hn::Set(d, m.at(s, s))), d, one + v);
            }
            continue;
        }
        T* const other = z.column(s + 1);
        const T f1 = m.at(s, s) / coupling;
        const T f2 = m.at(s + 1, s + 1) / coupling;
        const auto denominator = hn::Set(d, (f1 * f2 - T(1)) * coupling);
        for (Index v = 0; v <= s + 1; v += lanes) {
            const auto y1 = hn::Div(hn::Load(d, one + v), denominator);
            const auto y2 = hn::Div(hn::Load(d, other + v), denominator);
            hn::Store(hn::MulSub(hn::Set(d, f2), y1, y2), d, one + v);
            hn::Store(hn::MulSub(hn::Set(d, f1), y2, y1), d, other + v);
        }
        ++s;
    }
}

/// Z = U^-1 Z; of symmetric matrices only what reaches up to the diagonal.
template <class D, class T>
HWY_INLINE void solve_upper(D d, const Factors<T>& m, const Square<T>& z) {
    const Index lanes = Index(hn::Lanes(d));
    const bool ldu = m.factorisation == Factorisation::ldu;
    for (Index i = m.n - 1; i >= 0; --i) {
        T* const row = z.column(i);
        const T diagonal = m.factorisation == Factorisation::llt ? m.at(i, i) : T(1);
        for (Index v = 0; v <= (ldu ? m.n - 1 : i); v += lanes) {
            auto sum = hn::Load(d, row + v);
            for (Index k = i + 1; k < m.n; ++k) {
                const T u = ldu ? m.at(i, k) : m.at(k, i);
                sum = hn::NegMulAdd(hn::Set(d, u), hn::Load(d, z.column(k) + v), sum);
            }
            hn::Store(hn::Div(sum, hn::Set(d, diagonal)), d, row + v);
        }
    }
}

template <class T>
HWY_NOINLINE void invert_factors(const Factors<T>& m, T* scratch, T* x, Offset ld) {
    const hn::ScalableTag<T> d;
    const Square<T> z = square_in(d, m.n, scratch);
    invert_lower(d, m, z);
    if (m.factorisation != Factorisation::llt) divide_by_pivots(d, m, z);
    solve_upper(d, m, z);
    for (Index i = 0; i < m.n; ++i) {
        const T* const row = z.column(i);
        if (m.factorisation == Factorisation::ldu) {
            for (Index j = 0; j < m.n; ++j) x[m.column(i) + m.row(j) * ld] = row[j];
        } else {
            for (Index j = 0; j <= i; ++j) {
                x[m.row(i) + m.row(j) * ld] = x[m.row(j) + m.row(i) * ld] = row[j];
            }
        }
    }
}

}  // namespace tessera::batched::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/pivot_pair.hpp"
#include "batched/factor/factor_sets.hpp"
#include "simd/batch.hpp"

namespace tessera::batched::cpu {

namespace {

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
    const auto invert = TESSERA_SIMD(context, invert_factors<T>);
    const FactorsOf<T> factors(factorisation, f, permutations);
    const Index largest = plan != nullptr ? plan->largest() : f.size;
    const auto cost = [](Index n) { return double(n) * n * (n / 2 + 8) + 8; };
    for_batch_parts(context, f, plan, cost, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(std::size_t(factor_scratch_lines<T>(largest)));
        for_sets([&](const BatchSet& set) {
            const Offset ld = x.sizes != nullptr ? set.n : x.leading_dimension;
            for (Index k = 0; k < set.count; ++k) {
                invert(factors(set.members[k], set.n), reinterpret_cast<T*>(scratch.data()),
                       start_of(x, set.members[k]), ld);
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

template decltype(solve<float>) solve<float>;
template decltype(solve<double>) solve<double>;
template decltype(inverse_from_factors<float>) inverse_from_factors<float>;
template decltype(inverse_from_factors<double>) inverse_from_factors<double>;
template decltype(take_absolute_pivots<float>) take_absolute_pivots<float>;
template decltype(take_absolute_pivots<double>) take_absolute_pivots<double>;

}  // namespace tessera::batched::cpu
#endif
