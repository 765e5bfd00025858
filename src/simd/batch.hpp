#pragma once

#include <algorithm>

#include "base/parallel.hpp"

// Iteration of the CPU kernels over a batch: parts of about equal cost, one per thread, each
// divided into sets of matrices of equal size, small enough for tables of addresses on the stack.

namespace tessera {

/// Largest number of matrices in a set; whole vectors of lanes for every instruction set.
inline constexpr Index max_set_size = 128;

/// Boundaries between parts are multiples of this, so that most vectors of lanes are full.
inline constexpr Index lane_alignment = 16;

/// Values per matrix of an interleaved panel of columns, at least one column.
inline constexpr Index panel_values = 256;

/// Unit of scratch memory: one vector of any instruction set.
struct alignas(64) CacheLine {
    char bytes[64];
};

/// Some matrices of a batch, all of n rows.
struct BatchSet {
    Index n = 0;
    Index count = 0;
    Index members[max_set_size];
};

/// The address of matrix b, or of its vectors.
template <class View>
auto start_of(const View& view, Index b) -> decltype(view.values) {
    if (view.starts != nullptr) return view.starts[b];
    return view.values + (view.offsets != nullptr ? view.offsets[b] : Offset(b) * view.stride);
}

/// The leading dimension of a matrix of n rows of the batch.
template <class View>
Offset leading_dimension_of(const View& view, Index n) {
    return view.sizes != nullptr ? n : view.leading_dimension;
}

/// The addresses of a set, the last one repeated up to whole vectors of lanes.
template <class View>
void gather_addresses(const View& view, const BatchSet& set, decltype(view.values)* starts) {
    for (Index k = 0; k < set.count; ++k) starts[k] = start_of(view, set.members[k]);
    for (Index k = set.count; k % lane_alignment != 0; ++k) starts[k] = starts[set.count - 1];
}

/// Positions begin .. end-1, in the plan or in a batch of one size, of the matrices of n rows.
struct SizeClass {
    Offset begin = 0;
    Offset end = 0;
};
template <class View, class Plan>
SizeClass size_class(const View& a, const Plan* plan, Index n) {
    if (plan != nullptr) return {plan->begin(n), plan->begin(n + 1)};
    return n == a.size ? SizeClass{0, a.count} : SizeClass{0, 0};
}

/// Operations between looks at time limits: less than a millisecond.
inline constexpr double operations_between_looks = 1e6;

/// work(for_sets) for every part of the batch, in parallel; for_sets(f) calls f(set) for the part's
/// sets in ascending order of size. cost(n) > 0: operations for a matrix of n rows. A TimeLimit of
/// the caller may end it between two sets.
template <class View, class Plan, class Cost, class Work>
void for_batch_parts(const Context& context, const View& a, const Plan* plan, Cost&& cost,
                     Work&& work) {
    if (a.count == 0) return;
    const Index largest = plan != nullptr ? plan->largest() : a.size;
    double total = 0;
    for (Index n = 0; n <= largest; ++n) {
        const SizeClass matrices = size_class(a, plan, n);
        total += double(matrices.end - matrices.begin) * cost(n);
    }
    const Offset parts =
        std::clamp<Offset>(Offset(total / double(parallel_grain)), 1, Offset(context.threads()));
    parallel_parts(context.threads(), parts, parts, [&](Offset part, Offset, Offset) {
        work([&](auto&& f) {
            BatchSet set;
            double before = 0;  // Cost of smaller matrices.
            double unseen = 0;  // Cost since the last look at time limits.
            for (Index n = 0; n <= largest; ++n) {
                const auto [begin, end] = size_class(a, plan, n);
                const Offset lanes = n <= 32 ? lane_alignment : 1;
                const auto boundary = [&, first = begin, count = end - begin](Offset p) {
                    const double position = (total * double(p) / double(parts) - before) / cost(n);
                    const Offset whole = Offset(std::clamp(position, 0.0, double(count)));
                    return first + (p == parts ? count : whole / lanes * lanes);
                };
                const Offset last = boundary(part + 1);
                for (Offset position = boundary(part); position < last; position += set.count) {
                    set.n = n;
                    set.count = Index(std::min<Offset>(max_set_size, last - position));
                    for (Index k = 0; k < set.count; ++k) {
                        set.members[k] =
                            plan != nullptr ? plan->order()[position + k] : Index(position) + k;
                    }
                    if (unseen > operations_between_looks) {
                        check_time();
                        unseen = 0;
                    }
                    f(set);
                    unseen += double(set.count) * cost(n);
                }
                before += double(end - begin) * cost(n);
            }
        });
    });
}

}  // namespace tessera
