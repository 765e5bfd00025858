#pragma once

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/factor.hpp"
#include "tessera/systems.hpp"

namespace tessera::cuda {
class LaunchChain;
}

namespace tessera::batched {

/// One call of solve or inverse_from_factors, checked.
template <class T>
struct SolveJob {
    BatchView<const T> f;
    PermutationsView<const Index> permutations;
    VectorsView<const T> b;
    VectorsView<T> x;
    BatchView<T> inverse;  ///< Replaces b and x in inverse_from_factors.
    Factorisation factorisation = Factorisation::ldu;
    Transpose transpose = Transpose::no;
    const Plan* plan = nullptr;  ///< Null for batches of one size.
};

/// One call of solve with matrices that are factored and solved at once, checked: general or
/// positive definite, of up to 32 rows, on a GPU 128.
template <class T>
struct SystemJob {
    BatchView<const T> a;
    VectorsView<const T> b;
    VectorsView<T> x;
    Index* info = nullptr;
    Structure structure = Structure::general;
    const Plan* plan = nullptr;    ///< Null for batches of one size.
    const Index* order = nullptr;  ///< Order of the plan; null: 0, 1, 2 ...

    bool pivoting() const { return structure == Structure::general; }
    /// The matrices with n rows are `count(n)` from first(n) on, in the order of the plan.
    Index first(Index n) const { return plan == nullptr ? 0 : plan->begin(n); }
    Index count(Index n) const {
        if (plan != nullptr) return plan->begin(n + 1) - plan->begin(n);
        return a.size == n ? a.count : 0;
    }
    TESSERA_HOST_DEVICE Offset member(Offset position) const {
        return order == nullptr ? position : Offset(order[position]);
    }
};

/// Solves with, and inverses from, the factors of a batch; see tessera/factor.hpp. No wait.
TESSERA_BACKENDS(template <class T> void solve(const Context& context, const SolveJob<T>& job);
                 template <class T>
                 void inverse_from_factors(const Context& context, const SolveJob<T>& job);)

/// Factors and solves at once; matrices without rows are passed over. No wait.
TESSERA_BACKENDS(template <class T>
                 void solve_systems(const Context& context, const SystemJob<T>& job);)

namespace cuda {

/// Systems of First..Last equations, 32 at most, by one kernel per size; several vectors of a size
/// whose kernel is for single ones, and sizes without a compiled kernel, are passed over.
template <class T, bool pivoting, int First, int Last>
void solve_fixed_size(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job);
/// The systems of 1..32 equations that are passed over, by kernels for any size up to a bound.
template <class T, bool pivoting>
void solve_any_size(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job);
/// The systems of 33..128 equations; up to four vectors.
template <class T, bool pivoting>
void solve_large(tessera::cuda::LaunchChain& chain, const SystemJob<T>& job);

}  // namespace cuda

}  // namespace tessera::batched
