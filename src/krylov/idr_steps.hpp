#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

template <class T>
struct IdrState {
    static constexpr int most = 16;  ///< Largest dimension of the shadow space.

    Recurrence<T> recurrence;
    T f[most];            ///< P^T r
    T m[most * most];     ///< M = P^T G, lower triangular, column-major.
    T c[most + 1];        ///< Solution of M c = f, then omega behind it.
    T minus_c[most + 1];  ///< -c, then 1.
    T h[most];            ///< P^T g before g is made biorthogonal; coefficients while P is made.
    T gg;                 ///< g^T g
    T rr;                 ///< r^T r
    T smoothed_rr;        ///< The same of the smoothed residual.
    T r_t[2];             ///< (r^T t, t^T t)
    T d_s[2];             ///< (d^T d, d^T r_s), d = r_s - r
    T length;             ///< Of the step in x and r that comes next; 0 when not running.
    T gamma, one_minus_gamma;
    T scale;
};

/// While the shadow space is made: h = -h, the coefficients that take a projection away.
template <class T>
struct IdrNegate {
    IdrState<T>* state;
    int count;
    TESSERA_HOST_DEVICE void operator()() const {
        for (int i = 0; i < count; ++i) state->h[i] = -state->h[i];
    }
};

/// scale = 1 / sqrt(h_0), h_0 the square of a shadow vector's norm.
template <class T>
struct IdrNormalise {
    IdrState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const { state->scale = T(1) / std::sqrt(state->h[0]); }
};

/// M = I, omega = 1; U and G are zero.
template <class T>
struct IdrStart {
    IdrState<T>* state;
    int s;
    TESSERA_HOST_DEVICE void operator()() const {
        for (int i = 0; i < s * IdrState<T>::most; ++i) state->m[i] = 0;
        for (int i = 0; i < s; ++i) state->m[i * IdrState<T>::most + i] = 1;
        state->c[s] = 1;
        state->minus_c[s] = 1;
    }
};

/// Solves M(k:s, k:s) c = f(k:s). Also takes note of the residual norm that the update before left
/// (`norm_square`), and begins the iteration when k = 0.
template <class T>
struct IdrProject {
    IdrState<T>* state;
    const T* norm_square;
    int s;
    int k;
    TESSERA_HOST_DEVICE void operator()() const {
        IdrState<T>& z = *state;
        if (k == 0) {
            z.recurrence.begin();
        } else {
            z.recurrence.note_spike(std::sqrt(z.rr));
            z.recurrence.observe(std::sqrt(*norm_square));
        }
        for (int i = k; i < s; ++i) {
            T sum = z.f[i];
            for (int j = k; j < i; ++j) sum -= z.m[j * IdrState<T>::most + i] * z.c[j];
            z.c[i] = sum / z.m[i * IdrState<T>::most + i];
            z.minus_c[i] = -z.c[i];
        }
    }
};

/// h = -M(0:k, 0:k)^-1 h: the combination of g_0 .. g_(k-1) that makes g_k orthogonal to
/// p_0 .. p_(k-1).
template <class T>
struct IdrBiorthogonalise {
    IdrState<T>* state;
    int k;
    TESSERA_HOST_DEVICE void operator()() const {
        IdrState<T>& z = *state;
        for (int i = 0; i < k; ++i) {
            T sum = z.h[i];
            for (int j = 0; j < i; ++j) sum += z.m[j * IdrState<T>::most + i] * z.h[j];
            z.h[i] = -sum / z.m[i * IdrState<T>::most + i];
        }
    }
};

/// length = beta = f_k / M_kk,  f(k+1:s) -= beta M(k+1:s, k). The columns of P have norm 1.
template <class T>
struct IdrUpdate {
    IdrState<T>* state;
    int s;
    int k;
    TESSERA_HOST_DEVICE void operator()() const {
        IdrState<T>& z = *state;
        const T* column = z.m + k * IdrState<T>::most;
        z.length = 0;
        if (!z.recurrence.running()) return;
        if (!std::isfinite(column[k]) || !std::isfinite(z.gg) || !std::isfinite(z.f[k])) {
            z.recurrence.stop(Outcome::non_finite);
        } else if (vanishes(column[k], T(1), std::sqrt(z.gg))) {
            z.recurrence.stop(Outcome::breakdown, Cause::shadow_orthogonal);
        } else {
            z.length = z.f[k] / column[k];
            for (int i = k + 1; i < s; ++i) z.f[i] -= z.length * column[i];
        }
    }
};

/// length = omega = t^T r / t^T t, made longer where t and r are far from parallel: with
/// rho = t^T r / (||t|| ||r||), |rho| < angle, omega is multiplied by angle / |rho|
/// (Sleijpen and van der Vorst 1995). That is angle ||r|| / ||t|| with the sign of rho. With
/// smoothing ||r|| is here the norm of the smoothed residual, as in MAGMA's program: in a spike,
/// where ||r|| is far above it, the step that minimises r stays as it is.
template <class T>
struct IdrOmega {
    IdrState<T>* state;
    const T* norm_square;
    int s;
    T angle;
    TESSERA_HOST_DEVICE void operator()() const {
        IdrState<T>& z = *state;
        z.recurrence.note_spike(std::sqrt(z.rr));
        z.recurrence.observe(std::sqrt(*norm_square));
        z.length = 0;
        if (!z.recurrence.running()) return;
        const T rt = z.r_t[0];
        const T norm_t = std::sqrt(z.r_t[1]);
        const T norm_r = std::sqrt(*norm_square);
        if (!std::isfinite(rt) || !std::isfinite(norm_t)) {
            z.recurrence.stop(Outcome::non_finite);
        } else if (!(norm_t > 0) || (angle == 0 && vanishes(rt, norm_t, std::sqrt(z.rr)))) {
            z.recurrence.stop(Outcome::breakdown, Cause::no_descent);
        } else if (std::abs(rt) < angle * norm_t * norm_r) {
            z.length = (rt < 0 ? -angle : angle) * (norm_r / norm_t);
        } else {
            z.length = rt / z.r_t[1];
        }
        z.c[s] = z.length;
    }
};

template <class T>
struct IdrEnd {
    IdrState<T>* state;
    const T* norm_square;
    TESSERA_HOST_DEVICE void operator()() const {
        state->recurrence.note_spike(std::sqrt(state->rr));
        state->recurrence.observe(std::sqrt(*norm_square));
        state->recurrence.count();
    }
};

/// The residual has just been computed from x.
template <class T>
struct IdrReplaced {
    IdrState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        state->recurrence.spiked = state->recurrence.settled = 0;
    }
};

/// gamma = d^T r_s / d^T d, d = r_s - r: minimises ||r_s - gamma d||.
template <class T>
struct IdrSmooth {
    IdrState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        IdrState<T>& z = *state;
        z.gamma = z.recurrence.running() && z.d_s[0] > 0 ? z.d_s[1] / z.d_s[0] : T(0);
        z.one_minus_gamma = T(1) - z.gamma;
    }
};

}  // namespace tessera
