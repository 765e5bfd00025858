#include "precond/multigrid/aggregation.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "base/dispatch.hpp"
#include "base/parallel.hpp"

namespace tessera::multigrid {

namespace {

/// Of a node in the search for roots; priorities are between the two.
using State = std::uint64_t;
/// Symmetric graphs take some ten; others may have no end.
constexpr int max_rounds = 1000;
constexpr State root = 0, covered = std::numeric_limits<State>::max();

/// A bijection of 32-bit numbers for each round (the finaliser "lowbias32" of C. Wellons).
std::uint32_t hash(Index node, int round) {
    std::uint32_t v = std::uint32_t(node) + 1 + 0x9E3779B9u * std::uint32_t(round + 1);
    v ^= v >> 16;
    v *= 0x7FEB352Du;
    v ^= v >> 15;
    v *= 0x846CA68Bu;
    return v ^ (v >> 16);
}

class Aggregation {
  public:
    Aggregation(const Context& context, const NodeGraph& graph)
        : context_(context),
          graph_(graph),
          states_(std::size_t(graph.nodes())),
          smallest_(states_) {
        result_.of_node.assign(states_.size(), -1);
    }

    /// Roots among the nodes without an aggregate, which take their neighbours without one.
    void add_roots(int least_neighbours) {
        find_roots();
        Index next = result_.count;
        std::vector<Index> number(states_.size(), -1);
        for (std::size_t i = 0; i < states_.size(); ++i) {
            if (states_[i] == root && free_neighbours(Index(i)) >= least_neighbours) {
                number[i] = next++;
            }
        }
        std::vector<Index> taken = result_.of_node;
        each_node([&](Index i) {
            if (has_aggregate(i)) return;
            visit(i, [&](Index j, float) {
                // At most one neighbour is a root.
                if (number[std::size_t(j)] >= 0) taken[std::size_t(i)] = number[std::size_t(j)];
            });
        });
        result_.of_node = std::move(taken);
        result_.count = next;
    }

    /// Nodes without an aggregate join those of their neighbours, in sweeps; those that no sweep
    /// reaches get one each.
    void join_neighbours() {
        std::atomic<bool> joined{true};
        while (joined.exchange(false)) {
            std::vector<Index> next = result_.of_node;
            each_node([&](Index i) {
                if (has_aggregate(i)) return;
                const Index best = strongest_aggregate(i);
                if (best < 0) return;
                next[std::size_t(i)] = best;
                joined = true;
            });
            result_.of_node = std::move(next);
        }
        for (Index& aggregate : result_.of_node) {
            if (aggregate < 0) aggregate = result_.count++;
        }
    }

    Aggregates take() { return std::move(result_); }

  private:
    bool has_aggregate(Index i) const { return result_.of_node[std::size_t(i)] >= 0; }

    /// f(j, weight) for the neighbours of a node, itself among them.
    template <class F>
    void visit(Index i, F&& f) const {
        const auto first = std::size_t(graph_.row_offsets[std::size_t(i)]);
        const auto last = std::size_t(graph_.row_offsets[std::size_t(i) + 1]);
        for (std::size_t k = first; k < last; ++k) f(graph_.neighbours[k], graph_.weights[k]);
    }
    template <class F>
    void each_node(F&& f) const {
        parallel_ranges(
            context_.threads(), graph_.nodes(),
            [&](Offset first, Offset last) {
                for (Offset i = first; i < last; ++i) f(Index(i));
            },
            1024);
    }

    int free_neighbours(Index i) const {
        int count = 0;
        visit(i, [&](Index j, float) { count += !has_aggregate(j); });
        return count;
    }

    /// A maximal set of nodes without an aggregate, no two of them within two edges: a node whose
    /// priority is the smallest within two edges becomes a root and covers what is there.
    void find_roots() {
        each_node(
            [&](Index i) { states_[std::size_t(i)] = has_aggregate(i) ? covered : root + 1; });
        std::atomic<bool> open{true};
        for (int round = 0; open.exchange(false); ++round, ++result_.rounds) {
            require(round < max_rounds, "aggregate: the graph is not symmetric");
            each_node([&](Index i) {
                State& state = states_[std::size_t(i)];
                if (state == root || state == covered) return;
                state = (State(hash(i, round)) << 31) + State(i) + 1;
            });
            each_node([&](Index i) {
                State least = covered;
                visit(i, [&](Index j, float) { least = std::min(least, states_[std::size_t(j)]); });
                smallest_[std::size_t(i)] = least == root ? covered : least;
            });
            each_node([&](Index i) {
                State& state = states_[std::size_t(i)];
                if (state == root || state == covered) return;
                State low = covered, high = 0;
                visit(i, [&](Index j, float) {
                    if (has_aggregate(j)) return;
                    low = std::min(low, smallest_[std::size_t(j)]);
                    high = std::max(high, smallest_[std::size_t(j)]);
                });
                if (high == covered) {
                    state = covered;
                } else if (low == state && high == state) {
                    state = root;
                } else {
                    open = true;
                }
            });
        }
    }

    /// The aggregate that the weights of a node's neighbours sum to most for; -1: none.
    Index strongest_aggregate(Index i) const {
        std::vector<std::pair<Index, float>> sums;
        visit(i, [&](Index j, float weight) {
            const Index aggregate = result_.of_node[std::size_t(j)];
            if (aggregate < 0) return;
            const auto found = std::ranges::find(sums, aggregate, &std::pair<Index, float>::first);
            if (found == sums.end()) {
                sums.emplace_back(aggregate, weight);
            } else {
                found->second += weight;
            }
        });
        Index best = -1;
        float largest = 0;
        for (const auto& [aggregate, sum] : sums) {
            if (best < 0 || sum > largest || (sum == largest && aggregate < best)) {
                best = aggregate;
                largest = sum;
            }
        }
        return best;
    }

    const Context& context_;
    const NodeGraph& graph_;
    std::vector<State> states_, smallest_;
    Aggregates result_;
};

}  // namespace

Aggregates aggregate(const Context& context, const NodeGraph& graph, int second_pass) {
    Aggregation aggregation(context, graph);
    aggregation.add_roots(0);
    if (second_pass > 0) aggregation.add_roots(second_pass);
    aggregation.join_neighbours();
    return aggregation.take();
}

}  // namespace tessera::multigrid
