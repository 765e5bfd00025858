#include "precond/multigrid/aggregates/aggregation.hpp"

#include "base/dispatch.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/aggregates/aggregation_rows.hpp"
#include "precond/multigrid/aggregates/strength_rows.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::multigrid {

namespace {

/// Symmetric graphs take some ten; others may have no end.
constexpr int max_rounds = 1000;

class Aggregation {
  public:
    Aggregation(const Context& context, const NodeGraph& graph)
        : context_(context),
          graph_(graph.view()),
          aggregate_of_(context, graph.nodes()),
          next_(context, graph.nodes()),
          marks_(context, graph.nodes()),
          states_(context, graph.nodes()),
          smallest_(context, graph.nodes()),
          numbers_(context, Offset(graph.nodes()) + 1),
          flag_(context, 1) {
        each_node(ClearAggregates{aggregate_of_.data()});
    }

    /// Roots among the nodes without an aggregate, which take their neighbours without one.
    void add_roots(int min_neighbours) {
        find_roots();
        each_node(
            MarkRoots{graph_, aggregate_of_.data(), states_.data(), min_neighbours, marks_.data()});
        const Index added = number_marks();
        each_node(TakeNeighbours{graph_, marks_.data(), numbers_.data(), count_,
                                 aggregate_of_.data(), next_.data()});
        std::swap(aggregate_of_, next_);
        count_ += added;
    }

    /// Nodes without an aggregate join those of their neighbours, in sweeps; those that no sweep
    /// reaches get one each, unless they are alone.
    void join_neighbours() {
        do {
            lower_flag();
            each_node(JoinStrongest{graph_, aggregate_of_.data(), next_.data(), flag_.data()});
            std::swap(aggregate_of_, next_);
        } while (flag_is_raised());
        each_node(MarkLeft{aggregate_of_.data(), graph_.alone, marks_.data()});
        const Index added = number_marks();
        each_node(NumberMarked{marks_.data(), numbers_.data(), count_, aggregate_of_.data()});
        count_ += added;
    }

    /// The aggregates with their members: the pattern of a transpose.
    Aggregates take() {
        each_node(MarkMembers{aggregate_of_.data(), marks_.data()});
        BsrMatrix<float> nodes(context_, graph_.nodes, count_, 1, 1, number_marks());
        nodes.row_offsets() = std::move(numbers_);
        each_node(CopyMembers{aggregate_of_.data(), nodes.row_offsets().data(),
                              nodes.column_indices().data()});
        fill<float>(context_, 0, nodes.values().view());
        BsrMatrix<float> members = transpose(context_, std::as_const(nodes).view());
        return {std::move(aggregate_of_), count_, std::move(nodes.row_offsets()),
                std::move(members.row_offsets()), std::move(members.column_indices())};
    }

  private:
    template <class F>
    void each_node(const F& f) const {
        for_each_index(context_, graph_.nodes, f);
    }
    void lower_flag() { context_.state().fill_bytes(flag_.data(), 0, sizeof(int)); }
    bool flag_is_raised() const { return copy_to_host(context_, flag_)[0] != 0; }
    /// Numbers of the marked nodes in numbers_; returns how many there are.
    Index number_marks() {
        exclusive_scan(context_, graph_.nodes, CountAt{marks_.data()}, numbers_.data());
        return Index(read_value(context_, numbers_.data() + graph_.nodes));
    }

    /// A maximal set of nodes without an aggregate, no two of them within two edges: a node whose
    /// priority is the smallest within two edges becomes a root and covers what is there.
    void find_roots() {
        // Rounds after the last one change nothing; a wait costs as much as some of them.
        const int rounds_per_wait = context_.on_gpu() ? 4 : 1;
        each_node(BeginSearch{aggregate_of_.data(), states_.data(), smallest_.data()});
        bool open = true;
        for (int round = 0; open;) {
            require(round < max_rounds, "amg: the matrix is not symmetric");
            for (int k = 0; k < rounds_per_wait; ++k, ++round) {
                if (k + 1 == rounds_per_wait) lower_flag();
                each_node(SmallestNearby{graph_, states_.data(), smallest_.data()});
                each_node(
                    Decide{graph_, smallest_.data(), round + 1, states_.data(), flag_.data()});
            }
            open = flag_is_raised();
        }
    }

    const Context& context_;
    const NodeGraphView graph_;
    Index count_ = 0;
    Buffer<Index> aggregate_of_, next_, marks_;
    Buffer<State> states_, smallest_;
    Buffer<Offset> numbers_;
    Buffer<int> flag_;
};

}  // namespace

Aggregates aggregate(const Context& context, const NodeGraph& graph, int second_pass) {
    Aggregation aggregation(context, graph);
    aggregation.add_roots(2);
    if (second_pass > 0) aggregation.add_roots(second_pass);
    aggregation.join_neighbours();
    Aggregates aggregates = aggregation.take();
    aggregates.has_dense = graph.has_dense;
    return aggregates;
}

}  // namespace tessera::multigrid
