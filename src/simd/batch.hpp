#pragma once

#include <algorithm>

#include "base/parallel.hpp"

// How the CPU kernels walk over a batch: parts of about equal work, one a thread, and in each of
// them sets of matrices of equal size, few enough for tables of their addresses on the stack.

namespace tessera {

/// Matrices of a set at most; whole vectors of lanes for every instruction set.
inline constexpr Index max_set_size = 128;

/// Boundaries between parts lie at multiples of this, so that most vectors of lanes are full.
inline constexpr Index lane_alignment = 16;

/// Values of each matrix that are in the lanes of vectors at a time, or one column, where only a
/// panel of columns is needed.
inline constexpr Index panel_values = 256;

/// What scratch is made of: room for one vector of any instruction set.
struct alignas(64) CacheLine {
    char bytes[64];
};

/// Matrices of a batch that have n rows each.
struct BatchSet {
    Index n = 0;
    Index count = 0;
    Index members[max_set_size];
};

/// Where matrix b, or its vectors, start.
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

/// The addresses of a set, repeated up to whole vectors of lanes: lanes without a matrix of their
/// own read the last one again.
template <class View>
void gather_addresses(const View& view, const BatchSet& set, decltype(view.values)* starts) {
    for (Index k = 0; k < set.count; ++k) starts[k] = start_of(view, set.members[k]);
    for (Index k = set.count; k % lane_alignment != 0; ++k) starts[k] = starts[set.count - 1];
}

/// Matrices of n rows are numbers begin .. end-1 of the plan, or of a batch of one size.
struct SizeClass {
    Offset begin = 0;
    Offset end = 0;
};
template <class View, class Plan>
SizeClass size_class(const View& a, const Plan* plan, Index n) {
    if (plan != nullptr) return {plan->begin(n), plan->begin(n + 1)};
    return n == a.size ? SizeClass{0, a.count} : SizeClass{0, 0};
}

/// work(for_sets) for every part of the batch; for_sets(f) calls f(set) for the part's matrices in
/// ascending order of size. cost(n) > 0 is the work of a matrix of n rows, in operations on values.
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
            double before = 0;  // Work of smaller matrices.
            for (Index n = 0; n <= largest; ++n) {
                const auto [begin, end] = size_class(a, plan, n);
                const Offset lanes = n <= 32 ? lane_alignment : 1;
                const auto boundary = [&, first = begin, count = end - begin](Offset p) {
                    const double wanted = (total * double(p) / double(parts) - before) / cost(n);
                    const Offset whole = Offset(std::clamp(wanted, 0.0, double(count)));
                    return first + (p == parts ? count : whole / lanes * lanes);
                };
                const Offset last = boundary(part + 1);
                for (Offset at = boundary(part); at < last; at += set.count) {
                    set.n = n;
                    set.count = Index(std::min<Offset>(max_set_size, last - at));
                    for (Index k = 0; k < set.count; ++k) {
                        set.members[k] = plan != nullptr ? plan->order()[at + k] : Index(at) + k;
                    }
                    f(set);
                }
                before += double(end - begin) * cost(n);
            }
        });
    });
}

}  // namespace tessera
