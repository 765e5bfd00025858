#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

template <class T>
struct SqmrState {
    Recurrence<T> recurrence;
    T qt_tt[2];  ///< (q^T t, t^T t), t = A q
    T qq;        ///< q^T q
    T rr;        ///< r^T r of the inner residual r.
    T ru_uu[2];  ///< (r^T u, u^T u), u = M^-1 r
    T ss;        ///< Of the smoothed residual s.
    T rho;       ///< r^T M^-1 r
    T theta;     ///< The last ||r|| / tau.
    T tau;
    T minus_alpha;     ///< r += minus_alpha t
    T alpha;           ///< rho / q^T t
    T d_of_q, d_of_d;  ///< d = d_of_q q + d_of_d d
    T step;            ///< x += step d; 1 or 0.
    T s_of_r, s_of_s;  ///< s = s_of_r r + s_of_s s
    T beta;            ///< q = u + beta q
};

template <class T>
struct SqmrStart {
    SqmrState<T>* state;
    bool preconditioned;
    TESSERA_HOST_DEVICE void operator()() const {
        SqmrState<T>& s = *state;
        if (!preconditioned) s.ru_uu[0] = s.ru_uu[1] = s.rr;
        s.rho = s.ru_uu[0];
        s.tau = std::sqrt(s.rr);
        s.theta = 0;
        if (!std::isfinite(s.rho) || !std::isfinite(s.ru_uu[1])) {
            s.recurrence.stop(Outcome::non_finite);
        } else if (vanishes(s.rho, s.tau, std::sqrt(s.ru_uu[1]))) {
            s.recurrence.stop(Outcome::breakdown, Cause::symmetric_breakdown);
        }
    }
};

/// alpha = rho / q^T A q.
template <class T>
struct SqmrAlpha {
    SqmrState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        SqmrState<T>& s = *state;
        s.alpha = 0;
        if (s.recurrence.begin()) {
            if (!std::isfinite(s.qt_tt[0]) || !std::isfinite(s.qt_tt[1])) {
                s.recurrence.stop(Outcome::non_finite);
            } else if (vanishes(s.qt_tt[0], std::sqrt(s.qq), std::sqrt(s.qt_tt[1]))) {
                s.recurrence.stop(Outcome::breakdown, Cause::symmetric_breakdown);
            } else {
                s.alpha = s.rho / s.qt_tt[0];
            }
        }
        s.minus_alpha = -s.alpha;
    }
};

/// theta = ||r|| / tau, c^2 = 1 / (1 + theta^2), tau = tau theta c.
template <class T>
struct SqmrSmooth {
    SqmrState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        SqmrState<T>& s = *state;
        s.d_of_q = s.d_of_d = s.step = s.s_of_r = 0;
        s.s_of_s = 1;
        if (!s.recurrence.running()) return;
        const T theta = std::sqrt(s.rr) / s.tau;
        if (!std::isfinite(theta)) return s.recurrence.stop(Outcome::non_finite);
        const T c = 1 / std::hypot(T(1), theta);
        s.tau *= theta * c;
        s.d_of_q = c * c * s.alpha;
        s.d_of_d = (c * s.theta) * (c * s.theta);
        s.step = 1;
        s.s_of_r = c * c;
        s.s_of_s = (c * theta) * (c * theta);
        s.theta = theta;
    }
};

/// Ends the iteration; beta = rho_new / rho.
template <class T>
struct SqmrBeta {
    SqmrState<T>* state;
    bool preconditioned;
    TESSERA_HOST_DEVICE void operator()() const {
        SqmrState<T>& s = *state;
        s.recurrence.observe(std::sqrt(s.ss));
        s.recurrence.count();
        s.beta = 0;
        if (!s.recurrence.running()) return;
        if (!preconditioned) s.ru_uu[0] = s.ru_uu[1] = s.rr;
        const T rho = s.ru_uu[0];
        if (!std::isfinite(rho) || !std::isfinite(s.ru_uu[1])) {
            s.recurrence.stop(Outcome::non_finite);
        } else if (vanishes(rho, std::sqrt(s.rr), std::sqrt(s.ru_uu[1]))) {
            s.recurrence.stop(Outcome::breakdown, Cause::symmetric_breakdown);
        } else {
            s.beta = rho / s.rho;
            s.rho = rho;
        }
    }
};

}  // namespace tessera
