#include <algorithm>
#include <array>

#include "problems/elasticity/elements/elements.hpp"

namespace tessera::elasticity {

namespace {

/// An edge or a face of four corners, by its corners, descending and filled up with -1, and the
/// node in its middle; -1: none.
struct Side {
    std::array<Index, 4> corners{-1, -1, -1, -1};
    Index middle = -1;

    friend auto operator<=>(const Side&, const Side&) = default;
};

/// visit(side) for the edges and, of solid elements and their faces, the sides of four corners.
template <class Visit>
void each_side(CellShape shape, std::span<const Index> nodes, bool solid, Visit&& visit) {
    const auto visit_side = [&](std::initializer_list<int> corners) {
        Side side;
        unsigned bits = 0;
        std::size_t count = 0;
        for (const int corner : corners) {
            bits |= 1u << corner;
            side.corners[count++] = nodes[std::size_t(corner)];
        }
        std::ranges::sort(side.corners, std::greater());
        const int middle = node_between(shape, bits);
        if (middle >= 0) side.middle = nodes[std::size_t(middle)];
        visit(side);
    };
    if (dimensions(shape) == 1) return visit_side({0, 1});
    for (int face = 0; face < face_count(shape); ++face) {
        const int count = corners(face_shape(shape, face));
        const auto corner = [&](int k) { return face_corner(shape, face, k % count); };
        const int edges = count == 2 ? 1 : count;
        for (int k = 0; k < edges; ++k) visit_side({corner(k), corner(k + 1)});
        if (count == 4) visit_side({corner(0), corner(1), corner(2), corner(3)});
    }
    if (solid && dimensions(shape) == 2 && corners(shape) == 4) visit_side({0, 1, 2, 3});
}

bool has_second_order(const std::vector<Cells>& all) {
    return std::ranges::any_of(all, [](const Cells& cells) {
        return !cells.nodes.empty() && !is_first_order(cells.shape);
    });
}

}  // namespace

std::vector<NonconformingSide> find_nonconforming_sides(const Context& cpu, const Mesh& mesh) {
    const Elements elements(mesh);
    const auto is_curved = [](const MeshGroup& group) { return has_second_order(group.cells); };
    if (!has_second_order(mesh.elements) && std::ranges::none_of(mesh.groups, is_curved)) return {};
    const bool solid = mesh.dimensions == 3;
    std::vector<Side> of_groups;
    for (const MeshGroup& group : mesh.groups) {
        for (const Cells& cells : group.cells) {
            if (dimensions(cells.shape) == 0) continue;
            const auto count = std::size_t(node_count(cells.shape));
            for (std::size_t at = 0; at + count <= cells.nodes.size(); at += count) {
                const std::span<const Index> nodes(cells.nodes.data() + at, count);
                each_side(cells.shape, nodes, solid,
                          [&](const Side& side) { of_groups.push_back(side); });
            }
        }
    }
    std::ranges::sort(of_groups);
    const auto largest_corner = [](const Side& side) { return side.corners[0]; };
    const NodeElements node_elements(elements);
    constexpr Index range = 1024;
    std::vector<std::vector<NonconformingSide>> found(std::size_t(mesh.node_count() / range + 1));
    parallel_tasks(cpu.threads(), Offset(found.size()), [&](Offset part) {
        std::vector<Side> sides;
        const Index last = std::min<Index>(mesh.node_count(), Index(part + 1) * range);
        for (Index node = Index(part) * range; node < last; ++node) {
            sides.clear();
            for (const Index element : node_elements[node]) {
                each_side(elements.shape(element), elements.nodes(element), solid,
                          [&](const Side& side) {
                              if (side.corners[0] == node) sides.push_back(side);
                          });
            }
            const auto here = std::ranges::equal_range(of_groups, node, {}, largest_corner);
            sides.insert(sides.end(), here.begin(), here.end());
            std::ranges::sort(sides);
            for (std::size_t k = 1; k < sides.size(); ++k) {
                if (sides[k].corners != sides[k - 1].corners) continue;
                if (sides[k].middle == sides[k - 1].middle) continue;
                NonconformingSide side{{}, {sides[k - 1].middle, sides[k].middle}};
                for (const Index corner : sides[k].corners) {
                    if (corner >= 0) side.corners.push_back(corner);
                }
                found[std::size_t(part)].push_back(std::move(side));
            }
        }
    });
    std::vector<NonconformingSide> all;
    for (const auto& part : found) all.insert(all.end(), part.begin(), part.end());
    return all;
}

}  // namespace tessera::elasticity
