#pragma once

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

template <class T>
struct SqmrState {
    Recurrence<T> recurrence;
    T qt_tt[2];  ///< (q^T t, t^T t), t = A q
    T qq;        ///< q^T q
    T rr;        ///< r^T r of the inner residual r.
    T ru_uu[2];  ///< (r^T u, u^T u), u = M^-1 r
    T ss;        ///< s^T s of the smoothed residual s.
    T rho;       ///< r^T M^-1 r
    T theta;     ///< Previous ||r|| / tau.
    T tau;
    T minus_alpha;     ///< r += minus_alpha t
    T alpha;           ///< rho / q^T t
    T d_of_q, d_of_d;  ///< d = d_of_q q + d_of_d d
    T step;            ///< x += step d; 1 or 0.
    T s_of_r, s_of_s;  ///< s = s_of_r r + s_of_s s
    T beta;            ///< q = u + beta q

    /// Whether x^T y is rounding, from ||x|| and y^T y, which overflows where A is small and y thus
    /// large: then nothing is known.
    static TESSERA_HOST_DEVICE bool vanishes(T inner, T norm_x, T square_of_y) {
        return std::isfinite(square_of_y) && is_negligible(inner, norm_x, std::sqrt(square_of_y));
    }

    TESSERA_HOST_DEVICE void begin(bool preconditioned) {
        if (!preconditioned) ru_uu[0] = ru_uu[1] = rr;
        rho = ru_uu[0];
        tau = std::sqrt(rr);
        theta = 0;
        if (!std::isfinite(rho)) {
            recurrence.stop(Outcome::non_finite);
        } else if (vanishes(rho, tau, ru_uu[1])) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::symmetric_breakdown);
        }
    }

    /// alpha = rho / q^T A q.
    TESSERA_HOST_DEVICE void next_alpha() {
        alpha = 0;
        if (recurrence.begin()) {
            if (!std::isfinite(qt_tt[0]) || !std::isfinite(qt_tt[1])) {
                recurrence.stop(Outcome::non_finite);
            } else if (vanishes(qt_tt[0], std::sqrt(qt_tt[1]), qq)) {
                recurrence.stop(Outcome::breakdown, BreakdownCause::symmetric_breakdown);
            } else {
                alpha = rho / qt_tt[0];
            }
        }
        minus_alpha = -alpha;
    }

    /// theta = ||r|| / tau, c^2 = 1 / (1 + theta^2), tau = tau theta c.
    TESSERA_HOST_DEVICE void smooth() {
        d_of_q = d_of_d = step = s_of_r = 0;
        s_of_s = 1;
        if (!recurrence.running()) return;
        const T new_theta = std::sqrt(rr) / tau;
        if (!std::isfinite(new_theta)) return recurrence.stop(Outcome::non_finite);
        const T c = 1 / std::hypot(T(1), new_theta);
        tau *= new_theta * c;
        d_of_q = c * c * alpha;
        d_of_d = (c * theta) * (c * theta);
        step = 1;
        s_of_r = c * c;
        s_of_s = (c * new_theta) * (c * new_theta);
        theta = new_theta;
    }

    /// Ends the iteration; beta = rho_new / rho.
    TESSERA_HOST_DEVICE void next_beta(bool preconditioned) {
        recurrence.observe(std::sqrt(ss));
        recurrence.count();
        beta = 0;
        if (!recurrence.running()) return;
        if (!preconditioned) ru_uu[0] = ru_uu[1] = rr;
        const T new_rho = ru_uu[0];
        if (!std::isfinite(new_rho)) {
            recurrence.stop(Outcome::non_finite);
        } else if (vanishes(new_rho, std::sqrt(rr), ru_uu[1])) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::symmetric_breakdown);
        } else {
            beta = new_rho / rho;
            rho = new_rho;
        }
    }
};

/// Symmetric quasi-minimal residuals without look-ahead (Freund and Nachtigal, "A new Krylov-
/// subspace method for symmetric indefinite linear systems", 14th IMACS World Congress, 1994),
/// preconditioned from the right:
///   t = A q,  alpha = rho / q^T t,  r -= alpha t,
///   theta = ||r|| / tau,  c^2 = 1 / (1 + theta^2),  tau = tau theta c,
///   d = c^2 theta_old^2 d + c^2 alpha q,  x += d,  s = c^2 theta^2 s + c^2 r,
///   u = M^-1 r,  rho = r^T u,  q = u + (rho / rho_old) q.
/// r is the residual of the underlying BiCG recurrence, s = b - A x (Zhou and Walker, SIAM J.
/// Sci. Comput. 15, 1994).
template <class T>
class SymmetricQmr final : public Method<T> {
    using State = SqmrState<T>;

  public:
    explicit SymmetricQmr(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 6),
          state_(system.context, 1) {}

    std::span<T> residual(int) override { return s(); }
    Recurrence<T>* recurrence(int) override { return &state_.data()->recurrence; }

    void start(int, int) override {
        const Context& context = system_.context;
        copy(context, std::span<const T>(s()), r());
        dot<T>(context, r(), r(), &state_.data()->rr);
        const std::span<const T> u = precondition();
        copy(context, u, q());
        run_step<&State::begin>(context, state_.data(), preconditioned());
    }

    void iterate(int) override {
        const Context& context = system_.context;
        State* state = state_.data();
        system_.matrix.apply(context, q(), t());
        dots<T>(context, 2, vectors_.vectors(0, 0, 2), t(), state->qt_tt);
        dot<T>(context, q(), q(), &state->qq);
        run_step<&State::next_alpha>(context, state);
        axpby<T>(context, &state->minus_alpha, t(), T(1), r());
        dot<T>(context, r(), r(), &state->rr);
        run_step<&State::smooth>(context, state);
        axpby<T>(context, &state->d_of_q, q(), &state->d_of_d, d());
        axpby<T>(context, &state->step, d(), T(1), system_.x[0]);
        axpby<T>(context, &state->s_of_r, r(), &state->s_of_s, s());
        dot<T>(context, s(), s(), &state->ss);
        const std::span<const T> u = precondition();
        run_step<&State::next_beta>(context, state, preconditioned());
        axpby<T>(context, T(1), u, &state->beta, q());
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    /// u = M^-1 r and its products; without a preconditioner r itself.
    std::span<const T> precondition() {
        if (!preconditioned()) return r();
        system_.preconditioner->apply(system_.context, r(), vectors_(0, 5));
        dots<T>(system_.context, 2, vectors_.vectors(0, 4, 2), vectors_(0, 5),
                state_.data()->ru_uu);
        return vectors_(0, 5);
    }

    // Adjacent so that one call of `dots` computes both inner products.
    std::span<T> q() { return vectors_(0, 0); }
    std::span<T> t() { return vectors_(0, 1); }
    std::span<T> d() { return vectors_(0, 2); }
    std::span<T> s() { return vectors_(0, 3); }
    std::span<T> r() { return vectors_(0, 4); }

    System<T> system_;
    VectorSet<T> vectors_;  ///< q, t, d, s, r and, with a preconditioner, u.
    Buffer<State> state_;
};

using SqmrConfig = PlainConfig<SymmetricQmr, 6, MethodTraits{.symmetric_only = true}>;

}  // namespace tessera
