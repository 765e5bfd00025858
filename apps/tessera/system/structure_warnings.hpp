#pragma once

#include <string>
#include <vector>

#include "system/structure.hpp"

namespace tessera::cli {

/// What a structure's results may not show: loads that are zero or act on prescribed displacements,
/// and elements that are too stiff. One sentence each.
std::vector<std::string> structure_warnings(const Context& host, const Structure& structure);

}  // namespace tessera::cli
