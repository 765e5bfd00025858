#pragma once

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#include "tessera/batched.hpp"

namespace tessera::cuda {
class LaunchChain;
}

namespace tessera::batched {

/// One call of invert, invert_with_condition or condition, checked.
template <class T>
struct InvertJob {
    BatchView<const T> a;
    BatchView<T> x;  ///< Unused unless `store`.
    bool store = true;
    /// Condition numbers are computed if their array is not null.
    ConditionResults<T> results;
    const Plan* plan = nullptr;    ///< Null for batches of one size.
    const Index* order = nullptr;  ///< Order of the plan; null: 0, 1, 2 ...

    /// The matrices with n rows are `count(n)` from first(n) on, in the order of the plan.
    Index first(Index n) const { return plan == nullptr ? 0 : plan->begin(n); }
    Index count(Index n) const {
        if (plan != nullptr) return plan->begin(n + 1) - plan->begin(n);
        return a.size == n ? a.count : 0;
    }
    Index largest() const { return plan != nullptr ? plan->largest() : a.size; }
};

/// Writes the requested outputs of matrix b.
template <class T>
TESSERA_HOST_DEVICE inline void write_results(const ConditionResults<T>& results, Offset b,
                                              int info, T norm, T inverse_norm) {
    if (results.info != nullptr) results.info[b] = info;
    if (results.reciprocal_condition != nullptr) {
        results.reciprocal_condition[b] = info == 0 ? T(1) / norm / inverse_norm : T(0);
    }
}

/// Gauss-Jordan elimination with implicit partial pivoting among the rows (Anzt et al., Fig. 2) of
/// each A_b; see tessera/batched.hpp. Pivots are chosen among the rows of A_b in either layout
/// (invert itself passes row-major matrices as column-major transposes). A failed matrix gets info,
/// an inverse of NaN and a reciprocal condition number of 0; others are not affected. Asynchronous.
TESSERA_BACKENDS(template <class T> void invert(const Context& context, const InvertJob<T>& job);)

namespace cuda {

/// Matrices of First..Last rows, 32 at most, by one kernel per size; sizes without a compiled
/// kernel are skipped.
template <class T, int First, int Last>
void invert_fixed_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
/// Matrices of 0 rows, and those of 1..32 rows without a compiled kernel of their size, by kernels
/// for any size up to a bound.
template <class T>
void invert_any_size(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
/// FP64 matrices of 25..32 rows, by one kernel per size; sizes without a compiled kernel are
/// skipped.
void invert_panels(tessera::cuda::LaunchChain& chain, const InvertJob<double>& job);
/// Matrices of 33..128 rows.
template <class T>
void invert_large(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
}  // namespace cuda

}  // namespace tessera::batched
