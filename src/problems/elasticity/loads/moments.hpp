#pragma once

#include "problems/elasticity/loads/faces.hpp"

/// Moments on groups.
namespace tessera::elasticity {

/// Where and how the forces of a moment act: a x (x - centroid), per area or on each point.
struct SpreadMoment {
    Vector centroid{}, a{};
    Vector at(const Vector& x) const {
        const Vector r{x[0] - centroid[0], x[1] - centroid[1], x[2] - centroid[2]};
        return {a[1] * r[2] - a[2] * r[1], a[2] * r[0] - a[0] * r[2], a[0] * r[1] - a[1] * r[0]};
    }
};

/// visit(nodes, shape values, weight, position) at each point of a group: those of a rule in edges
/// or faces, or its own points.
template <class Visit>
void each_moment_point(const Model& model, const MeshGroup& group, Visit&& visit) {
    if (group.dimensions > 0) {
        each_point<Rule::error>(
            model, group,
            [&](auto nodes, const auto& values, const Vector& normal, const Vector& point) {
                visit(nodes, values, length(normal), point);
            });
        return;
    }
    for (const Cells& cells : group.cells) {
        for (const Index& node : cells.nodes) {
            visit(std::span<const Index>(&node, 1), std::array<double, 1>{1}, 1.,
                  point_of(model.mesh, node));
        }
    }
}

/// Throws InvalidArgument for groups without area or points, and for those all on one line or at
/// one place, where forces on them make no such moment.
SpreadMoment spread_moment(const Model& model, const MeshGroup& group, const Vector& moment);

/// visit(nodes, shape values, force) at each point of a moment on a group.
template <class Visit>
void each_moment_force(const Model& model, const MeshGroup& group, const Vector& moment,
                       Visit&& visit) {
    const SpreadMoment spread = spread_moment(model, group, moment);
    each_moment_point(model, group,
                      [&](auto nodes, const auto& values, double weight, const Vector& point) {
                          Vector force = spread.at(point);
                          for (double& component : force) component *= weight;
                          visit(nodes, values, force);
                      });
}

}  // namespace tessera::elasticity
