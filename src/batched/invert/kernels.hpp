#pragma once

#include <limits>

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
    BatchView<T> x;  ///< Not looked at unless `store`.
    bool store = true;
    /// Condition numbers and growth are computed where their arrays are given.
    ConditionResults<T> results;
    const Plan* plan = nullptr;    ///< Null for batches of one size.
    const Index* order = nullptr;  ///< That of the plan; null: 0, 1, 2 ...

    /// The matrices with n rows are `count(n)` from first(n) on, in the order of the plan.
    Index first(Index n) const { return plan == nullptr ? 0 : plan->begin(n); }
    Index count(Index n) const {
        if (plan != nullptr) return plan->begin(n + 1) - plan->begin(n);
        return a.size == n ? a.count : 0;
    }
    Index largest() const { return plan != nullptr ? plan->largest() : a.size; }
};

/// Writes the requested outputs of matrix b. `growth` is max |u_kj| / max |a_ij|.
template <class T>
TESSERA_HOST_DEVICE inline void write_results(const ConditionResults<T>& results, Offset b,
                                              int info, T norm, T inverse_norm, T growth) {
    if (results.info != nullptr) results.info[b] = info;
    if (results.reciprocal_condition != nullptr) {
        results.reciprocal_condition[b] = info == 0 ? T(1) / norm / inverse_norm : T(0);
    }
    if (results.pivot_growth != nullptr) {
        growth = growth > T(1) ? growth : T(1);
        results.pivot_growth[b] = info == 0 ? growth : std::numeric_limits<T>::infinity();
    }
}

/// Gauss-Jordan elimination with implicit partial pivoting among the rows (Anzt et al., Fig. 2) of
/// each A_b; see tessera/batched.hpp. The rows are those of A_b in either layout (invert
/// itself passes row-major matrices as the column-major transposes that they are). A failed matrix
/// gets info, an inverse of NaN, a reciprocal condition number of 0 and a growth of infinity, and
/// disturbs no other. No wait.
TESSERA_BACKENDS(template <class T> void invert(const Context& context, const InvertJob<T>& job);)

namespace cuda {

/// The matrices of First..Last rows, 32 at most, each size by the kernel made for it; sizes without
/// one are left. No growth.
template <class T, int First, int Last>
void invert_exact(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
/// The matrices of 0 rows and those of 1..32 that are left, by kernels that know only a bound of
/// the size: all but those of invert_panels where job.results.pivot_growth is wanted.
template <class T>
void invert_bounded(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
/// The FP64 matrices of 25..32 rows, each size by the kernel made for it; sizes without one are
/// left. growth: whether job.results.pivot_growth is given.
template <bool growth>
void invert_panels(tessera::cuda::LaunchChain& chain, const InvertJob<double>& job);
/// The matrices of 33..128 rows.
template <class T>
void invert_large(tessera::cuda::LaunchChain& chain, const InvertJob<T>& job);
}  // namespace cuda

}  // namespace tessera::batched
