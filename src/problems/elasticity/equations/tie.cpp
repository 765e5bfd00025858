#include <algorithm>
#include <limits>
#include <unordered_map>

#include "problems/elasticity/loads/faces.hpp"

// Nodes that follow the surface of another part at its nearest point.
namespace tessera::elasticity {

namespace {

/// A gap up to this part of a face's extent is closed.
constexpr double widest_gap = 0.1;

/// The nearest point of a surface, by the shape functions of its face.
struct Nearest {
    double distance = std::numeric_limits<double>::infinity();
    std::span<const Index> nodes;
    std::vector<double> weights;
};

/// Moves a point of the reference cell of a face into it.
template <CellShape S>
void clamp_to_cell(double (&at)[2]) {
    if constexpr (!is_simplex(S)) {
        for (double& x : at) x = std::clamp(x, -1., 1.);
    } else {
        const double beyond = at[0] + at[1] - 1;
        if (beyond > 0) {
            for (double& x : at) x -= beyond / 2;
        }
        for (double& x : at) x = std::clamp(x, 0., 1.);
    }
}

/// A step of the Gauss-Newton method, from products of the tangents with each other and with the
/// rest of the way.
template <int axes>
void add_step(const double (&products)[2][2], const double (&rests)[2], double (&at)[2]) {
    if constexpr (axes == 1) {
        at[0] += rests[0] / products[0][0];
    } else {
        const double determinant =
            products[0][0] * products[1][1] - products[0][1] * products[1][0];
        at[0] += (products[1][1] * rests[0] - products[0][1] * rests[1]) / determinant;
        at[1] += (products[0][0] * rests[1] - products[1][0] * rests[0]) / determinant;
    }
}

/// The nearest point of one edge or face, if it is nearer than what is known.
template <CellShape S>
void find_nearest(const Mesh& mesh, std::span<const Index> nodes, const Vector& point,
                  Nearest& nearest) {
    constexpr int count = node_count(S), axes = dimensions(S), d = axes + 1;
    double points[count][d];
    gather<S>(mesh, nodes, points);
    const ReferencePoint centre = centre_point(S);
    double at[2]{centre[0], centre[1]};
    double weights[count]{}, distance = 0;
    for (int step = 0; step < 30; ++step) {
        Dual<axes> x[2];
        for (int k = 0; k < axes; ++k) x[k] = Dual<axes>::variable(k, at[k]);
        double rest[d]{}, tangents[2][d]{};
        for (int i = 0; i < d; ++i) rest[i] = point[std::size_t(i)];
        for (int c = 0; c < count; ++c) {
            const Dual<axes> function = shape_function<S>(c, x);
            weights[c] = function.value;
            for (int i = 0; i < d; ++i) {
                rest[i] -= function.value * points[c][i];
                for (int k = 0; k < axes; ++k) {
                    tangents[k][i] += function.slopes[k] * points[c][i];
                }
            }
        }
        double products[2][2]{}, rests[2]{}, squares = 0;
        for (int i = 0; i < d; ++i) {
            squares += rest[i] * rest[i];
            for (int k = 0; k < axes; ++k) {
                rests[k] += tangents[k][i] * rest[i];
                for (int l = 0; l < axes; ++l) products[k][l] += tangents[k][i] * tangents[l][i];
            }
        }
        distance = std::sqrt(squares);
        const double before[2]{at[0], at[1]};
        add_step<axes>(products, rests, at);
        clamp_to_cell<S>(at);
        if (std::hypot(at[0] - before[0], at[1] - before[1]) < 1e-14) break;
    }
    if (!(distance < nearest.distance)) return;
    nearest = {distance, nodes, {std::begin(weights), std::end(weights)}};
}

/// The edges or faces of a group, found by boxes of space that they reach.
class Surface {
  public:
    Surface(const Mesh& mesh, const MeshGroup& group) : mesh_(mesh) {
        for (const Cells& cells : group.cells) {
            const auto count = std::size_t(node_count(cells.shape));
            for (std::size_t at = 0; at < cells.nodes.size(); at += count) {
                faces_.push_back({cells.shape, std::span(cells.nodes).subspan(at, count)});
                size_ = std::max(size_, extent(faces_.back()));
            }
        }
        require(size_ > 0 && std::isfinite(size_), "group '", group.name,
                "' has no faces of a finite extent to tie nodes to");
        size_ *= 1 + 2 * widest_gap;
        for (std::size_t k = 0; k < faces_.size(); ++k) {
            Vector low{}, high{};
            bounds(faces_[k], low, high);
            const double margin = widest_gap * extent(faces_[k]);
            for (std::size_t i = 0; i < 3; ++i) {
                low[i] -= margin;
                high[i] += margin;
            }
            const auto first = box_of(low), last = box_of(high);
            for (auto x = first[0]; x <= last[0]; ++x) {
                for (auto y = first[1]; y <= last[1]; ++y) {
                    for (auto z = first[2]; z <= last[2]; ++z) {
                        boxes_[key({x, y, z})].push_back(k);
                    }
                }
            }
        }
    }

