#pragma once

#include "problems/elements.hpp"

namespace tessera::elasticity {

/// Sets `unknowns`, `held`, `natural_block` and `known_singular` of a system; returns its rows.
/// Throws InvalidArgument for groups that do not exist or have nodes that do not.
Index number_unknowns(const Model& model, const Elements& elements, System& system);

/// Adds the tractions of a model to the forces on its nodes, `dimensions` each. Throws
/// InvalidArgument for groups that do not exist, are no edges or faces, or are not on the elements.
void add_tractions(const Model& model, const NodeElements& node_elements, std::span<double> forces);

}  // namespace tessera::elasticity
