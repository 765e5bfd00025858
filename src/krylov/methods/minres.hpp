#pragma once

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

/// Numbers of iteration k, which begins with w_k = beta_k v_k and z_k = M^-1 w_k.
template <class T>
struct MinresState {
    Recurrence<T> recurrence;
    T wz;        ///< w_k^T z_k = beta_k^2
    T zp;        ///< z_k^T A z_k = beta_k^2 alpha_k
    T next_wz;   ///< w_(k+1)^T z_(k+1)
    T rr;        ///< r^T r
    T beta;      ///< beta_k
    T before;    ///< beta_(k-1); 0 in the first iteration.
    T alpha;     ///< alpha_k
    T c, s;      ///< Previous rotation
    T c_before;  ///< Second previous rotation
    T s_before;
    T phi_bar;                         ///< +-||r|| in the norm of M^-1
    T size;                            ///< A bound from below of ||A||
    T smallest_ratio;                  ///< The smallest ||A r|| / (||A|| ||r||) so far
    T phi_at_smallest;                 ///< |phi_bar| there
    T w_of_p, w_of_w, w_of_before;     ///< w_(k+1) = w_of_p A z_k + w_of_w w_k + ... w_(k-1)
    T d_of_z, d_of_last, d_of_before;  ///< d_k of z_k, d_(k-1), d_(k-2)
    T step;                            ///< x += step d_k
    T keep, add;                       ///< r = keep r + add w_(k+1)

    TESSERA_HOST_DEVICE void begin() {
        if (!std::isfinite(wz)) {
            recurrence.stop(Outcome::non_finite);
        } else if (!(wz > 0)) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::indefinite_preconditioner);
        }
        beta = phi_bar = wz > 0 ? std::sqrt(wz) : T(0);
        before = 0;
        c = c_before = 1;
        s = s_before = 0;
        size = 0;
        smallest_ratio = 1;
        phi_at_smallest = phi_bar;
    }

    /// The next row of the Lanczos process.
    TESSERA_HOST_DEVICE void next_row() {
        w_of_p = w_of_w = w_of_before = 0;
        if (!recurrence.begin()) return;
        alpha = zp / beta / beta;
        if (!std::isfinite(alpha)) return recurrence.stop(Outcome::non_finite);
        w_of_p = 1 / beta;
        w_of_w = -alpha / beta;
        w_of_before = before > 0 ? -beta / before : T(0);
    }

    /// Rotates the new column of the tridiagonal matrix to triangular form, which gives the
    /// direction and the step. Ends the iteration if the residual norm needs no vector.
    TESSERA_HOST_DEVICE void rotate(bool preconditioned) {
        d_of_z = d_of_last = d_of_before = step = add = 0;
        keep = 1;
        if (recurrence.running()) rotate_column();
        if (preconditioned) return;
        recurrence.observe(std::abs(phi_bar));
        recurrence.count();
    }

    TESSERA_HOST_DEVICE void rotate_column() {
        if (!std::isfinite(next_wz)) return recurrence.stop(Outcome::non_finite);
        if (next_wz < 0) {
            return recurrence.stop(Outcome::breakdown, BreakdownCause::indefinite_preconditioner);
        }
        const T next = std::sqrt(next_wz);
        const T coupling = before > 0 ? beta : T(0);
        const T above = c_before * coupling;
        const T bar = c * alpha - s * above;
        size = std::max(size, std::hypot(std::hypot(alpha, coupling), next));
        if (minimises(std::hypot(bar, c * next) / size)) {
            return recurrence.stop(Outcome::least_squares);
        }
        const T gamma = std::hypot(bar, next);
        if (!(gamma > 0)) {
            return recurrence.stop(Outcome::breakdown, BreakdownCause::singular_projection);
        }
        d_of_z = 1 / beta / gamma;
        d_of_last = -(c * above + s * alpha) / gamma;
        d_of_before = -s_before * coupling / gamma;
        c_before = c;
        s_before = s;
        c = bar / gamma;
        s = next / gamma;
        step = c * phi_bar;
        phi_bar *= -s;
        keep = s * s;
        add = next > 0 ? c * phi_bar / next : T(0);
        before = beta;
        beta = next;
    }

    /// Whether ||r|| is the smallest of all x, `ratio` = ||A r|| / (||A|| ||r||): that is rounding
    /// error, or has grown again while r stays. x would then grow along the null space of A.
    TESSERA_HOST_DEVICE bool minimises(T ratio) {
        constexpr T epsilon = std::numeric_limits<T>::epsilon();
        if (ratio <= 16 * epsilon) return true;
        if (ratio < smallest_ratio) {
            smallest_ratio = ratio;
            phi_at_smallest = std::abs(phi_bar);
        }
        // Near sqrt(epsilon) where A is singular: 6e-9 to 2e-8 were seen.
        return smallest_ratio * smallest_ratio <= 64 * epsilon && ratio > 30 * smallest_ratio &&
               std::abs(phi_bar) >= T(0.99) * phi_at_smallest;
    }

    TESSERA_HOST_DEVICE void end() {
        recurrence.observe(std::sqrt(rr));
        recurrence.count();
    }
};

