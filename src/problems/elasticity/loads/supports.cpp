#include <limits>

#include "problems/elasticity/assembly/node_order.hpp"
#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"
#include "problems/elasticity/loads/moments.hpp"

namespace tessera::elasticity {

void check_cells(const Mesh& mesh, const MeshGroup& group, int axes, const std::string& what,
                 const std::string& needed, const NodeElements& node_elements) {
    check_nodes(mesh, group);
    for (const Cells& cells : group.cells) {
        require(dimensions(cells.shape) == axes, "group '", group.name, "' has a cell of shape ",
                to_string(cells.shape), "; ", needed);
        for (const Index node : cells.nodes) {
            require(!node_elements[node].empty(), what, " on '", group.name, "' is on node ", node,
                    ", which belongs to no element");
        }
    }
}

namespace {

/// The cell whose first nodes are `corner_nodes` as a face of an element: 1 where its normal points
/// out of the element, -1 where into it, 0 where it is none.
int direction_of_face(CellShape shape, std::span<const Index> element_nodes,
                      std::span<const Index> corner_nodes) {
    const int count = int(corner_nodes.size());
    for (int face = 0; face < face_count(shape); ++face) {
        if (corners(face_shape(shape, face)) != count) continue;
        const auto node = [&](int k) {
            return element_nodes[std::size_t(face_corner(shape, face, k % count))];
        };
        for (int first = 0; first < count; ++first) {
            if (node(first) != corner_nodes[0]) continue;
            bool is_same = true, is_reversed = true;
            for (int k = 1; k < count; ++k) {
                is_same = is_same && node(first + k) == corner_nodes[std::size_t(k)];
                is_reversed =
                    is_reversed && node(first + count - k) == corner_nodes[std::size_t(k)];
            }
            // The two corners of an edge have no cyclic order.
            if (count == 2 && is_same) return first == 0 ? 1 : -1;
            if (is_same) return 1;
            if (is_reversed) return -1;
        }
    }
    return 0;
}

constexpr const char* no_face = " and others, which are no face of an element";

/// Throws InvalidArgument where `what` is on an edge or a face that no element has.
void check_faces(const Elements& elements, const NodeElements& node_elements,
                 const MeshGroup& group, const char* what) {
    if (group.dimensions == 0) return;
    for (const Cells& cells : group.cells) {
        const auto size = std::size_t(node_count(cells.shape));
        for (std::size_t first = 0; first < cells.nodes.size(); first += size) {
            const auto corner_nodes =
                std::span(cells.nodes).subspan(first, std::size_t(corners(cells.shape)));
            const auto has_face = [&](Index element) {
                return direction_of_face(elements.shape(element), elements.nodes(element),
                                         corner_nodes) != 0;
            };
            require(std::ranges::any_of(node_elements[corner_nodes[0]], has_face), what, " on '",
                    group.name, "' is on the node ", corner_nodes[0], no_face);
        }
    }
}

}  // namespace

int outward_direction(const Elements& elements, const NodeElements& node_elements,
                      std::span<const Index> corner_nodes, const std::string& what) {
    int found = 0;
    Index owner = -1;
    for (const Index element : node_elements[corner_nodes[0]]) {
        const int direction =
            direction_of_face(elements.shape(element), elements.nodes(element), corner_nodes);
        if (direction == 0) continue;
        if (found != 0) {
            throw InvalidArgument(concat(what, " acts between ", elements.description(owner),
                                         " and another element; it needs the surface of the mesh"));
        }
        found = direction;
        owner = element;
    }
    require(found != 0, what, " is on the node ", corner_nodes[0], no_face);
    return found;
}

namespace {

/// Sums the forces of one load on each node, of which those of cells of second order partly cancel;
/// adds them to those of all loads, and finds their share on prescribed displacements.
class LoadSum {
  public:
    LoadSum(std::string group, const Mesh& mesh, const Thickness& thickness, const System& system)
        : mesh_(mesh),
          dimensions_(std::size_t(mesh.dimensions)),
          thickness_(thickness),
          unknowns_(system.unknowns),
          axes_of_nodes_(system, mesh.node_count()),
          forces_(system.unknowns.size(), 0),
          group_(std::move(group)) {}
    void add(Index node, int i, double value) {
        forces_[std::size_t(node) * dimensions_ + i] += value;
    }
    LoadShare add_to(std::span<double> all) const {
        LoadShare share{group_};
        double held_size = 0;
        for (std::size_t first = 0; first < forces_.size(); first += dimensions_) {
            Vector force{};
            for (std::size_t i = 0; i < dimensions_; ++i) {
                force[i] = forces_[first + i];
                all[first + i] += force[i];
                share.total[i] += force[i];
            }
            const Axes* const axes = axes_of_nodes_.find(Index(first / dimensions_));
            if (axes != nullptr) to_axes(*axes, dimensions_, force.data());
            for (std::size_t i = 0; i < dimensions_; ++i) {
                share.size += std::abs(force[i]);
                const bool on_axis = thickness_.on_axis(i, mesh_.points[first + i]);
                // On the axis radial forces cancel out.
                if (unknowns_[first + i] != -1 || on_axis) continue;
                held_size += std::abs(force[i]);
                for (std::size_t j = 0; j < dimensions_; ++j) {
                    share.held[j] += force[i] * (axes == nullptr ? double(i == j) : (*axes)[i][j]);
                }
            }
        }
        share.held_share = share.size > 0 ? held_size / share.size : 0;
        return share;
    }

