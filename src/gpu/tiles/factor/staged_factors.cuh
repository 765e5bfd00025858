#pragma once

#include "gpu/tiles/factor/pivots.cuh"

/// Solves and inverses with factors in shared memory.
namespace tessera::cuda {

namespace {

constexpr int rhs_per_pass = 4;  ///< Right-hand sides solved together, if there are several.

/// Divides many numbers a by one d, correctly rounded (but -0 over a negative d gives -0): by the
/// reciprocal of d where no exponent is extreme, else by the compiler's division, whose path for
/// a = 0 is slow.
template <class T>
class RoundedDivisor {
  public:
    __device__ __forceinline__ explicit RoundedDivisor(T d)
        : d_(d), reciprocal_(fast_reciprocal(d)), moderate_(is_moderate(d)) {}
    __device__ __forceinline__ T quotient(T a) const {
        const bool quick = moderate_ && (a == T(0) || is_moderate(a));
        return quick ? -minus_quotient(a, d_, -reciprocal_) : a / d_;
    }

  private:
    /// Whether quotients of two such numbers neither overflow nor underflow.
    static __device__ __forceinline__ bool is_moderate(T x) {
        constexpr unsigned one = sizeof(T) == 8 ? 0x3ff00000u : 0x3f800000u;
        constexpr unsigned range = sizeof(T) == 8 ? 500u << 20 : 50u << 23;  // Exponents.
        return (high_word(x) & 0x7fffffffu) - (one - range) < 2 * range;
    }
    T d_, reciprocal_;
    bool moderate_;
};

/// The inverse of a 2 x 2 pivot whose e21 is not 0.
template <class T>
__device__ __forceinline__ PivotPair<T> pair_inverse(const PivotPair<T>& e) {
    const RoundedDivisor<T> by_e21(e.e21);
    const T f1 = by_e21.quotient(e.e11);
    const T f2 = by_e21.quotient(e.e22);
    const T scale = RoundedDivisor<T>((f1 * f2 - T(1)) * e.e21).quotient(T(1));
    return {f2 * scale, -scale, f1 * scale};
}

/// The factors of a matrix in the shared memory of a team; thread s has element s of each vector.
/// transposed: solves with the transpose of A (ldu).
template <Factorisation kind, bool transposed, class T, class Team>
class StagedFactors {
  public:
    using Value = T;
    /// The factors must be in shared memory.
    __device__ __forceinline__ StagedFactors(const Team& team, const TeamMemory<T>& memory, int n)
        : team_(team), memory_(memory), n_(n) {
        const int s = team.lane();
        const bool inside = s < n;
        T divisor = inside ? memory.at(s, s) : T(1);
        if constexpr (kind == Factorisation::llt) {
            reciprocal_ = T(1) / divisor;  // Finite: the divisor is a square root.
            return;
        }
        if constexpr (kind == Factorisation::ldlt) {
            const T after = s + 1 < n ? memory.at(s, s + 1) : T(0);
            const T before = inside && s > 0 ? memory.at(s - 1, s) : T(0);
            second_ = after == T(0) && before != T(0);
            pair_ = after != T(0) || second_;
            if (pair_) {
                const int first = second_ ? s - 1 : s;
                divisor = second_ ? before : after;
                f1_ = memory.at(first, first);
                f2_ = memory.at(first + 1, first + 1);
            }
        }
        divisor_ = RoundedDivisor<T>(divisor);
        if constexpr (kind == Factorisation::ldlt) {
            f1_ = divisor_.quotient(f1_);
            f2_ = divisor_.quotient(f2_);
            last_ = RoundedDivisor<T>(f1_ * f2_ - T(1));
        }
    }

    /// y = op(A)^-1 y in the coordinates of the factors.
    template <int Vectors>
    __device__ __forceinline__ void solve(T (&y)[Vectors]) const {
        const int s = team_.lane();
        for (int j = 0; j < n_; ++j) {  // L, or U^T.
            const T entry = s > j && s < n_ ? at(s, j) : T(0);
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                if (kind == Factorisation::llt && s == j) y[v] *= reciprocal_;
                const T value = team_.from(y[v], j);
                if (s > j) y[v] = fma(-entry, value, y[v]);
            }
        }
        if constexpr (kind != Factorisation::llt) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) y[v] = divide_by_d(y[v]);
        }
        for (int j = n_ - 1; j >= 0; --j) {  // U, or L^T.
            const T entry = s < j ? (kind == Factorisation::ldu ? at(s, j) : at(j, s)) : T(0);
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                if (kind == Factorisation::llt && s == j) y[v] *= reciprocal_;
                const T value = team_.from(y[v], j);
                if (s < j) y[v] = fma(-entry, value, y[v]);
            }
        }
    }

  private:
    __device__ __forceinline__ T at(int i, int j) const {
        return transposed ? memory_.at(j, i) : memory_.at(i, j);
    }
    /// Element s of D^-1 y.
    __device__ __forceinline__ T divide_by_d(T y) const {
        if constexpr (kind != Factorisation::ldlt) return divisor_.quotient(y);
        const int s = team_.lane();
        team_.sync();
        memory_.stage[s] = y;
        team_.sync();
        if (!pair_) return divisor_.quotient(y);
        const T y1 = divisor_.quotient(memory_.stage[second_ ? s - 1 : s]);
        const T y2 = divisor_.quotient(memory_.stage[second_ ? s : s + 1]);
        return last_.quotient(second_ ? f1_ * y2 - y1 : f2_ * y1 - y2);
    }

    const Team& team_;
    const TeamMemory<T> memory_;
    int n_;
    T reciprocal_ = T(1);              ///< Reciprocal of the diagonal of llt.
    bool pair_ = false;                ///< This thread has a row of a 2 x 2 pivot.
    bool second_ = false;              ///< This thread has the second row of it.
    T f1_ = T(1), f2_ = T(2);          ///< Its diagonal elements over e21.
    RoundedDivisor<T> divisor_{T(1)};  ///< Division by the diagonal, or by e21.
    RoundedDivisor<T> last_{T(1)};     ///< Division by f1 f2 - 1.
};

/// Copies factors to the shared memory of a team.
template <class T, class Team>
__device__ __forceinline__ void stage_factors(const Team& team, const T* from, Offset line,
                                              const TeamMemory<T>& memory, int n) {
    const int s = team.lane();
    from += s;
    for (int j = 0; j < n && s < n; ++j, from += line) {
        copy_to_shared<int(sizeof(T))>(&memory.at(s, j), from);
    }
    wait_for_copies();
    team.sync();
}

/// Solves for the columns first .. first + per_pass - 1 of the inverse and calls put(row, column,
/// value) for those below n; for a symmetric inverse the lower triangle is also put above the
/// diagonal. The thread, if `inside`, has row `to` of the inverse and column `from` of the
/// identity.
template <Factorisation kind, int per_pass, class Factors, class Put>
__device__ __forceinline__ void inverse_columns(const Factors& factors, bool inside, int from,
                                                int to, int n, int first, Put&& put) {
    typename Factors::Value y[per_pass];
#pragma unroll
    for (int v = 0; v < per_pass; ++v) {
        y[v] = typename Factors::Value(inside && from == first + v ? 1 : 0);
    }
    factors.solve(y);
#pragma unroll
    for (int v = 0; v < per_pass; ++v) {
        const int column = first + v;
        if (!inside || column >= n) continue;
        if (kind == Factorisation::ldu || to >= column) put(to, column, y[v]);
        if (kind != Factorisation::ldu && to > column) put(column, to, y[v]);
    }
}

}  // namespace

}  // namespace tessera::cuda
