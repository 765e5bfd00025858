#pragma once

#include "tessera/solver.hpp"

namespace tessera::cli {

/// Throws OutOfMemory that names both amounts and the remedy if `need` exceeds `free` bytes.
void check_memory(const MemoryEstimate& need, Offset free, bool on_gpu);

}  // namespace tessera::cli
