#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>

#include "base/concat.hpp"
#include "base/host_memory/host_memory.hpp"
#include "tessera/detail/cells.hpp"

namespace tessera::meshes {

namespace {

/// Adds nodes in the middle of corners; cells with the same corners get the same node.
class MiddleNodes {
  public:
    explicit MiddleNodes(Mesh& mesh) : mesh_(mesh) {}

    /// The node in the middle of those corners of a cell that are in `corner_bits`. Throws
    /// InvalidArgument when there are too many.
    Index between(std::span<const Index> corners, unsigned corner_bits) {
        std::array<Index, 8> key;
        key.fill(-1);
        std::size_t count = 0;
        for (std::size_t k = 0; k < corners.size(); ++k) {
            if (corner_bits >> k & 1) key[count++] = corners[k];
        }
        std::ranges::sort(key, std::greater());
        const auto [entry, is_new] = nodes_.try_emplace(key, mesh_.node_count());
        if (!is_new) return entry->second;
        require(entry->second < std::numeric_limits<Index>::max(),
                "the mesh of second order has more than 2^31 - 1 nodes");
        const auto d = std::size_t(mesh_.dimensions);
        for (std::size_t i = 0; i < d; ++i) {
            double sum = 0;
            for (std::size_t k = 0; k < count; ++k) {
                sum += mesh_.points[std::size_t(key[k]) * d + i];
            }
            mesh_.points.push_back(sum / double(count));
        }
        return entry->second;
    }

  private:
    Mesh& mesh_;
    std::map<std::array<Index, 8>, Index> nodes_;
};

void check(const Cells& cells, bool centres) {
    const CellShape shape = cells.shape;
    require(is_first_order(shape) && shape != CellShape::pyramid &&
                !(shape == CellShape::prism && centres),
            "cells of shape ", to_string(shape), " have none of second order",
            shape == CellShape::prism ? " with centres" : "");
}

void raise(Cells& cells, bool centres, MiddleNodes& middles) {
    const CellShape shape = second_order(cells.shape, centres);
    const auto count = std::size_t(corners(cells.shape));
    std::vector<Index> nodes;
    nodes.reserve(cells.nodes.size() / count * std::size_t(node_count(shape)));
    for (std::size_t at = 0; at < cells.nodes.size(); at += count) {
        const auto own = std::span<const Index>(cells.nodes).subspan(at, count);
        nodes.insert(nodes.end(), own.begin(), own.end());
        for (int node = corners(shape); node < node_count(shape); ++node) {
            nodes.push_back(middles.between(own, corners_of_node(shape, node)));
        }
    }
    cells = {shape, std::move(nodes)};
}

}  // namespace

Mesh second_order(const Mesh& mesh, bool centres) {
    validate(mesh);
    for (const Cells& cells : mesh.elements) check(cells, centres);
    double nodes = 0;  // New ones of all elements.
    for (const Cells& cells : mesh.elements) {
        nodes += double(cells.nodes.size()) / corners(cells.shape) *
                 (node_count(second_order(cells.shape, centres)) - corners(cells.shape));
    }
    // Elements share them: about `dimensions` or more have a node, an entry of 100 bytes in a map.
    require_host_memory("a mesh of second order",
                        nodes * (double(sizeof(Index)) + 100. / mesh.dimensions));
    Mesh raised = mesh;
    MiddleNodes middles(raised);
    for (Cells& cells : raised.elements) raise(cells, centres, middles);
    for (MeshGroup& group : raised.groups) {
        for (Cells& cells : group.cells) {
            if (cells.shape == CellShape::point) continue;
            require(cells.nodes.size() % std::size_t(corners(cells.shape)) == 0, "group '",
                    group.name, "' has half a cell");
            for (const Index node : cells.nodes) {
                require(node >= 0 && node < mesh.node_count(), "group '", group.name,
                        "' names node ", node, "; the mesh has ", mesh.node_count(),
                        " nodes, counted from 0");
            }
            check(cells, centres);
            raise(cells, centres, middles);
        }
    }
    return raised;
}

}  // namespace tessera::meshes