  private:
    const Mesh& mesh_;
    std::size_t dimensions_;
    const Thickness& thickness_;
    std::span<const Index> unknowns_;
    AxesOfNodes axes_of_nodes_;
    std::vector<double> forces_;
    std::string group_;
};

/// Adds a traction to the forces on the nodes of its cells, in the order of the cells and nodes.
void add_traction(const Model& model, const MeshGroup& group, const Field& force, LoadSum& sum) {
    each_point(model, group,
               [&](auto nodes, const auto& values, const Vector& normal, const Vector& point) {
                   const double weight = length(normal);
                   const Vector value = force(point);
                   for (std::size_t c = 0; c < nodes.size(); ++c) {
                       for (int i = 0; i < model.mesh.dimensions; ++i) {
                           sum.add(nodes[c], i, weight * values[c] * value[i]);
                       }
                   }
               });
}

void add_force(const Model& model, const MeshGroup& group, const Vector& total, LoadSum& sum) {
    double size = 0;  // The area, or the number of points.
    const bool points = group.dimensions == 0;
    if (points) {
        for (const Cells& cells : group.cells) size += double(cells.nodes.size());
    } else {
        each_point(model, group, [&](auto, const auto&, const Vector& normal, const auto&) {
            size += length(normal);
        });
    }
    require(size > 0, "group '", group.name, points ? "' has no points" : "' has no area",
            " that could carry a force");
    Vector share = total;
    for (double& component : share) component /= size;
    if (!points) return add_traction(model, group, constant(share), sum);
    for (const Cells& cells : group.cells) {
        for (const Index node : cells.nodes) {
            for (int i = 0; i < model.mesh.dimensions; ++i) sum.add(node, i, share[i]);
        }
    }
}

void add_moment(const Model& model, const MeshGroup& group, const Vector& moment, LoadSum& sum) {
    each_moment_force(model, group, moment,
                      [&](auto nodes, const auto& values, const Vector& force) {
                          for (std::size_t c = 0; c < nodes.size(); ++c) {
                              for (int i = 0; i < model.mesh.dimensions; ++i) {
                                  sum.add(nodes[c], i, values[c] * force[i]);
                              }
                          }
                      });
}

void add_pressure(const Model& model, const Elements& elements, const NodeElements& node_elements,
                  const MeshGroup& group, double pressure, LoadSum& sum) {
    each_pressure(model, elements, node_elements, group, pressure,
                  [&](auto nodes, const auto& values, const Vector& force) {
                      for (std::size_t c = 0; c < nodes.size(); ++c) {
                          for (int i = 0; i < model.mesh.dimensions; ++i) {
                              sum.add(nodes[c], i, force[i] * values[c]);
                          }
                      }
                  });
}

/// Throws InvalidArgument unless there are none or `dimensions` values for each node.
void check_node_values(const Mesh& mesh, const char* what, const std::vector<double>& values) {
    require(values.empty() || values.size() == mesh.points.size(), "there are ", values.size(), " ",
            what, " of nodes, not ", mesh.points.size());
}

void add_node_forces(const Model& model, const NodeElements& node_elements, LoadSum& sum) {
    const int d = model.mesh.dimensions;
    for (Index node = 0; node < model.mesh.node_count(); ++node) {
        for (int i = 0; i < d; ++i) {
            const double value = model.node_forces[std::size_t(node) * d + i];
            require(value == 0 || !node_elements[node].empty(), "a force is on node ", node,
                    ", which belongs to no element");
            sum.add(node, i, value);
        }
    }
}

/// Prescribes the displacements of a support with its number, of a normal one along x, y or z.
void prescribe_group(const Model& model, const Thickness& thickness,
                     const NodeElements& node_elements, int number, System& system,
                     std::vector<int>& owners) {
    const Mesh& mesh = model.mesh;
    const auto d = std::size_t(mesh.dimensions);
    const FixedSupport& support = model.fixed_supports[std::size_t(number)];
    const MeshGroup& group = mesh.group(support.group);
    check_nodes(mesh, group);
    std::array<bool, 3> components = support.components;
    if (support.normal) {
        const int axis = normal_axis(mesh, support.group);
        for (int i = 0; i < 3; ++i) components[std::size_t(i)] = i == axis;
    }
    require(support.normal || support.displacement != nullptr, "the fixed support of group '",
            group.name, "' has no function of displacements");
    bool holds_an_element = false;
    for (const Cells& cells : group.cells) {
        for (const Index node : cells.nodes) {
            holds_an_element = holds_an_element || !node_elements[node].empty();
            const Vector value =
                support.normal ? Vector{} : support.displacement(point_of(mesh, node));
            for (std::size_t i = 0; i < d; ++i) {
                if (!components[i]) continue;
                const std::size_t k = std::size_t(node) * d + i;
                require(!thickness.on_axis(i, mesh.points[k]) || value[i] == 0,
                        "the fixed support of group '", support.group, "' moves node ", node,
                        " off the axis by ", number_text(value[i]),
                        "; the radial displacement is 0 there");
                system.unknowns[k] = -1;
                system.prescribed[k] = value[i];
                owners[k] = number;
            }
        }
    }
    require(holds_an_element, "the fixed support of group '", support.group,
            "' holds nothing: no element has a node of the group");
}

}  // namespace

NumberedUnknowns number_unknowns(const Model& model, const Elements& elements,
                                 const NodeElements& node_elements, const Thickness& thickness,
                                 System& system) {
    const Mesh& mesh = model.mesh;
    const std::size_t d = std::size_t(mesh.dimensions);
    std::vector<char> used(std::size_t(mesh.node_count()), 0);
    for (Index element = 0; element < elements.count(); ++element) {
        for (const Index node : elements.nodes(element)) used[node] = 1;
    }
    system.unknowns.resize(used.size() * d);
    system.prescribed.assign(used.size() * d, 0);
    for (std::size_t k = 0; k < system.unknowns.size(); ++k) {
        const bool free = used[k / d] && !thickness.on_axis(k % d, mesh.points[k]);
        system.unknowns[k] = free ? 0 : -1;
    }
    NumberedUnknowns numbered{0, std::vector<int>(used.size() * d, -1), {}};
    for (std::size_t k = 0; k < model.fixed_supports.size(); ++k) {
        prescribe_group(model, thickness, node_elements, int(k), system, numbered.owners);
    }
    check_node_values(mesh, "displacements", model.node_displacements);
    for (std::size_t k = 0; k < model.node_displacements.size(); ++k) {
        const double value = model.node_displacements[k];
        if (std::isnan(value)) continue;
        require(value == 0 || !thickness.on_axis(k % d, mesh.points[k]), "node ", k / d,
                " is on the axis, where its radial displacement is 0, not ", value);
        system.unknowns[k] = -1;
        system.prescribed[k] = value;
        numbered.owners[k] = int(model.fixed_supports.size());
    }
    add_inclined_supports(model, elements, node_elements, system, numbered.owners);
    numbered.equations = eliminate_equations(model, node_elements, system);
    Offset rows = 0;
    bool blocks = true;
    for (const Index node : order_nodes(elements)) {
        std::size_t free = 0;
        for (std::size_t i = 0; i < d; ++i) {
            Index& unknown = system.unknowns[std::size_t(node) * d + i];
            if (unknown < 0) continue;
            unknown = Index(rows++);
            ++free;
        }
        blocks = blocks && (free == 0 || free == d);
        require(rows <= std::numeric_limits<Index>::max() - 3,
                "the model has more than 2^31 - 1 unknowns");
    }
    system.natural_block = blocks ? mesh.dimensions : 1;
    numbered.rows = Index(rows);
    return numbered;
}

void add_surface_loads(const Model& model, const Elements& elements,
                       const NodeElements& node_elements, const Thickness& thickness,
                       std::span<double> forces, System& system) {
    const Mesh& mesh = model.mesh;
    const auto add = [&](const std::string& name, auto&& add_to) {
        LoadSum sum(name, mesh, thickness, system);
        add_to(sum);
        system.load_shares.push_back(sum.add_to(forces));
    };
    const char* const faces = mesh.dimensions == 2 ? "segments" : "faces";
    for (const auto& loaded : model.tractions) {
        const auto& traction = loaded.second;
        const MeshGroup& group = mesh.group(loaded.first);
        check_cells(mesh, group, mesh.dimensions - 1, "the load",
                    concat("a traction needs ", faces), node_elements);
        check_faces(elements, node_elements, group, "the traction");
        require(traction != nullptr, "the traction on group '", group.name, "' has no function");
        add(loaded.first, [&](LoadSum& sum) { add_traction(model, group, traction, sum); });
    }
    for (const auto& loaded : model.forces) {
        const MeshGroup& group = mesh.group(loaded.first);
        check_cells(mesh, group, group.dimensions == 0 ? 0 : mesh.dimensions - 1, "the load",
                    concat("a force needs ", faces, " or points"), node_elements);
        check_faces(elements, node_elements, group, "the force");
        add(loaded.first, [&](LoadSum& sum) { add_force(model, group, loaded.second, sum); });
    }
    for (const auto& loaded : model.moments) {
        const MeshGroup& group = mesh.group(loaded.first);
        check_cells(mesh, group, group.dimensions == 0 ? 0 : mesh.dimensions - 1, "the load",
                    concat("a moment needs ", faces, " or points"), node_elements);
        check_faces(elements, node_elements, group, "the moment");
        add(loaded.first, [&](LoadSum& sum) { add_moment(model, group, loaded.second, sum); });
        system.load_shares.back().moment = loaded.second;
    }
    for (const auto& loaded : model.pressures) {
        const MeshGroup& group = mesh.group(loaded.first);
        check_cells(mesh, group, mesh.dimensions - 1, "the load",
                    concat("a pressure needs ", faces), node_elements);
        add(loaded.first, [&](LoadSum& sum) {
            add_pressure(model, elements, node_elements, group, loaded.second, sum);
        });
    }
    for (const auto& spring : model.springs) {
        check_faces(elements, node_elements, mesh.group(spring.first), "the spring");
    }
    check_node_values(mesh, "forces", model.node_forces);
    if (!model.node_forces.empty()) {
        add("nodes", [&](LoadSum& sum) { add_node_forces(model, node_elements, sum); });
    }
}

}  // namespace tessera::elasticity