    /// Without nodes where no face is near enough.
    Nearest nearest(const Vector& point) const {
        Nearest found;
        const auto box = boxes_.find(key(box_of(point)));
        if (box == boxes_.end()) return {};
        double gap = 0;
        for (const std::size_t k : box->second) {
            const double before = found.distance;
            select_shape<CellShape::segment, CellShape::segment3, CellShape::triangle,
                         CellShape::triangle6, CellShape::quadrilateral, CellShape::quadrilateral8,
                         CellShape::quadrilateral9>(faces_[k].shape, [&](auto shape) {
                find_nearest<decltype(shape)::value>(mesh_, faces_[k].nodes, point, found);
            });
            if (found.distance < before) gap = widest_gap * extent(faces_[k]);
        }
        return found.distance <= gap ? found : Nearest{};
    }

  private:
    struct Face {
        CellShape shape;
        std::span<const Index> nodes;
    };
    using Box = std::array<Offset, 3>;

    void bounds(const Face& face, Vector& low, Vector& high) const {
        low = high = point_of(mesh_, face.nodes[0]);
        for (const Index node : face.nodes) {
            const Vector x = point_of(mesh_, node);
            for (std::size_t i = 0; i < 3; ++i) {
                low[i] = std::min(low[i], x[i]);
                high[i] = std::max(high[i], x[i]);
            }
        }
    }
    double extent(const Face& face) const {
        Vector low{}, high{};
        bounds(face, low, high);
        return std::hypot(high[0] - low[0], high[1] - low[1], high[2] - low[2]);
    }
    Box box_of(const Vector& x) const {
        Box box{};
        for (std::size_t i = 0; i < 3; ++i) box[i] = Offset(std::floor(x[i] / size_));
        return box;
    }
    /// Boxes far from each other may have the same one.
    static std::uint64_t key(const Box& box) {
        constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;
        return (std::uint64_t(box[0]) * odd + std::uint64_t(box[1])) * odd + std::uint64_t(box[2]);
    }

    const Mesh& mesh_;
    std::vector<Face> faces_;
    double size_ = 0;  ///< The length of a box: about the extent of the largest face.
    std::unordered_map<std::uint64_t, std::vector<std::size_t>> boxes_;
};

}  // namespace

std::vector<Equation> tie(const Mesh& mesh, const std::string& group, const std::string& onto) {
    require(group != onto, "group '", group, "' cannot be tied to itself");
    const MeshGroup &tied = mesh.group(group), &target = mesh.group(onto);
    check_nodes(mesh, tied);
    check_nodes(mesh, target);
    require(target.dimensions == mesh.dimensions - 1, "group '", onto, "' has no ",
            mesh.dimensions == 2 ? "edges" : "faces", " that '", group, "' could be tied to");
    std::vector<Index> nodes, shared;
    for (const Cells& cells : tied.cells) {
        nodes.insert(nodes.end(), cells.nodes.begin(), cells.nodes.end());
    }
    for (const Cells& cells : target.cells) {
        shared.insert(shared.end(), cells.nodes.begin(), cells.nodes.end());
    }
    for (auto* const list : {&nodes, &shared}) {
        std::ranges::sort(*list);
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
    const Surface surface(mesh, target);
    std::vector<Equation> equations;
    for (const Index node : nodes) {
        if (std::ranges::binary_search(shared, node)) continue;
        const Vector at = point_of(mesh, node);
        const Nearest found = surface.nearest(at);
        if (found.nodes.empty()) {
            std::string text;
            for (int i = 0; i < mesh.dimensions; ++i) {
                text += (i > 0 ? ", " : "") + number_text(at[std::size_t(i)]);
            }
            throw InvalidArgument(concat("node ", node, " at (", text, ") of '", group,
                                         "' is farther from '", onto, "' than a tenth of its ",
                                         mesh.dimensions == 2 ? "edges" : "faces",
                                         "; name the groups of the surfaces where parts touch"));
        }
        for (int i = 0; i < mesh.dimensions; ++i) {
            Equation equation{concat("tie ", group, "=", onto), {{node, i, 1}}};
            for (std::size_t c = 0; c < found.nodes.size(); ++c) {
                if (std::abs(found.weights[c]) < 1e-10) continue;
                equation.terms.push_back({found.nodes[c], i, -found.weights[c]});
            }
            equations.push_back(std::move(equation));
        }
    }
    return equations;
}

}  // namespace tessera::elasticity
