#pragma once

#include "krylov/recurrence.hpp"

namespace tessera {

template <class T>
struct CgState {
    Recurrence<T> recurrence;
    T rr;           ///< r^T r
    T rz;           ///< r^T z, z = M^-1 r, of the direction p
    T pq;           ///< p^T q, q = A p
    T products[2];  ///< (r^T z, q^T z) of the new residual, where they are needed.
    T alpha, beta;
};

/// alpha = r^T z / p^T q. Both are positive when A and M are positive definite.
template <class T>
struct CgAlpha {
    CgState<T>* state;
    TESSERA_HOST_DEVICE void operator()() const {
        CgState<T>& s = *state;
        s.alpha = 0;
        if (!s.recurrence.begin()) return;
        if (!std::isfinite(s.rz) || !std::isfinite(s.pq)) {
            s.recurrence.stop(Outcome::non_finite);
        } else if (!(s.rz > 0)) {
            s.recurrence.stop(Outcome::breakdown, Cause::indefinite_preconditioner);
        } else if (!(s.pq > 0)) {
            s.recurrence.stop(Outcome::breakdown, Cause::indefinite_matrix);
        } else {
            s.alpha = s.rz / s.pq;
        }
    }
};

/// Ends the iteration, and beta = (r^T z)_new / (r^T z)_old. The flexible form is Polak and
/// Ribiere's, z^T (r_new - r_old) / (r^T z)_old; with r_new - r_old = -alpha q that is
/// -z^T q / p^T q, which keeps p_new A-orthogonal to p whatever the preconditioner did.
template <class T>
struct CgBeta {
    CgState<T>* state;
    bool preconditioned;
    bool flexible;
    TESSERA_HOST_DEVICE void operator()() const {
        CgState<T>& s = *state;
        s.recurrence.observe(std::sqrt(s.rr));
        s.recurrence.count();
        s.beta = 0;
        if (!s.recurrence.running()) return;
        const T rz = preconditioned || flexible ? s.products[0] : s.rr;
        s.beta = flexible ? -s.products[1] / s.pq : rz / s.rz;
        s.rz = rz;
    }
};

}  // namespace tessera
