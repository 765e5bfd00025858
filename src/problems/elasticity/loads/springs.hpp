#pragma once

#include "problems/elasticity/elements/elements.hpp"

/// Springs between groups and the ground.
namespace tessera::elasticity {

/// The part of a spring on one edge, face or point.
struct SpringCell {
    std::size_t spring = 0;  ///< In Model::springs.
    std::span<const Index> nodes;
    /// Integrals of products of shape functions over the cell as parts of the area of the group,
    /// n x n numbers: times the stiffness of the spring along an axis that between two nodes.
    std::vector<double> products;
};

/// The parts of all springs of a model. Throws InvalidArgument for groups that do not exist, have
/// cells of other shapes, no area, or are not on the elements, and for stiffnesses below 0.
std::vector<SpringCell> find_springs(const Model& model, const NodeElements& node_elements);

/// visit(displacement, force) for the forces of a part of a spring on its nodes.
template <class Visit>
void each_spring_force(const Model& model, const SpringCell& cell,
                       std::span<const double> displacements, Visit&& visit) {
    const auto d = std::size_t(model.mesh.dimensions);
    const std::size_t n = cell.nodes.size();
    for (std::size_t k = 0; k < n * d; ++k) {
        double force = 0;
        for (std::size_t b = 0; b < n; ++b) {
            force -= model.springs[cell.spring].second[k % d] * cell.products[k / d * n + b] *
                     displacements[std::size_t(cell.nodes[b]) * d + k % d];
        }
        visit(std::size_t(cell.nodes[k / d]) * d + k % d, force);
    }
}

/// A sentence where supports on curved surfaces are all that holds a body against a motion along
/// them, which their nodes' normals hold by their errors only; else empty.
std::string curved_support_warning(const Model& model, const System& system);

/// The directions of all supports, ordered by nodes, and of springs.
std::vector<HeldDirection> find_held_directions(const Model& model,
                                                const std::vector<SpringCell>& springs,
                                                const System& system);

}  // namespace tessera::elasticity
