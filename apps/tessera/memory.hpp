#pragma once

#include "tessera/spec.hpp"

namespace tessera::cli {

/// Bytes that a solve takes in the memory of its Context, about.
struct MemoryNeed {
    Offset matrix = 0;
    Offset preconditioner = 0;
    Offset vectors = 0;
    Offset total() const { return matrix + preconditioner + vectors; }
};

/// Whether this is the name of a polynomial preconditioner.
bool is_polynomial(const std::string& preconditioner);

/// Estimates from sizes alone. Blocks count as full, so the preconditioner's part is an upper
/// bound.
MemoryNeed estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value, Spec solver,
                           Spec preconditioner);

/// Throws OutOfMemory that names both amounts and the way out if `need` exceeds `free` bytes.
void check_memory(const MemoryNeed& need, Offset free, bool on_gpu);

}  // namespace tessera::cli
