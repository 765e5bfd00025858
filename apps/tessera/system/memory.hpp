#pragma once

#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera::cli {

/// Bytes that a solve takes in the memory of its Context, about.
struct MemoryNeed {
    Offset matrix = 0;
    Offset preconditioner = 0;
    Offset vectors = 0;
    Offset total() const { return matrix + preconditioner + vectors; }
};

/// Estimates from sizes alone.
MemoryNeed estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value,
                           const SolverConfig& solver, const PreconditionerConfig& preconditioner);

/// Throws OutOfMemory that names both amounts and the way out if `need` exceeds `free` bytes.
void check_memory(const MemoryNeed& need, Offset free, bool on_gpu);

}  // namespace tessera::cli
