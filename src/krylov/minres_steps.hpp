#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

/// Numbers of iteration k, which begins with w_k = beta_k v_k and z_k = M^-1 w_k.
template <class T>
struct MinresState {
    Recurrence<T> recurrence;
    T wz;        ///< w_k^T z_k = beta_k^2
    T zp;        ///< z_k^T A z_k = beta_k^2 alpha_k
    T next_wz;   ///< Of w_(k+1).
    T rr;        ///< r^T r
    T beta;      ///< beta_k
    T before;    ///< beta_(k-1); 0 in the first iteration.
    T alpha;     ///< alpha_k
    T c, s;      ///< The rotation before this one,
    T c_before;  ///< and the one before that.
    T s_before;
    T phi_bar;                         ///< Plus or minus the norm of the residual in M^-1.
    T w_of_p, w_of_w, w_of_before;     ///< w_(k+1) = w_of_p A z_k + w_of_w w_k + ... w_(k-1)
    T d_of_z, d_of_last, d_of_before;  ///< d_k of z_k, d_(k-1), d_(k-2)
    T step;                            ///< x += step d_k
    T keep, add;                       ///< r = keep r + add w_(k+1)
};

template <class T>
struct MinresStart {
    MinresState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        MinresState<T>& s = *state;
        if (!std::isfinite(s.wz)) {
            s.recurrence.stop(Outcome::non_finite);
        } else if (!(s.wz > 0)) {
            s.recurrence.stop(Outcome::breakdown, Cause::indefinite_preconditioner);
        }
        s.beta = s.phi_bar = s.wz > 0 ? std::sqrt(s.wz) : T(0);
        s.before = 0;
        s.c = s.c_before = 1;
        s.s = s.s_before = 0;
    }
};

/// The next row of the Lanczos process.
template <class T>
struct MinresLanczos {
    MinresState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        MinresState<T>& s = *state;
        s.w_of_p = s.w_of_w = s.w_of_before = 0;
        if (!s.recurrence.begin()) return;
        s.alpha = s.zp / s.beta / s.beta;
        if (!std::isfinite(s.alpha)) return s.recurrence.stop(Outcome::non_finite);
        s.w_of_p = 1 / s.beta;
        s.w_of_w = -s.alpha / s.beta;
        s.w_of_before = s.before > 0 ? -s.beta / s.before : T(0);
    }
};

/// Rotates the new column of the tridiagonal matrix into a triangle, which gives the direction and
/// the step. Ends the iteration where the residual norm needs no vector.
template <class T>
struct MinresRotate {
    MinresState<T>* state;
    bool preconditioned;
    TESSERA_HOST_DEVICE void operator()() const {
        MinresState<T>& s = *state;
        s.d_of_z = s.d_of_last = s.d_of_before = s.step = s.add = 0;
        s.keep = 1;
        if (s.recurrence.running()) rotate(s);
        if (preconditioned) return;
        s.recurrence.observe(std::abs(s.phi_bar));
        s.recurrence.count();
    }

  private:
    TESSERA_HOST_DEVICE static void rotate(MinresState<T>& s) {
        if (!std::isfinite(s.next_wz)) return s.recurrence.stop(Outcome::non_finite);
        if (s.next_wz < 0) {
            return s.recurrence.stop(Outcome::breakdown, Cause::indefinite_preconditioner);
        }
        const T next = std::sqrt(s.next_wz);
        const T coupling = s.before > 0 ? s.beta : T(0);
        const T above = s.c_before * coupling;
        const T bar = s.c * s.alpha - s.s * above;
        const T gamma = std::hypot(bar, next);
        if (!(gamma > 0)) {
            return s.recurrence.stop(Outcome::breakdown, Cause::singular_projection);
        }
        s.d_of_z = 1 / s.beta / gamma;
        s.d_of_last = -(s.c * above + s.s * s.alpha) / gamma;
        s.d_of_before = -s.s_before * coupling / gamma;
        s.c_before = s.c;
        s.s_before = s.s;
        s.c = bar / gamma;
        s.s = next / gamma;
        s.step = s.c * s.phi_bar;
        s.phi_bar *= -s.s;
        s.keep = s.s * s.s;
        s.add = next > 0 ? s.c * s.phi_bar / next : T(0);
        s.before = s.beta;
        s.beta = next;
    }
};

template <class T>
struct MinresEnd {
    MinresState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        state->recurrence.observe(std::sqrt(state->rr));
        state->recurrence.count();
    }
};

}  // namespace tessera
