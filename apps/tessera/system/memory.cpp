#include "system/memory.hpp"

#include "report/text.hpp"

namespace tessera::cli {

void check_memory(const MemoryEstimate& need, Offset free, bool on_gpu) {
    if (need.total() <= free) return;
    const bool many_vectors = need.vectors > need.preconditioner;
    throw OutOfMemory("this solve needs about " + format_bytes(double(need.total())) + " (matrix " +
                      format_bytes(double(need.matrix)) + ", preconditioner " +
                      format_bytes(double(need.preconditioner)) + ", vectors " +
                      format_bytes(double(need.vectors)) + "), but " + format_bytes(double(free)) +
                      " are free on the " + (on_gpu ? "GPU" : "CPU") + "; try --precision f32, " +
                      (many_vectors ? "a solver with fewer vectors (cg, bicgstab, idr:2)"
                                    : "smaller blocks (--precond block_jacobi:8)") +
                      (on_gpu ? ", or --device cpu" : ", or a machine with more memory"));
}

}  // namespace tessera::cli