/// Minimal residuals (Paige and Saunders, SIAM J. Numer. Anal. 12, 1975; preconditioned as in
/// Elman, Silvester and Wathen, Finite Elements and Fast Iterative Solvers, Algorithm 4.1):
///   Lanczos: beta_(k+1) v_(k+1) = A z_k - alpha_k v_k - beta_k v_(k-1), z = M^-1 v, v^T z = 1,
///   Givens rotations reduce the tridiagonal matrix to a triangular R; Z = D R gives
///   d_k = (z_k - delta_k d_(k-1) - epsilon_k d_(k-2)) / gamma_k,  x += phi_k d_k,
///   r_k = s_k^2 r_(k-1) + c_k phi_bar_k v_(k+1).
/// Vectors are stored unscaled, w_k = beta_k v_k. The last line is needed with a preconditioner
/// only, where phi_bar is the norm of r in M^-1 instead of the 2-norm.
template <class T>
class MinimalResiduals final : public Method<T> {
    using State = MinresState<T>;

  public:
    explicit MinimalResiduals(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 8),
          state_(system.context, 1) {}

    std::span<T> residual(int) override { return vectors_(0, preconditioned() ? 7 : 0); }
    Recurrence<T>* recurrence(int) override { return &state_.data()->recurrence; }
    int period() const override { return 2; }

    void start(int, int) override {
        const Context& context = system_.context;
        if (preconditioned()) copy(context, std::span<const T>(residual(0)), w(0));
        const std::span<const T> z = system_.preconditioned(w(0), z_storage(0));
        dot<T>(context, w(0), z, &state_.data()->wz);
        run_step<&State::begin>(context, state_.data());
    }

    void iterate(int position) override {
        const Context& context = system_.context;
        State* state = state_.data();
        const int other = 1 - position;
        const std::span<const T> z = preconditioned() ? z_storage(position) : w(position);
        system_.matrix.apply(context, z, p());
        dot<T>(context, z, p(), &state->zp);
        run_step<&State::next_row>(context, state);
        axpbypcz<T>(context, &state->w_of_p, p(), &state->w_of_w, w(position), &state->w_of_before,
                    w(other));
        const std::span<const T> next = system_.preconditioned(w(other), z_storage(other));
        dot<T>(context, w(other), next, &state->next_wz);
        run_step<&State::rotate>(context, state, preconditioned());
        axpbypcz<T>(context, &state->d_of_z, z, &state->d_of_last, d(other), &state->d_of_before,
                    d(position));
        axpby<T>(context, &state->step, d(position), T(1), system_.x[0]);
        if (!preconditioned()) return;
        axpby<T>(context, &state->add, w(other), &state->keep, residual(0));
        dot<T>(context, residual(0), residual(0), &state->rr);
        run_step<&State::end>(context, state);
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    // At position 0 of the pattern w(0) is w_k, d(0) becomes d_k, and d(1) is d_(k-1).
    std::span<T> w(int k) { return vectors_(0, k); }
    std::span<T> d(int k) { return vectors_(0, 2 + k); }
    std::span<T> p() { return vectors_(0, 4); }
    std::span<T> z_storage(int k) { return preconditioned() ? vectors_(0, 5 + k) : std::span<T>(); }

    System<T> system_;
    VectorSet<T> vectors_;
    Buffer<State> state_;
};

using MinresConfig = PlainConfig<MinimalResiduals, 8, MethodTraits{.symmetric_only = true}>;

}  // namespace tessera
