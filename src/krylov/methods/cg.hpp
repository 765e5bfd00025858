#pragma once

#include "base/zeros.hpp"
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
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 3 : 4,
                   system.x.count),
          state_(zeros<State>(system.context, system.x.count)) {}

    std::span<T> residual(int c) override { return vectors_(c, 0); }
    Recurrence<T>* recurrence(int c) override { return &state(c)->recurrence; }

    void start(int c, int) override {
        const std::span<const T> z =
            system_.preconditioned(residual(c), preconditioned() ? vectors_(c, 3) : std::span<T>());
        dot<T>(system_.context, residual(c), z, &state(c)->rz);
        copy(system_.context, z, vectors_(c, 2));
    }

    void iterate(int) override {
        const Context& context = system_.context;
        const int columns = this->columns();
        const Vectors<T> r = vectors_.first(columns, 0), q = vectors_.first(columns, 1),
                         p = vectors_.first(columns, 2);
        const Vectors<T> x = system_.x.part(0, columns);
        system_.apply_dot(system_.matrix, p, q, each(&State::pq));
        run_steps<&State::next_alpha>(context, state(0), columns);
        axpy_pair_dot_each<T>(context, each(&State::alpha), p, q, x, r, each(&State::rr));
        const Vectors<const T> z = precondition(r);
        run_steps<&State::next_beta>(context, state(0), columns, preconditioned(), flexible_);
        xpby_each<T>(context, z, each(&State::beta), p);
    }

    void copy_column(int from, int to) override {
        vectors_.copy_column(system_.context, from, to);
        copy(system_.context, std::span<const State>(state(from), 1),
             std::span<State>(state(to), 1));
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    State* state(int c) { return state_.data() + c; }
    /// A number of each state.
    NumberPerVector<T> each(T State::*number) { return {&(state(0)->*number), sizeof(State)}; }

    /// z = M^-1 r and its products.
    Vectors<const T> precondition(Vectors<const T> r) {
        if (!preconditioned() && !flexible_) return r;
        const Vectors<T> to = preconditioned() ? vectors_.first(r.count, 3) : Vectors<T>();
        if (!flexible_) {
            system_.apply_dot(*system_.preconditioner, r, to, {state(0)->products, sizeof(State)});
            return to;
        }
        const Vectors<const T> z = system_.preconditioned(r, to);
        for (int c = 0; c < r.count; ++c) {
            dots<T>(system_.context, 2, vectors_.vectors(c, 0, 2), z[c], state(c)->products);
        }
        return z;
    }

    System<T> system_;
    bool flexible_;
    VectorSet<T> vectors_;  ///< r, q, p and, with a preconditioner, z.
    Buffer<State> state_;
};

template <class T>
struct FlexibleConjugateGradients final : ConjugateGradients<T> {
    explicit FlexibleConjugateGradients(const System<T>& system)
        : ConjugateGradients<T>(system, true) {}
};

inline constexpr MethodTraits cg_traits{.symmetric_only = true, .columns = columns_together};
using CgConfig = PlainConfig<ConjugateGradients, 4, cg_traits>;
using FcgConfig = PlainConfig<FlexibleConjugateGradients, 4, cg_traits>;

}  // namespace tessera
