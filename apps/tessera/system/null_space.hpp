#pragma once

#include <string>

#include "tessera/amg.hpp"

namespace tessera::cli {

/// The null space that a text names for a matrix of `rows`: constant | rigid_body | FILE of n x k
/// numbers; empty: none. rigid_body needs the coordinates of all nodes. Throws InvalidArgument for
/// other texts.
NearNullSpace parse_null_space(const std::string& text, Index rows,
                               const NodeCoordinates& coordinates);

}  // namespace tessera::cli
