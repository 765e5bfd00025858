#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "io/gmsh/gmsh.hpp"

/// The nodes and elements of a Gmsh file by their dimensions.
namespace tessera::io {

/// The nodes of a file in the order of their tags.
class NodeTable {
  public:
    explicit NodeTable(const GmshFile& file) : file_(file), order_(file.nodes.tags.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t(0));
        const auto tag_of = [&](std::size_t node) { return file.nodes.tags[node]; };
        if (!std::ranges::is_sorted(file.nodes.tags)) {
            std::ranges::stable_sort(order_, {}, tag_of);
        }
        const auto twice = std::ranges::adjacent_find(order_, {}, tag_of);
        if (twice != order_.end()) {
            file.fail(file.nodes.locations[twice[1]], "node ", tag_of(*twice), " is listed twice");
        }
        consecutive_tags_ = !order_.empty() && tag(size() - 1) - tag(0) == Offset(size()) - 1;
    }

    std::size_t size() const { return order_.size(); }
    /// x, y, z of the node number k in this order.
    const double* point(std::size_t k) const { return &file_.nodes.points[3 * order_[k]]; }

    /// The number of node c of an element in this order.
    std::size_t node(const GmshElements& elements, CellShape shape, std::size_t e, int c) const {
        const Offset node = elements.nodes[e * std::size_t(node_count(shape)) + std::size_t(c)];
        const auto tag_of = [&](std::size_t k) { return file_.nodes.tags[k]; };
        const auto k =
            std::size_t(consecutive_tags_
                            ? std::clamp(node - tag(0), Offset(0), Offset(size()) - 1)
                            : std::ranges::lower_bound(order_, node, {}, tag_of) - order_.begin());
        if (k < size() && tag(k) == node) return k;
        file_.fail(elements.locations[e], "element ", elements.tags[e], " has the node ", node,
                   ", which $Nodes does not list");
    }

  private:
    Offset tag(std::size_t k) const { return file_.nodes.tags[order_[k]]; }

    const GmshFile& file_;
    std::vector<std::size_t> order_;
    bool consecutive_tags_ = false;
};

/// The dimensions of its elements: 3 where there are solid ones, else 2. Throws where there are
/// neither.
inline int mesh_dimensions(const GmshFile& file) {
    const auto has = [&](CellShape shape) { return !file.elements[int(shape)].tags.empty(); };
    for (const int dimensions : {3, 2}) {
        for (int s = 0; s < cell_shape_count; ++s) {
            if (tessera::dimensions(CellShape(s)) == dimensions && has(CellShape(s))) {
                return dimensions;
            }
        }
    }
    file.fail(0,
              "the mesh has no triangles, quadrilaterals or solid elements; where there are "
              "physical groups Gmsh saves nothing else, so that the material needs one too (or set "
              "Mesh.SaveAll = 1)");
}

/// visit(shape, elements) for the elements of this dimension.
template <class Visit>
void each_shape(const GmshFile& file, int dimensions, Visit&& visit) {
    for (int s = 0; s < cell_shape_count; ++s) {
        const GmshElements& elements = file.elements[s];
        const bool wanted = tessera::dimensions(CellShape(s)) == dimensions;
        if (wanted && !elements.tags.empty()) visit(CellShape(s), elements);
    }
}

}  // namespace tessera::io
