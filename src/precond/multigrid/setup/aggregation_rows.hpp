#pragma once

#include <cstdint>

#include "base/for_each.hpp"
#include "precond/multigrid/setup/node_graph.hpp"

// Loop bodies that find aggregates.

namespace tessera::multigrid {

/// Of a node in the search for roots.
enum class NodeState : std::uint8_t { open, root, covered };

/// Those of open nodes are between that of a root and that of a covered node.
using Priority = std::uint64_t;
inline constexpr Priority of_root = 0, of_covered = ~Priority(0);

/// A bijection of 32-bit numbers for each round (the finaliser "lowbias32" of C. Wellons).
TESSERA_HOST_DEVICE inline std::uint32_t hash(Index node, int round) {
    std::uint32_t v = std::uint32_t(node) + 1 + 0x9E3779B9u * std::uint32_t(round + 1);
    v ^= v >> 16;
    v *= 0x7FEB352Du;
    v ^= v >> 15;
    v *= 0x846CA68Bu;
    return v ^ (v >> 16);
}

TESSERA_HOST_DEVICE inline Priority priority(Index node, NodeState state, int round) {
    if (state == NodeState::root) return of_root;
    if (state == NodeState::covered) return of_covered;
    return (Priority(hash(node, round)) << 31) + Priority(node) + 1;
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

/// Nodes with an aggregate take no part in a search.
struct BeginSearch {
    static constexpr int work = 4;
    const Index* aggregate_of;
    NodeState* states;
    Priority* smallest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const bool open = aggregate_of[i] < 0;
        states[i] = open ? NodeState::open : NodeState::covered;
        smallest[i] = open ? of_root : of_covered;
    }
};

/// The smallest priority within an edge; that of a covered node next to a root and, as nobody
/// asks, for nodes with an aggregate. A node that was covered stays so.
struct SmallestNearby {
    static constexpr int work = 32;
    NodeGraphView graph;
    const NodeState* states;
    int round;
    Priority* smallest;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (smallest[i] == of_covered) return;
        Priority least = of_covered;
        visit_neighbours(graph, i, [&](Index j, Offset) {
            const Priority found = priority(j, states[j], round);
            if (found < least) least = found;
        });
        smallest[i] = least == of_root ? of_covered : least;
    }
};

/// A node whose priority is the smallest within two edges becomes a root; one within two edges of
/// a root is covered.
struct Decide {
    static constexpr int work = 32;
    NodeGraphView graph;
    const Index* aggregate_of;
    const Priority* smallest;
    int round;
    NodeState* states;
    int* open;  ///< Set while nodes are left.

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (states[i] != NodeState::open) return;
        Priority low = of_covered, high = 0;
        visit_neighbours(graph, i, [&](Index j, Offset) {
            if (aggregate_of[j] >= 0) return;
            if (smallest[j] < low) low = smallest[j];
            if (smallest[j] > high) high = smallest[j];
        });
        const Priority own = priority(Index(i), NodeState::open, round);
        if (high == of_covered) {
            states[i] = NodeState::covered;
        } else if (low == own && high == own) {
            states[i] = NodeState::root;
        } else {
            raise_flag(open);
        }
    }
};

/// 1 for the roots with enough neighbours without an aggregate, else 0.
struct MarkRoots {
    static constexpr int work = 32;
    NodeGraphView graph;
    const Index* aggregate_of;
    const NodeState* states;
    int least_neighbours;
    Index* marks;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        int count = 0;
        if (states[i] == NodeState::root) {
            visit_neighbours(graph, i, [&](Index j, Offset) { count += aggregate_of[j] < 0; });
        }
        marks[i] = states[i] == NodeState::root && count >= least_neighbours;
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

/// A node without an aggregate joins that of its neighbours to which its weights sum to most.
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

/// The aggregates of those nodes, one after the other.
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
