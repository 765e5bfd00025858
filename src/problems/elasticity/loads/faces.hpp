#pragma once

#include "problems/elasticity/elements/elements.hpp"

/// Edges of plane and faces of solid elements.
namespace tessera::elasticity {

inline double dot(const Vector& a, const Vector& b) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

inline double length(const Vector& v) { return std::hypot(v[0], v[1], v[2]); }

inline Vector point_of(const Mesh& mesh, Index node) {
    Vector point{};
    for (int i = 0; i < mesh.dimensions; ++i) {
        point[i] = mesh.points[std::size_t(node) * mesh.dimensions + i];
    }
    return point;
}

/// Throws InvalidArgument for cells with unknown nodes.
inline void check_nodes(const Mesh& mesh, const MeshGroup& group) {
    for (const Cells& cells : group.cells) {
        require(cells.nodes.size() % std::size_t(node_count(cells.shape)) == 0, "cells of group '",
                group.name, "' of shape ", to_string(cells.shape), " name ", cells.nodes.size(),
                " nodes, not a multiple of ", node_count(cells.shape));
        for (const Index node : cells.nodes) {
            require(node >= 0 && node < mesh.node_count(), "group '", group.name, "' names node ",
                    node, "; the mesh has ", mesh.node_count(), " nodes, counted from 0");
        }
    }
}

/// visit(nodes, shape values, normal, position) at each point of a rule in cells of shape S, edges
/// or faces in D dimensions; the lengths of the normals add up to their area. They point to the
/// side from which the corners run counterclockwise, of an edge to its right.
template <Rule rule, CellShape S, int D, class Visit>
void each_point_of_shape(const Model& model, const Cells& cells, Visit&& visit) {
    constexpr int count = node_count(S);
    const auto& reference = reference_points<S, rule>();
    const Thickness thickness{model.thickness, model.plane == PlaneKind::axisymmetric};
    for (std::size_t at = 0; at < cells.nodes.size(); at += count) {
        const std::span<const Index> nodes(cells.nodes.data() + at, count);
        double points[count][D];
        gather<S>(model.mesh, nodes, points);
        for (int p = 0; p < point_count(S, rule); ++p) {
            double tangents[2][3]{};
            for (int k = 0; k < dimensions(S); ++k) {
                for (int c = 0; c < count; ++c) {
                    for (int i = 0; i < D; ++i) {
                        tangents[k][i] += reference.derivatives[p][c][k] * points[c][i];
                    }
                }
            }
            const Vector point = position<S>(reference, p, points);
            if (dimensions(S) == 1) tangents[1][2] = thickness.at(point[0]);
            const auto& [s, t] = tangents;
            const double weight = reference.weights[p];
            visit(nodes, reference.values[p],
                  Vector{weight * (s[1] * t[2] - s[2] * t[1]), weight * (s[2] * t[0] - s[0] * t[2]),
                         weight * (s[0] * t[1] - s[1] * t[0])},
                  point);
        }
    }
}

/// each_point_of_shape for all cells of a group of edges or faces.
template <Rule rule = Rule::stiffness, class Visit>
void each_point(const Model& model, const MeshGroup& group, Visit&& visit) {
    for (const Cells& cells : group.cells) {
        const auto visit_shape = [&](auto shape) {
            constexpr CellShape s = decltype(shape)::value;
            each_point_of_shape<rule, s, dimensions(s) + 1>(model, cells, visit);
        };
        select_shape<CellShape::segment, CellShape::segment3, CellShape::triangle,
                     CellShape::triangle6, CellShape::quadrilateral, CellShape::quadrilateral8,
                     CellShape::quadrilateral9>(cells.shape, visit_shape);
    }
}

/// Throws InvalidArgument unless the cells have `axes` dimensions and nodes with elements only;
/// `what` is on them, such as "the load", `needed` what they should be.
void check_cells(const Mesh& mesh, const MeshGroup& group, int axes, const std::string& what,
                 const std::string& needed, const NodeElements& node_elements);

/// The direction of a face of the surface, by its corners, as a part of the one element that has
/// it: 1 where its normal points out of it, -1 where into it. Throws InvalidArgument where no
/// element or two have the face; `what` begins the message, such as "the pressure on 'top'".
int outward_direction(const Elements& elements, const NodeElements& node_elements,
                      std::span<const Index> corner_nodes, const std::string& what);

/// visit(nodes, shape values, force) at each point of a pressure on a group of edges or faces.
template <class Visit>
void each_pressure(const Model& model, const Elements& elements, const NodeElements& node_elements,
                   const MeshGroup& group, double pressure, Visit&& visit) {
    const Index* cell = nullptr;
    int direction = 0;
    each_point(model, group,
               [&](auto nodes, const auto& values, const Vector& normal, const Vector&) {
                   if (nodes.data() != cell) {  // The first point of another cell.
                       cell = nodes.data();
                       const bool plane = model.mesh.dimensions == 2;
                       const auto triangle = nodes.size() == 3 || nodes.size() == 6;
                       const auto corner_nodes = nodes.first(plane ? 2 : triangle ? 3 : 4);
                       direction = outward_direction(elements, node_elements, corner_nodes,
                                                     "the pressure on '" + group.name + "'");
                   }
                   Vector force{};
                   for (std::size_t i = 0; i < 3; ++i) force[i] = -direction * pressure * normal[i];
                   visit(nodes, values, force);
               });
}

}  // namespace tessera::elasticity
