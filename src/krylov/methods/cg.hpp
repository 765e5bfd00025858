#pragma once

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

template <class T>
struct CgState {
    Recurrence<T> recurrence;
    T rr;           ///< r^T r
    T rz;           ///< r^T z, z = M^-1 r, for the current direction p
    T pq;           ///< p^T q, q = A p
    T products[2];  ///< (r^T z, q^T z) of the new residual, if needed.
    T alpha, beta;

    /// alpha = r^T z / p^T q. Both are positive if A and M are positive definite.
    TESSERA_HOST_DEVICE void next_alpha() {
        alpha = 0;
        if (!recurrence.begin()) return;
        if (!std::isfinite(rz) || !std::isfinite(pq)) {
            recurrence.stop(Outcome::non_finite);
        } else if (!(rz > 0)) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::indefinite_preconditioner);
        } else if (!(pq > 0)) {
            recurrence.stop(Outcome::breakdown, BreakdownCause::indefinite_matrix);
        } else {
            alpha = rz / pq;
        }
    }

    /// Ends the iteration, and beta = (r^T z)_new / (r^T z)_old. The flexible form is Polak and
    /// Ribiere's, z^T (r_new - r_old) / (r^T z)_old; with r_new - r_old = -alpha q that is -z^T q /
    /// p^T q, which makes p_new A-orthogonal to p even if the preconditioner changes.
    TESSERA_HOST_DEVICE void next_beta(bool preconditioned, bool flexible) {
        recurrence.observe(std::sqrt(rr));
        recurrence.count();
        beta = 0;
        if (!recurrence.running()) return;
        const T new_rz = preconditioned || flexible ? products[0] : rr;
        beta = flexible ? -products[1] / pq : new_rz / rz;
        rz = new_rz;
    }
};

/// Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad, Iterative Methods, 9.2):
///   q = A p,  alpha = r^T z / p^T q,  x += alpha p,  r -= alpha q,
///   z = M^-1 r,  beta = (r^T z)_new / (r^T z)_old,  p = z + beta p.
/// The flexible form (Golub and Ye 1999; Notay 2000) uses the beta of Polak and Ribiere.
template <class T>
class ConjugateGradients : public Method<T> {
    using State = CgState<T>;

  public:
    explicit ConjugateGradients(const System<T>& system, bool flexible = false)
        : system_(system),
          flexible_(flexible),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 3 : 4),
          state_(system.context, 1) {
        if (system.preconditioner != nullptr) z_ = vectors_[3];
    }

    std::span<T> residual() override { return vectors_[0]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }

    void start(int) override {
        const std::span<const T> z = system_.preconditioned(residual(), z_);
        dot<T>(system_.context, residual(), z, &state_.data()->rz);
        copy(system_.context, z, p());
    }

    void iterate(int) override {
        const Context& context = system_.context;
        State* state = state_.data();
        const std::span<T> r = vectors_[0];
        const std::span<T> q = vectors_[1];
        system_.matrix.apply_dot(context, p(), q, &state->pq);
        run_step<&State::next_alpha>(context, state);
        axpy_pair_dot<T>(context, &state->alpha, p(), q, system_.x, r, &state->rr);
        std::span<const T> z = r;
        if (preconditioned() && !flexible_) {
            system_.preconditioner->apply_dot(context, r, z_, state->products);
            z = z_;
        } else if (flexible_) {
            z = system_.preconditioned(r, z_);
            dots<T>(context, 2, vectors_.vectors(0, 2), z, state->products);
        }
        run_step<&State::next_beta>(context, state, preconditioned(), flexible_);
        axpby<T>(context, T(1), z, &state->beta, p());
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    std::span<T> p() { return vectors_[2]; }

    System<T> system_;
    bool flexible_;
    VectorSet<T> vectors_;  ///< r, q, p and, with a preconditioner, z.
    std::span<T> z_;
    Buffer<State> state_;
};

template <class T>
struct FlexibleConjugateGradients final : ConjugateGradients<T> {
    explicit FlexibleConjugateGradients(const System<T>& system)
        : ConjugateGradients<T>(system, true) {}
};

using CgConfig = PlainConfig<ConjugateGradients, 4, false>;
using FcgConfig = PlainConfig<FlexibleConjugateGradients, 4, false>;

}  // namespace tessera
