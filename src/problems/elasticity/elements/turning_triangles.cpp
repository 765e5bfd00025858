#include <algorithm>
#include <cmath>
#include <limits>

#include "problems/elasticity/elements/elements.hpp"

namespace tessera::elasticity {

namespace {

/// Whether supports hold the motions t along the axis and w about the point (0, `height`) in the
/// plane, which move a node at (r, z) by (w (height - z), t + w r); true also where they hold not
/// even the first one, of which find_rigid_motions tells.
class TurningCheck {
  public:
    TurningCheck(double height, double size) : height_(height), size_(size) {}
    void hold(const double* point, const Vector& direction) {
        const double t = direction[1];
        const double w = (direction[0] * (height_ - point[1]) + direction[1] * point[0]) / size_;
        t_t_ += t * t;
        t_w_ += t * w;
        w_w_ += w * w;
    }
    bool is_held() const {
        constexpr double rounding = 1e-12;
        return t_t_ == 0 || t_t_ * w_w_ - t_w_ * t_w_ > rounding * t_t_ * (t_t_ + w_w_);
    }

  private:
    double height_, size_;
    double t_t_ = 0, t_w_ = 0, w_w_ = 0;  // Sums of products over the directions that are held.
};

}  // namespace

void check_turning_triangles(const Elements& elements, const NodeElements& node_elements,
                             const std::vector<HeldDirection>& held) {
    constexpr double same_height = 1e-6;  // Relative to the size of a part.
    const Mesh& mesh = elements.mesh();
    const auto point = [&](Index node) { return &mesh.points[std::size_t(node) * 2]; };
    std::vector<char> visited(std::size_t(elements.count()), 0);
    std::vector<Index> part_of_node(std::size_t(mesh.node_count()), -1), part;
    for (Index start = 0; start < elements.count(); ++start) {
        if (visited[std::size_t(start)]) continue;
        part.assign(1, start);
        visited[std::size_t(start)] = 1;
        double low = std::numeric_limits<double>::infinity(), high = -low, size = 0;
        bool triangles = true;
        for (std::size_t k = 0; k < part.size(); ++k) {
            const std::span<const Index> nodes = elements.nodes(part[k]);
            triangles = triangles && elements.shape(part[k]) == CellShape::triangle;
            double height = 0;
            for (const Index node : nodes) {
                height += point(node)[1] / double(nodes.size());
                size = std::max({size, std::abs(point(node)[0] - point(nodes[0])[0]),
                                 std::abs(point(node)[1] - point(nodes[0])[1])});
                if (part_of_node[std::size_t(node)] == start) continue;
                part_of_node[std::size_t(node)] = start;
                for (const Index other : node_elements[node]) {
                    if (visited[std::size_t(other)]) continue;
                    visited[std::size_t(other)] = 1;
                    part.push_back(other);
                }
            }
            low = std::min(low, height);
            high = std::max(high, height);
        }
        if (!triangles || high - low > same_height * size) continue;
        TurningCheck check((low + high) / 2, size);
        for (const auto& [node, direction] : held) {
            if (part_of_node[std::size_t(node)] == start) check.hold(point(node), direction);
        }
        require(check.is_held(), "the triangles around node ", elements.nodes(start)[0],
                " have their centres, the points of integration, at one height: turning in their "
                "plane strains nothing there; hold another node, or mesh with quadrilaterals, "
                "triangles of 6 nodes, or more triangles");
    }
}

}  // namespace tessera::elasticity
