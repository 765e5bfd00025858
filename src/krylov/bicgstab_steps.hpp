#pragma once

#include "krylov/recurrence.hpp"

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
};

/// The shadow vector is the residual at the start.
template <class T>
struct BicgstabStart {
    BicgstabState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        BicgstabState<T>& s = *state;
        s.rho = s.rr_rho[0];
        s.shadow_norm = std::sqrt(s.rr_rho[0]);
    }
};

/// alpha = rho / shadow^T v.
template <class T>
struct BicgstabAlpha {
    BicgstabState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        BicgstabState<T>& s = *state;
        s.alpha = 0;
        if (s.recurrence.begin()) {
            if (!std::isfinite(s.shadow_v[0]) || !std::isfinite(s.shadow_v[1])) {
                s.recurrence.stop(Outcome::non_finite);
            } else if (vanishes(s.shadow_v[0], s.shadow_norm, std::sqrt(s.shadow_v[1]))) {
                s.recurrence.stop(Outcome::breakdown, Cause::shadow_orthogonal);
            } else {
                s.alpha = s.rho / s.shadow_v[0];
            }
        }
        s.minus_alpha = -s.alpha;
    }
};

/// omega = t^T s / t^T t, or 0 where the half step s = r - alpha v meets the tolerance already.
template <class T>
struct BicgstabOmega {
    BicgstabState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        BicgstabState<T>& s = *state;
        s.omega = 0;
        if (s.recurrence.running()) {
            const T norm_s = std::sqrt(s.ts_ss[1]);
            s.recurrence.observe(norm_s);
            if (!std::isfinite(s.tt) || !std::isfinite(s.ts_ss[0])) {
                s.recurrence.stop(Outcome::non_finite);
            } else if (!(s.tt > 0) || vanishes(s.ts_ss[0], std::sqrt(s.tt), norm_s)) {
                s.recurrence.stop(Outcome::breakdown, Cause::no_descent);
            }
            if (s.recurrence.running()) s.omega = s.ts_ss[0] / s.tt;
        }
        s.minus_omega = -s.omega;
    }
};

/// Ends the iteration; beta = (rho_new / rho) (alpha / omega).
template <class T>
struct BicgstabBeta {
    BicgstabState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        BicgstabState<T>& s = *state;
        const T norm_r = std::sqrt(s.rr_rho[0]);
        const T rho = s.rr_rho[1];
        s.recurrence.observe(norm_r);
        s.recurrence.count();
        s.beta = 0;
        if (s.recurrence.running()) {
            if (vanishes(rho, s.shadow_norm, norm_r)) {
                s.recurrence.stop(Outcome::breakdown, Cause::shadow_orthogonal);
            } else {
                s.beta = (rho / s.rho) * (s.alpha / s.omega);
            }
            s.rho = rho;
        }
        s.minus_beta_omega = -s.beta * s.omega;
    }
};

}  // namespace tessera
