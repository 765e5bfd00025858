#pragma once

#include <cstdint>

#include "tessera/export.hpp"

namespace tessera {

/// Rows, columns and block starts. A matrix has at most 2^31 - 1 rows or columns.
using Index = std::int32_t;

/// Positions in arrays of values; a matrix may have more than 2^31 entries.
using Offset = std::int64_t;

/// "1.2.3" of this library, and the commit that it was built from, or "unknown".
TESSERA_API const char* version();
TESSERA_API const char* commit();

}  // namespace tessera
