#pragma once

#include <limits>

#include "tessera/types.hpp"

namespace tessera::matching {

inline constexpr double infinite = std::numeric_limits<double>::infinity();

/// The assignment problem: costs of entries in compressed rows; an infinite cost is no entry.
struct Costs {
    Index rows;
    const Offset* row_offsets;
    const Index* columns;
    const double* costs;
};

}  // namespace tessera::matching
