#pragma once

#include "tessera/batched.hpp"

namespace tessera::batched {

/// One call of invert, invert_with_condition or condition, checked.
template <class T>
struct InvertJob {
    BatchView<const T> a;
    BatchView<T> x;  ///< Not looked at unless `store`.
    bool store = true;
    /// Condition numbers and growth are computed where their arrays are given.
    Results<T> results;
    const Plan* plan = nullptr;  ///< Null for batches of one size.
};

/// Gauss-Jordan elimination with implicit partial pivoting among the rows (Anzt et al., Fig. 2) of
/// each A_b; see tessera/batched.hpp. The rows are those of A_b in either layout (invert
/// itself passes row-major matrices as the column-major transposes that they are). A failed matrix
/// gets info, an inverse of NaN, a reciprocal condition number of 0 and a growth of infinity, and
/// disturbs no other. No wait.
namespace cpu {
template <class T>
void invert(const Context& context, const InvertJob<T>& job);
}
namespace cuda {
template <class T>
void invert(const Context& context, const InvertJob<T>& job);
/// The matrices of 0..32 rows: those of `plan` before begin(33), or all where `plan` is null and
/// these are so small. Growth: whether job.results.pivot_growth is given.
template <class T, bool Growth>
void invert_small(const Context& context, const InvertJob<T>& job);
/// The same for matrices all of one size First..Last, by the kernel made for that size; false, and
/// nothing done, where there is none.
template <class T, int First, int Last>
bool invert_exact(const Context& context, const InvertJob<T>& job);
/// The same for matrices so small that a thread takes each.
template <class T>
bool invert_lanes(const Context& context, const InvertJob<T>& job);
/// The matrices of 33..128 rows: those of `plan` from begin(33) on, or all where `plan` is null.
template <class T>
void invert_large(const Context& context, const InvertJob<T>& job);
}  // namespace cuda

}  // namespace tessera::batched
