#pragma once

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

template <class T>
struct BicgstabState {
    Recurrence<T> recurrence;
    T shadow_norm;
    T rho;          ///< shadow^T r
    T shadow_v[2];  ///< (shadow^T v, v^T v)
    T ts_ss[2];     ///< (t^T s, s^T s)
    T tt;           ///< t^T t
    T rr_rho[2];    ///< (r^T r, shadow^T r) at the end of an iteration.
    T alpha, minus_alpha, omega, minus_omega, beta, minus_beta_omega;

    /// Starts with the initial residual as shadow vector.
    TESSERA_HOST_DEVICE void begin() {
        rho = rr_rho[0];
        shadow_norm = std::sqrt(rr_rho[0]);
    }

    /// alpha = rho / shadow^T v.
    TESSERA_HOST_DEVICE void next_alpha() {
        alpha = 0;
        if (recurrence.begin()) {
            if (!std::isfinite(shadow_v[0]) || !std::isfinite(shadow_v[1])) {
                recurrence.stop(Outcome::non_finite);
            } else if (is_negligible(shadow_v[0], shadow_norm, std::sqrt(shadow_v[1]))) {
                recurrence.stop(Outcome::breakdown, BreakdownCause::shadow_orthogonal);
            } else {
                alpha = rho / shadow_v[0];
            }
        }
        minus_alpha = -alpha;
    }

    /// omega = t^T s / t^T t, or 0 where the half step s = r - alpha v meets the tolerance already.
    TESSERA_HOST_DEVICE void next_omega() {
        omega = 0;
        if (recurrence.running()) {
            const T norm_s = std::sqrt(ts_ss[1]);
            recurrence.observe(norm_s);
            if (!std::isfinite(tt) || !std::isfinite(ts_ss[0])) {
                recurrence.stop(Outcome::non_finite);
            } else if (!(tt > 0) || is_negligible(ts_ss[0], std::sqrt(tt), norm_s)) {
                recurrence.stop(Outcome::breakdown, BreakdownCause::no_descent);
            }
            if (recurrence.running()) omega = ts_ss[0] / tt;
        }
        minus_omega = -omega;
    }

    /// Ends the iteration; beta = (rho_new / rho) (alpha / omega).
    TESSERA_HOST_DEVICE void next_beta() {
        const T norm_r = std::sqrt(rr_rho[0]);
        const T new_rho = rr_rho[1];
        recurrence.observe(norm_r);
        recurrence.count();
        beta = 0;
        if (recurrence.running()) {
            if (is_negligible(new_rho, shadow_norm, norm_r)) {
                recurrence.stop(Outcome::breakdown, BreakdownCause::shadow_orthogonal);
            } else {
                beta = (new_rho / rho) * (alpha / omega);
            }
            rho = new_rho;
        }
        minus_beta_omega = -beta * omega;
    }
};

/// BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992), preconditioned from the right;
/// w is the shadow vector, the residual at the start:
///   y = M^-1 p,  v = A y,  alpha = rho / w^T v,  s = r - alpha v,
///   z = M^-1 s,  t = A z,  omega = t^T s / t^T t,
///   x += alpha y + omega z,  r = s - omega t,
///   beta = (rho_new / rho) (alpha / omega),  p = r + beta (p - omega v),  rho = w^T r.
template <class T>
class Bicgstab final : public Method<T> {
    using State = BicgstabState<T>;

  public:
    explicit Bicgstab(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 7),
          state_(system.context, 1) {
        if (system.preconditioner == nullptr) return;
        y_ = vectors_(0, 5);
        z_ = vectors_(0, 6);
    }

    std::span<T> residual(int) override { return r(); }
    Recurrence<T>* recurrence(int) override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return 2 * iterations; }

    void start(int, int) override {
        const Context& context = system_.context;
        copy(context, std::span<const T>(r()), shadow());
        copy(context, std::span<const T>(r()), p());
        dot<T>(context, r(), r(), state_.data()->rr_rho);
        run_step<&State::begin>(context, state_.data());
    }

    void iterate(int) override {
        const Context& context = system_.context;
        State* state = state_.data();
        const std::span<const T> y = system_.preconditioned(p(), y_);
        system_.matrix.apply(context, y, v());
        dots<T>(context, 2, vectors_.vectors(0, 2, 2), v(), state->shadow_v);
        run_step<&State::next_alpha>(context, state);
        axpby<T>(context, &state->minus_alpha, v(), T(1), r());

        const std::span<const T> z = system_.preconditioned(r(), z_);
        system_.matrix.apply(context, z, t());
        dots<T>(context, 2, vectors_.vectors(0, 0, 2), r(), state->ts_ss);
        dot<T>(context, t(), t(), &state->tt);
        run_step<&State::next_omega>(context, state);
        axpbypcz<T>(context, &state->alpha, y, &state->omega, z, T(1), system_.x[0]);
        axpby<T>(context, &state->minus_omega, t(), T(1), r());

        dots<T>(context, 2, vectors_.vectors(0, 1, 2), r(), state->rr_rho);
        run_step<&State::next_beta>(context, state);
        axpbypcz<T>(context, T(1), r(), &state->minus_beta_omega, v(), &state->beta, p());
    }

  private:
    // Adjacent so that one call of `dots` computes both inner products.
    std::span<T> t() { return vectors_(0, 0); }
    std::span<T> r() { return vectors_(0, 1); }
    std::span<T> shadow() { return vectors_(0, 2); }
    std::span<T> v() { return vectors_(0, 3); }
    std::span<T> p() { return vectors_(0, 4); }

    System<T> system_;
    VectorSet<T> vectors_;
    std::span<T> y_, z_;
    Buffer<State> state_;
};

using BicgstabConfig = PlainConfig<Bicgstab, 7, MethodTraits{.allows_left = true}>;

}  // namespace tessera
