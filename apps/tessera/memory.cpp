#include "memory.hpp"

#include <algorithm>

#include "tessera/blocks.hpp"
#include "tessera/krylov.hpp"
#include "text.hpp"

namespace tessera::cli {

namespace {

/// Scalars that a solver keeps, b and x included.
Offset scalar_count(Spec solver, Offset rows) {
    const std::string& name = solver.name();
    if (name == "gmres") {
        // A restart longer than the system is cut; the triangle of the projection is stored full.
        const Offset restart = std::min(solver.integer(std::size_t(0), 30, 1, 10000), rows);
        return rows * (5 + restart) + restart * restart;
    }
    // P, G and U of s vectors each, then r, v, t, z and the smoothed pair.
    if (name == "idr") return rows * (8 + 3 * solver.integer(std::size_t(0), 4, 1, 16));
    if (name == "minres") return rows * 11;
    return rows * (name == "bicgstab" ? 10 : name == "sqmr" ? 9 : 7);
}

/// A scaled copy of the matrix (with precision=f32 one in each precision) and vectors.
Offset polynomial_bytes(Spec preconditioner, Offset rows, Offset nonzeros, Offset matrix,
                        Offset bytes_per_value) {
    const bool single = preconditioner.word("precision", "working") == "f32";
    return matrix + (single ? nonzeros * 8 : 0) + rows * bytes_per_value * (single ? 6 : 5);
}

Offset block_entries_a_row(Spec preconditioner) {
    if (preconditioner.name() == "jacobi") return 1;
    // block_ldlt states its own need once it knows its pattern.
    if (preconditioner.name() != "block_jacobi") return 0;
    const Offset bound =
        preconditioner.integer(std::size_t(0), default_block_bound, 1, largest_block_bound);
    // Inverses in other formats are made from those in the type of the matrix.
    return preconditioner.word("precision", "working") == "working" ? bound : 2 * bound;
}

}  // namespace

bool is_polynomial(const std::string& preconditioner) {
    return preconditioner != "none" && preconditioner != "jacobi" &&
           preconditioner != "block_jacobi" && preconditioner != "block_ldlt";
}

MemoryNeed estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value, Spec solver,
                           Spec preconditioner) {
    const Offset n = rows;
    MemoryNeed need;
    need.matrix =
        (n + 1) * Offset(sizeof(Offset)) + nonzeros * (bytes_per_value + Offset(sizeof(Index)));
    need.preconditioner =
        is_polynomial(preconditioner.name())
            ? polynomial_bytes(std::move(preconditioner), n, nonzeros, need.matrix, bytes_per_value)
            : n * block_entries_a_row(std::move(preconditioner)) * bytes_per_value;
    if (solver.name() == "refinement") {
        // The matrix, the vectors of the inner solver and the preconditioner in float on top.
        need.matrix += (n + 1) * Offset(sizeof(Offset)) + nonzeros * 8;
        solver = Spec::parse(parse_refinement(solver).inner);
    }
    need.vectors = scalar_count(std::move(solver), n) * bytes_per_value;
    return need;
}

void check_memory(const MemoryNeed& need, Offset free, bool on_gpu) {
    if (need.total() <= free) return;
    const bool many_vectors = need.vectors > need.preconditioner;
    throw OutOfMemory("this solve needs about " + format_bytes(double(need.total())) + " (matrix " +
                      format_bytes(double(need.matrix)) + ", preconditioner " +
                      format_bytes(double(need.preconditioner)) + ", vectors " +
                      format_bytes(double(need.vectors)) + "), but " + format_bytes(double(free)) +
                      " are free on the " + (on_gpu ? "GPU" : "CPU") + "; try --precision f32, " +
                      (many_vectors ? "a solver that keeps fewer vectors (cg, bicgstab, idr:2)"
                                    : "smaller blocks (--precond block_jacobi:8)") +
                      (on_gpu ? ", or --device cpu" : ", or a machine with more memory"));
}

}  // namespace tessera::cli
