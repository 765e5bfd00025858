#include <cmath>

#include "base/dispatch.hpp"
#include "krylov/driver.hpp"
#include "krylov/recurrence.hpp"

namespace tessera {

void check_solve(Index rows, Index columns, std::size_t b_size, std::size_t x_size,
                 const SolveOptions& options) {
    require(rows == columns, "solve: the matrix must be square");
    require(b_size == std::size_t(rows) && x_size == b_size,
            "solve: b and x must have as many elements as the matrix has rows");
    require(std::isfinite(options.rtol) && options.rtol >= 0, "solve: rtol must be 0 or more");
    require(std::isfinite(options.atol) && options.atol >= 0, "solve: atol must be 0 or more");
    require(options.max_iterations >= 0, "solve: max_iterations must be 0 or more");
    require(options.max_seconds >= 0, "solve: max_seconds must be 0 or more");
    require(options.stagnation_window >= 0, "solve: stagnation_window must be 0 (off) or more");
    require(options.check_interval >= 0 && options.check_interval <= Recurrence<double>::ring,
            "solve: check_interval must be within 0..256");
}

}  // namespace tessera
