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

/// The factors of one matrix; a null permutation is the identity.
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

// Z = (L D U)^-1 in pivot order; row i of Z is z.column(i).

/// Substitution for row i of Z with L (lower) or U (L^T of symmetric matrices), in columns up to
/// `last`, rounded up to whole vectors.
template <class D, class T>
HWY_INLINE void substitute(D d, const Factors<T>& m, const Square<T>& z, Index i, bool lower,
                           Index last) {
    T* const row = z.column(i);
    const bool by_row = lower || m.factorisation == Factorisation::ldu;
    const T diagonal = m.factorisation == Factorisation::llt ? m.at(i, i) : T(1);
    for (Index v = 0; v <= last; v += Index(hn::Lanes(d))) {
        auto sum = hn::Load(d, row + v);
        const Index end = lower ? i : m.n;
        for (Index k = lower ? v : i + 1; k < end; ++k) {
            const auto entry = hn::Set(d, by_row ? m.at(i, k) : m.at(k, i));
            sum = hn::NegMulAdd(entry, hn::Load(d, z.column(k) + v), sum);
        }
        hn::Store(hn::Div(sum, hn::Set(d, diagonal)), d, row + v);
    }
}

/// Z = D^-1 Z.
template <class D, class T>
HWY_INLINE void divide_by_pivots(D d, const Factors<T>& m, const Square<T>& z) {
    const Index lanes = Index(hn::Lanes(d));
    for (Index s = 0; s < m.n; ++s) {
        const bool last = m.factorisation != Factorisation::ldlt || s + 1 == m.n;
        const T e21 = last ? T(0) : m.at(s, s + 1);
        T* const one = z.column(s);
        if (e21 == T(0)) {
            for (Index v = 0; v <= s; v += lanes) {
                hn::Store(hn::Div(hn::Load(d, one + v), hn::Set(d, m.at(s, s))), d, one + v);
            }
            continue;
        }
        T* const other = z.column(s + 1);
        const T f1 = m.at(s, s) / e21;
        const T f2 = m.at(s + 1, s + 1) / e21;
        const auto denominator = hn::Set(d, (f1 * f2 - T(1)) * e21);
        for (Index v = 0; v <= s + 1; v += lanes) {
            const auto y1 = hn::Div(hn::Load(d, one + v), denominator);
            const auto y2 = hn::Div(hn::Load(d, other + v), denominator);
            hn::Store(hn::MulSub(hn::Set(d, f2), y1, y2), d, one + v);
            hn::Store(hn::MulSub(hn::Set(d, f1), y2, y1), d, other + v);
        }
        ++s;
    }
}

template <class T>
HWY_NOINLINE void invert_factors(const Factors<T>& m, T* scratch, T* x, Offset ld) {
    const hn::ScalableTag<T> d;
    const Square<T> z = make_square(d, m.n, scratch);
    for (Index i = 0; i < m.n; ++i) {
        for (Index j = 0; j < z.rows; ++j) z.at(j, i) = T(i == j);
        substitute(d, m, z, i, true, i);
    }
    if (m.factorisation != Factorisation::llt) divide_by_pivots(d, m, z);
    for (Index i = m.n - 1; i >= 0; --i) {  // Symmetric matrices: only up to the diagonal.
        substitute(d, m, z, i, false, m.factorisation == Factorisation::ldu ? m.n - 1 : i);
    }
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
#include <vector>

#include "simd/batch.hpp"

namespace tessera::batched::cpu {

namespace {

/// y = op(T)^-1 y for the triangle T = L, or T = U of ldu, whose diagonal is 1 but for llt.
template <class T>
void solve_triangle(const Factors<T>& m, bool lower, bool transposed, T* y) {
    const bool is_llt = m.factorisation == Factorisation::llt;
    for (Index step = 0; step < m.n; ++step) {
        const Index j = lower != transposed ? step : m.n - 1 - step;
        const T* const column = m.f + j * m.ld;
        const Index first = lower ? j + 1 : 0;
        const Index last = lower ? m.n : j;
        T value = y[j];
        if (transposed) {
            for (Index i = first; i < last; ++i) value -= column[i] * y[i];
        }
        if (is_llt) value /= column[j];
        y[j] = value;
        if (!transposed) {
            for (Index i = first; i < last; ++i) y[i] -= column[i] * value;
        }
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

/// x = op(A)^-1 b, in place if b is x; y: scratch memory for n values.
template <class T>
void solve_one(const Factors<T>& m, Transpose transpose, const T* b, T* x, T* y) {
    const bool is_ldu = m.factorisation == Factorisation::ldu;
    const bool transposed = is_ldu && transpose == Transpose::yes;
    for (Index s = 0; s < m.n; ++s) y[s] = b[transposed ? m.column(s) : m.row(s)];
    solve_triangle(m, !transposed, transposed, y);  // L, or U^T.
    if (m.factorisation != Factorisation::llt) solve_pivots(m, y);
    const bool by_l = !is_ldu || transposed;  // L^T, or U.
    solve_triangle(m, by_l, by_l, y);
    for (Index s = 0; s < m.n; ++s) x[by_l ? m.row(s) : m.column(s)] = y[s];
}

template <class T>
Factors<T> factors_of(const SolveJob<T>& job, Index b, Index n) {
    const auto& p = job.permutations;
    return {job.factorisation,
            n,
            start_of(job.f, b),
            leading_dimension_of(job.f, n),
            p.rows != nullptr ? p.rows + p.start(b) : nullptr,
            p.columns != nullptr ? p.columns + p.start(b) : nullptr};
}

}  // namespace

template <class T>
void solve(const Context& context, const SolveJob<T>& job) {
    const auto cost = [&](Index n) { return 2.0 * n * n * job.b.vectors + 4; };
    for_batch_parts(context, job.f, job.plan, cost, [&](auto&& for_sets) {
        T y[largest_size];
        for_sets([&](const BatchSet& set) {
            for (Index k = 0; k < set.count; ++k) {
                const Index matrix = set.members[k];
                const Factors<T> factors = factors_of(job, matrix, set.n);
                for (Index v = 0; v < job.b.vectors; ++v) {
                    solve_one(factors, job.transpose,
                              start_of(job.b, matrix) + v * job.b.leading_dimension,
                              start_of(job.x, matrix) + v * job.x.leading_dimension, y);
                }
            }
        });
    });
}

template <class T>
void inverse_from_factors(const Context& context, const SolveJob<T>& job) {
    const auto invert = TESSERA_SIMD(context, invert_factors<T>);
    const Index largest = job.plan != nullptr ? job.plan->largest() : job.f.size;
    const Offset line = Offset(sizeof(CacheLine) / sizeof(T));
    const Offset lines = (largest + line - 1) / line * largest;
    const auto cost = [](Index n) { return double(n) * n * (n / 2 + 8) + 8; };
    for_batch_parts(context, job.f, job.plan, cost, [&](auto&& for_sets) {
        std::vector<CacheLine> scratch(static_cast<std::size_t>(lines));
        for_sets([&](const BatchSet& set) {
            const Offset ld = leading_dimension_of(job.inverse, set.n);
            for (Index k = 0; k < set.count; ++k) {
                invert(factors_of(job, set.members[k], set.n), reinterpret_cast<T*>(scratch.data()),
                       start_of(job.inverse, set.members[k]), ld);
            }
        });
    });
}

template decltype(solve<float>) solve<float>;
template decltype(solve<double>) solve<double>;
template decltype(inverse_from_factors<float>) inverse_from_factors<float>;
template decltype(inverse_from_factors<double>) inverse_from_factors<double>;

}  // namespace tessera::batched::cpu
#endif
