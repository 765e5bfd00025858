#pragma once

#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera::cli {

/// Approximate bytes that a solve needs in the memory of its Context.
struct MemoryEstimate {
    Offset matrix = 0;
    Offset preconditioner = 0;
    Offset vectors = 0;
    Offset total() const { return matrix + preconditioner + vectors; }
};

/// Estimates from sizes alone.
MemoryEstimate estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value,
                               const SolverConfig& solver,
                               const PreconditionerConfig& preconditioner);

/// Throws OutOfMemory that names both amounts and the remedy if `need` exceeds `free` bytes.
void check_memory(const MemoryEstimate& need, Offset free, bool on_gpu);

}  // namespace tessera::cli
