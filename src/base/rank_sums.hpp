#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// Sums over the ranks of a distributed computation. Each rank is a thread, or a process, with a
/// Context of its own; all call the same operations in the same order.
class RankSums {
  public:
    virtual ~RankSums() = default;
    /// Replaces `count` numbers in the memory of the Context, `stride` bytes apart, by their sums
    /// over all ranks, added in the order of ranks: to the last bit equal on all.
    virtual void add(const Context& context, float* first, Offset count, Offset stride) const = 0;
    virtual void add(const Context& context, double* first, Offset count, Offset stride) const = 0;
};

/// While it exists, the vectors on a Context are, for the thread that made it, parts of vectors
/// over ranks: the dot products of vector_ops.hpp, and so norms and Krylov methods, sum over the
/// ranks.
class UseRankSums {
  public:
    /// `sums` (null: none) must outlive it.
    UseRankSums(const Context& context, const RankSums* sums);
    ~UseRankSums();
    UseRankSums(const UseRankSums&) = delete;
    UseRankSums& operator=(const UseRankSums&) = delete;

  private:
    const ContextState* const state_before_;
    const RankSums* const sums_before_;
};

/// The sums in use for vectors on a Context; null: its vectors are whole.
const RankSums* rank_sums(const Context& context);

/// Sums numbers over ranks if the vectors on the Context are parts of such.
template <class T>
void sum_over_ranks(const Context& context, T* first, Offset count = 1, Offset stride = sizeof(T)) {
    const RankSums* const sums = rank_sums(context);
    if (sums != nullptr && count > 0) sums->add(context, first, count, stride);
}

}  // namespace tessera
