#pragma once

#include <cstdint>

#include "base/for_each.hpp"
#include "precond/multigrid/aggregates/node_graph.hpp"

// Loop bodies that find aggregates.

namespace tessera::multigrid {

/// State of a node in the search for roots: root, covered, or a priority between these two.
using State = std::uint64_t;
inline constexpr State root = 0, covered = ~State(0);
/// The value in `smallest` for nodes that already have an aggregate.
inline constexpr State has_aggregate = covered - 1;

/// A bijection of 32-bit numbers for each round (the finaliser "lowbias32" of C. Wellons).
TESSERA_HOST_DEVICE inline std::uint32_t hash(Index node, int round) {
    std::uint32_t v = std::uint32_t(node) + 1 + 0x9E3779B9u * std::uint32_t(round + 1);
    v ^= v >> 16;
    v *= 0x7FEB352Du;
    v ^= v >> 15;
    v *= 0x846CA68Bu;
    return v ^ (v >> 16);
}

TESSERA_HOST_DEVICE inline State priority(Offset node, int round) {
    return (State(hash(Index(node), round)) << 31) + State(node) + 1;
}

/// f(j, k) for the neighbours j of a node, itself among them, at positions k.
template <class F>
TESSERA_HOST_DEVICE void visit_neighbours(const NodeGraphView& graph, Offset i, F&& f) {
    for (Offset k = graph.row_offsets[i]; k < graph.row_offsets[i + 1]; ++k) {
        f(graph.neighbours[k], k);
    }
}

/// No node has an aggregate.
struct ClearAggregates {
    static constexpr int work = 2;
    Index* aggregate_of;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { aggregate_of[i] = -1; }
};

/// Nodes with an aggregate take no part in a search; the others have the priorities of its first
/// round.
struct BeginSearch {
    static constexpr int work = 4;
    const Index* aggregate_of;
    State *states, *smallest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const bool open = aggregate_of[i] < 0;
        states[i] = open ? priority(i, 0) : covered;
        smallest[i] = open ? root : has_aggregate;  // `root`: found in each round.
    }
};

/// The smallest state among a node and its neighbours; `covered`, for good, next to a root.
struct SmallestNearby {
    static constexpr int work = 32;
    NodeGraphView graph;
    const State* states;
    State* smallest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (smallest[i] >= has_aggregate) return;
        State found = covered;
        visit_neighbours(graph, i, [&](Index j, Offset) {
            if (states[j] < found) found = states[j];
        });
        smallest[i] = found == root ? covered : found;
    }
};

/// A node whose priority is the smallest within two edges becomes a root; one within two edges of
/// a root is covered; the others get the priorities of the next round.
struct Decide {
    static constexpr int work = 32;
    NodeGraphView graph;
    const State* smallest;
    int next_round;
    State* states;
    int* open;  ///< Set while nodes are left.

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const State state = states[i];
        if (state == root || state == covered) return;
        State low = covered, high = 0;
        visit_neighbours(graph, i, [&](Index j, Offset) {
            const State near = smallest[j];
            if (near == has_aggregate) return;
            if (near < low) low = near;
            if (near > high) high = near;
        });
        if (high == covered) {
            states[i] = covered;
        } else if (low == state && high == state) {
            states[i] = root;
        } else {
            states[i] = priority(i, next_round);
            raise_flag(open);
        }
    }
};

/// 1 for the roots with enough neighbours without an aggregate, else 0.
struct MarkRoots {
    static constexpr int work = 32;
    NodeGraphView graph;
    const Index* aggregate_of;
    const State* states;
    int min_neighbours;
    Index* marks;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        int count = 0;
        if (states[i] == root) {
            visit_neighbours(graph, i, [&](Index j, Offset) { count += aggregate_of[j] < 0; });
        }
        marks[i] = states[i] == root && count >= min_neighbours;
    }
};

/// Nodes without an aggregate next to a marked root, at most one, get its number.
struct TakeNeighbours {
    static constexpr int work = 32;
    NodeGraphView graph;
    const Index* marks;
    const Offset* numbers;  ///< Marked roots before each node.
    Index first;
    const Index* aggregate_of;
    Index* next;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Index found = aggregate_of[i];
        if (found < 0) {
            visit_neighbours(graph, i, [&](Index j, Offset) {
                if (marks[j] != 0) found = first + Index(numbers[j]);
            });
        }
        next[i] = found;
    }
};

/// A node without an aggregate joins the neighbouring aggregate with the largest sum of weights.
struct JoinStrongest {
    static constexpr int work = 64;
    NodeGraphView graph;
    const Index* aggregate_of;
    Index* next;
    int* joined;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        next[i] = aggregate_of[i];
        if (aggregate_of[i] >= 0) return;
        Index best = -1;
        float largest = 0;
        visit_neighbours(graph, i, [&](Index j, Offset) {
            const Index aggregate = aggregate_of[j];
            if (aggregate < 0) return;
            float sum = 0;
            visit_neighbours(graph, i, [&](Index other, Offset k) {
                if (aggregate_of[other] == aggregate) sum += graph.weights[k];
            });
            if (best < 0 || sum > largest || (sum == largest && aggregate < best)) {
                best = aggregate;
                largest = sum;
            }
        });
        if (best < 0) return;
        next[i] = best;
        raise_flag(joined);
    }
};

/// 1 for nodes without an aggregate that are not alone.
struct MarkLeft {
    static constexpr int work = 2;
    const Index *aggregate_of, *alone;
    Index* marks;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        marks[i] = aggregate_of[i] < 0 && alone[i] == 0;
    }
};

/// 1 for nodes with an aggregate.
struct MarkMembers {
    static constexpr int work = 2;
    const Index* aggregate_of;
    Index* marks;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { marks[i] = aggregate_of[i] >= 0; }
};

/// The aggregates of the nodes that have one, one after the other.
struct CopyMembers {
    static constexpr int work = 2;
    const Index* aggregate_of;
    const Offset* positions;
    Index* columns;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (aggregate_of[i] >= 0) columns[positions[i]] = aggregate_of[i];
    }
};

/// Marked nodes get an aggregate each.
struct NumberMarked {
    static constexpr int work = 4;
    const Index* marks;
    const Offset* numbers;
    Index first;
    Index* aggregate_of;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (marks[i] != 0) aggregate_of[i] = first + Index(numbers[i]);
    }
};

}  // namespace tessera::multigrid
