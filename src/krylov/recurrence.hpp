#pragma once

#include <cmath>
#include <limits>

#include "base/host_device.hpp"
#include "tessera/types.hpp"

namespace tessera {

/// How the recursion of a method ended; running: not yet.
enum class Outcome : int {
    running,
    converged,
    max_iterations,
    stagnated,
    breakdown,
    non_finite,
    least_squares,
};

/// Why a recursion broke down; selects the message of the report.
enum class BreakdownCause : int {
    none,
    indefinite_matrix,          ///< p^T A p <= 0.
    indefinite_preconditioner,  ///< r^T M^-1 r <= 0.
    shadow_orthogonal,          ///< The residual or a direction is orthogonal to the shadow space.
    no_descent,                 ///< (A z)^T r vanishes: no step along z reduces r.
    singular_projection,        ///< The matrix projected on the Krylov space is singular.
    symmetric_breakdown,        ///< p^T A p or r^T M^-1 r vanishes; A or M is indefinite.
    singular_preconditioner,    ///< M^-1 maps a residual to zero.
};

/// The part of every method's state that the host reads at convergence checks: iterations, residual
/// norms and outcome. It is the first member of the state in the memory of the Context, and only
/// steps change it. Once `outcome` is not `running` the steps set every coefficient that changes x
/// or r to exactly 0, so that iterations enqueued beyond the end leave x as it is.
template <class T>
struct Recurrence {
    static constexpr int history_size = 256;

    Outcome outcome;
    BreakdownCause cause;
    int counting;  ///< The current iteration began in state `running`.
    Offset iterations;
    Offset max_iterations;
    Offset stagnation_window;
    Offset best_iteration;  ///< Iteration in which the residual last fell by 1 %.
    T best_norm;
    T threshold;       ///< Residual norm at which the method has converged.
    T spike_norm;      ///< Residual norm with rounding errors as large as `threshold`.
    T recovered_norm;  ///< Residual norm below which a residual spike has ended.
    int had_spike;     ///< The residual exceeded `spike_norm` since it was last computed from x.
    int spike_over;    ///< There was a spike, and the residual is below `recovered_norm` now.
    T residual_norm;   ///< The latest residual norm.
    T history[history_size];  ///< history[k % history_size]: residual norm after iteration k + 1.

    TESSERA_HOST_DEVICE bool running() const { return outcome == Outcome::running; }

    /// Called at the start of an iteration.
    TESSERA_HOST_DEVICE bool begin() {
        counting = running() ? 1 : 0;
        return running();
    }

    TESSERA_HOST_DEVICE void stop(Outcome how, BreakdownCause why = BreakdownCause::none) {
        if (!running()) return;
        outcome = how;
        cause = why;
    }

    /// Takes a new residual norm; may be called several times in an iteration.
    TESSERA_HOST_DEVICE void observe(T norm) {
        if (!running()) return;
        residual_norm = norm;
        if (!std::isfinite(norm)) {
            stop(Outcome::non_finite);
        } else if (norm <= threshold) {
            stop(Outcome::converged);
        }
    }

    /// Takes a new norm of the recursive residual: detects spikes.
    TESSERA_HOST_DEVICE void track_spike(T norm) {
        if (!running()) return;
        if (norm > spike_norm) had_spike = 1;
        spike_over = had_spike != 0 && norm < recovered_norm ? 1 : 0;
    }

    /// Called at the end of an iteration. The iteration in which the method ended counts.
    TESSERA_HOST_DEVICE void count() {
        if (counting == 0) return;
        counting = 0;
        history[iterations % history_size] = residual_norm;
        ++iterations;
        if (residual_norm < T(0.99) * best_norm) {
            best_norm = residual_norm;
            best_iteration = iterations;
        }
        if (stagnation_window > 0 && iterations - best_iteration >= stagnation_window) {
            stop(Outcome::stagnated);
        }
        if (iterations >= max_iterations) stop(Outcome::max_iterations);
    }
};

/// Whether a computed inner product is zero up to rounding: |inner| <= u ||x|| ||y||.
template <class T>
TESSERA_HOST_DEVICE bool is_negligible(T inner, T norm_x, T norm_y) {
    return std::abs(inner) <= std::numeric_limits<T>::epsilon() * norm_x * norm_y;
}

}  // namespace tessera
