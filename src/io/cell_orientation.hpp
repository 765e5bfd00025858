#pragma once

#include <span>

#include "tessera/mesh.hpp"

namespace tessera::io {

/// The sign of the Jacobian of a triangle or quadrilateral (in x and y), a tetrahedron or a
/// hexahedron at its corners: 1 or -1 where all corners agree; 0 where they do not or one is zero
/// within rounding, so that the element has no volume or folds over. `corners` holds x, y, z of
/// each.
int orientation(CellShape shape, std::span<const double> corners);

/// Renumbers the corners of a cell so that it stands the other way round.
void turn_round(CellShape shape, Index* nodes);

}  // namespace tessera::io
