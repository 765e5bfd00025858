#include <algorithm>

#include "problems/elasticity/loads/faces.hpp"

// Equations of common constraints of groups.
namespace tessera::elasticity {

namespace {

/// Heights below this part of the extent of a group are rounding errors of its coordinates.
constexpr double flat = 1e-9;

/// The nodes of a group, ascending, at least two.
std::vector<Index> nodes_of(const Mesh& mesh, const std::string& name) {
    const MeshGroup& group = mesh.group(name);
    check_nodes(mesh, group);
    std::vector<Index> nodes;
    for (const Cells& cells : group.cells) {
        nodes.insert(nodes.end(), cells.nodes.begin(), cells.nodes.end());
    }
    std::ranges::sort(nodes);
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    require(nodes.size() > 1, "group '", name, "' has ",
            nodes.size() == 1 ? "one node" : "no nodes",
            ", which an equation cannot couple; it needs two or more");
    return nodes;
}

Vector sum_of(const Vector& a, double factor, const Vector& b) {
    return {a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]};
}

Vector product(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Two or three nodes of a group far from each other, in which positions and displacements of the
/// others are interpolated.
class Frame {
  public:
    Frame(const Mesh& mesh, const std::vector<Index>& nodes) : mesh_(mesh) {
        Vector centre{};
        for (const Index node : nodes) {
            centre = sum_of(centre, 1. / double(nodes.size()), point_of(mesh, node));
        }
        const auto add_farthest = [&](const auto& offset_of) {
            double largest = -1;
            Index found = nodes.front();
            for (const Index node : nodes) {
                const double away = length(offset_of(point_of(mesh, node)));
                if (!(away > largest)) continue;
                largest = away;
                found = node;
            }
            nodes_.push_back(found);
            return offset_of(point_of(mesh, found));
        };
        add_farthest([&](const Vector& x) { return sum_of(x, -1, centre); });
        origin_ = point_of(mesh, nodes_[0]);
        const Vector first = add_farthest([&](const Vector& x) { return sum_of(x, -1, origin_); });
        size_ = length(first);
        if (!(size_ > 0)) {  // All at one place.
            nodes_.pop_back();
            return;
        }
        for (std::size_t i = 0; i < 3; ++i) axes_[0][i] = first[i] / size_;
        normal_ = {-axes_[0][1], axes_[0][0], 0};
        if (mesh.dimensions == 2) return;
        normal_ = {};
        const Vector second = add_farthest([&](const Vector& x) {
            const Vector from = sum_of(x, -1, origin_);
            return sum_of(from, -dot(from, axes_[0]), axes_[0]);
        });
        height_ = length(second);
        if (!(height_ > flat * size_)) {  // All on one line.
            nodes_.pop_back();
            return;
        }
        for (std::size_t i = 0; i < 3; ++i) axes_[1][i] = second[i] / height_;
        normal_ = product(axes_[0], axes_[1]);
        third_ = dot(sum_of(point_of(mesh, nodes_[2]), -1, origin_), axes_[0]);
    }

    /// Two of them on a line, three of a body in space.
    const std::vector<Index>& nodes() const { return nodes_; }
    bool has_normal() const { return normal_ != Vector{}; }
    const Vector& normal() const { return normal_; }
    double size() const { return size_; }
    double height(Index node) const {
        return dot(sum_of(point_of(mesh_, node), -1, origin_), normal_);
    }
    /// The share of each node of the frame in the projection of a point.
    std::array<double, 3> weights(Index node) const {
        if (nodes_.size() == 1) return {1, 0, 0};
        const Vector from = sum_of(point_of(mesh_, node), -1, origin_);
        std::array<double, 3> found{};
        if (nodes_.size() == 3) found[2] = dot(from, axes_[1]) / height_;
        found[1] = (dot(from, axes_[0]) - third_ * found[2]) / size_;
        found[0] = 1 - found[1] - found[2];
        return found;
    }
    /// The derivatives of the weights along the line or the plane.
    std::array<Vector, 3> gradients() const {
        std::array<Vector, 3> found{};
        if (nodes_.size() == 1) return found;
        if (nodes_.size() == 3) found[2] = sum_of({}, 1 / height_, axes_[1]);
        found[1] = sum_of(sum_of({}, 1 / size_, axes_[0]), -third_ / size_, found[2]);
        found[0] = sum_of(sum_of({}, -1, found[1]), -1, found[2]);
        return found;
    }

  private:
    const Mesh& mesh_;
    std::vector<Index> nodes_;
    Vector origin_{}, normal_{};
    std::array<Vector, 2> axes_{};  ///< Along the line or the plane.
    double size_ = 0;               ///< From the first node to the second.
    double height_ = 0;             ///< The distance of the third node from the line.
    double third_ = 0;              ///< Where that is along the line.
};

/// Distances between the nodes of a frame do not change.
void add_distances(const Mesh& mesh, const Frame& frame, const std::string& name,
                   std::vector<Equation>& equations) {
    const std::vector<Index>& nodes = frame.nodes();
    for (std::size_t b = 1; b < nodes.size(); ++b) {
        for (std::size_t a = 0; a < b; ++a) {
            const Vector apart = sum_of(point_of(mesh, nodes[b]), -1, point_of(mesh, nodes[a]));
            Equation equation{name, {}};
            for (int i = 0; i < mesh.dimensions; ++i) {
                const double share = apart[std::size_t(i)] / length(apart);
                if (share == 0) continue;
                equation.terms.push_back({nodes[b], i, share});
                equation.terms.push_back({nodes[a], i, -share});
            }
            equations.push_back(std::move(equation));
        }
    }
}

}  // namespace

std::vector<Equation> equal_displacements(const Mesh& mesh, const std::string& group,
                                          const std::array<bool, 3>& axes) {
    const std::vector<Index> nodes = nodes_of(mesh, group);
    std::vector<Equation> equations;
    for (std::size_t k = 1; k < nodes.size(); ++k) {
        for (int i = 0; i < mesh.dimensions; ++i) {
            if (!axes[std::size_t(i)]) continue;
            equations.push_back({"couple " + group, {{nodes[k], i, 1}, {nodes[0], i, -1}}});
        }
    }
    return equations;
}

std::vector<Equation> rigid_body(const Mesh& mesh, const std::string& group, PlaneKind plane) {
    const std::vector<Index> nodes = nodes_of(mesh, group);
    const std::string name = "rigid " + group;
    std::vector<Equation> equations;
    if (mesh.dimensions == 2 && plane == PlaneKind::axisymmetric) {
        for (const Index node : nodes) {
            equations.push_back({name, {{node, 0, 1}}});
            if (node == nodes[0]) continue;
            equations.push_back({name, {{node, 1, 1}, {nodes[0], 1, -1}}});
        }
        return equations;
    }
    const Frame frame(mesh, nodes);
    add_distances(mesh, frame, name, equations);
    const std::array<Vector, 3> gradients = frame.gradients();
    const Vector& normal = frame.normal();
    for (const Index node : nodes) {
        if (std::ranges::find(frame.nodes(), node) != frame.nodes().end()) continue;
        const auto weights = frame.weights(node);
        const double height = frame.height(node);
        for (int i = 0; i < mesh.dimensions; ++i) {
            // The height turns with the normal, by the slopes of the displacements along it.
            Equation equation{name, {{node, i, 1}}};
            for (std::size_t a = 0; a < frame.nodes().size(); ++a) {
                for (int j = 0; j < mesh.dimensions; ++j) {
                    const double share =
                        (i == j ? weights[a] : 0) -
                        height * gradients[a][std::size_t(i)] * normal[std::size_t(j)];
                    if (std::abs(share) < 1e-14) continue;
                    equation.terms.push_back({frame.nodes()[a], j, -share});
                }
            }
            equations.push_back(std::move(equation));
        }
    }
    return equations;
}

std::vector<Equation> plane_stays_plane(const Mesh& mesh, const std::string& group) {
    const std::vector<Index> nodes = nodes_of(mesh, group);
    const Frame frame(mesh, nodes);
    const char* const kind = mesh.dimensions == 2 ? "on a line" : "in a plane";
    require(frame.has_normal() && nodes.size() > frame.nodes().size(), "group '", group,
            "' has too few nodes ", kind, " that could stay ", kind);
    std::vector<Equation> equations;
    for (const Index node : nodes) {
        if (std::ranges::find(frame.nodes(), node) != frame.nodes().end()) continue;
        require(std::abs(frame.height(node)) <= 1e-6 * frame.size(), "group '", group,
                "' does not lie ", kind, ": node ", node, " is ",
                number_text(std::abs(frame.height(node))), " away from it");
        const auto weights = frame.weights(node);
        Equation equation{"couple " + group, {}};
        const auto add = [&](Index of, double share) {
            for (int i = 0; i < mesh.dimensions; ++i) {
                const double part = share * frame.normal()[std::size_t(i)];
                if (std::abs(part) > 1e-14) equation.terms.push_back({of, i, part});
            }
        };
        add(node, 1);
        for (std::size_t a = 0; a < frame.nodes().size(); ++a) {
            add(frame.nodes()[a], -weights[a]);
        }
        equations.push_back(std::move(equation));
    }
    return equations;
}

}  // namespace tessera::elasticity
