#pragma once

#include "problems/elements.hpp"

namespace tessera::elasticity {

/// Sets `unknowns`, `held`, `natural_block` and `known_singular` of a system; returns its rows.
/// Throws InvalidArgument for groups that do not exist or have nodes that do not.
Index number_unknowns(const Model& model, const Elements& elements, System& system);

/// Adds the tractions and forces on groups of a model to the forces on its nodes, `dimensions`
/// each. Throws InvalidArgument for groups that do not exist, have cells of other shapes, no area,
/// or are not on the elements.
void add_surface_loads(const Model& model, const NodeElements& node_elements,
                       std::span<double> forces);

/// The thickness in two dimensions, else 1. Throws InvalidArgument unless it is positive and
/// finite.
double checked_thickness(const Model& model);

}  // namespace tessera::elasticity
