#pragma once

#include <algorithm>
#include <vector>

#include "problems/elasticity/assembly/node_order.hpp"
#include "problems/elasticity/equations/element_reduction.hpp"

/// The pattern of the matrix of a system.
namespace tessera::elasticity {

/// The nodes whose unknowns share an element with those of each node, the node itself among them,
/// by their places in an order: ascending places, of nodes in ranges of equal length one after the
/// other.
class Neighbours {
  public:
    static constexpr Index range = 1024;

    /// `node_elements` are those of the active nodes.
    Neighbours(const Context& cpu, const ActiveNodes& active, const NodeElements& node_elements,
               NodeOrder order)
        : order_(std::move(order)),
          ranges_(order_.nodes.size() / range + 1),
          ends_(order_.nodes.size()) {
        parallel_tasks(cpu.threads(), Offset(ranges_.size()), [&](Offset k) {
            std::vector<Index> near;
            for (Index place = Index(k) * range; place < end_of(k); ++place) {
                near.clear();
                for (const Index element : node_elements[order_.nodes[std::size_t(place)]]) {
                    for (const Index node : active(element)) near.push_back(place_of(node));
                }
                std::sort(near.begin(), near.end());
                near.erase(std::unique(near.begin(), near.end()), near.end());
                ranges_[k].insert(ranges_[k].end(), near.begin(), near.end());
                ends_[place] = ranges_[k].size();
            }
        });
    }

    /// The number of nodes.
    Index places() const { return Index(ends_.size()); }
    Index place_of(Index node) const { return order_.places[std::size_t(node)]; }
    Index node_at(Index place) const { return order_.nodes[std::size_t(place)]; }

    /// The places of the neighbours of the node at a place.
    std::span<const Index> operator[](Index place) const {
        const std::size_t first = place % range == 0 ? 0 : ends_[std::size_t(place) - 1];
        return std::span(ranges_[std::size_t(place / range)]).subspan(first, ends_[place] - first);
    }

    /// visit(place, places of its neighbours) for all nodes, by all threads.
    template <class Visit>
    void each(const Context& cpu, Visit&& visit) const {
        parallel_tasks(cpu.threads(), Offset(ranges_.size()), [&](Offset k) {
            for (Index place = Index(k) * range; place < end_of(k); ++place) {
                visit(place, (*this)[place]);
            }
        });
    }

  private:
    Index end_of(Offset k) const {
        return Index(std::min<Offset>((k + 1) * range, Offset(ends_.size())));
    }

    NodeOrder order_;
    std::vector<std::vector<Index>> ranges_;
    std::vector<std::size_t> ends_;  ///< The end of each node's neighbours in its range.
};

/// Where each row of the matrix begins: it has the unknowns of the neighbours of its node.
std::vector<Offset> find_row_offsets(const Context& cpu, const Neighbours& neighbours, int d,
                                     const System& system, Index rows);

}  // namespace tessera::elasticity
