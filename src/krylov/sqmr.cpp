#include "base/dispatch.hpp"
#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"
#include "krylov/sqmr_steps.hpp"

namespace tessera {

namespace {

/// Symmetric quasi-minimal residuals without look-ahead (Freund and Nachtigal, "A new Krylov-
/// subspace method for symmetric indefinite linear systems", 14th IMACS World Congress, 1994), M
/// taken from the right:
///   t = A q,  alpha = rho / q^T t,  r -= alpha t,
///   theta = ||r|| / tau,  c^2 = 1 / (1 + theta^2),  tau = tau theta c,
///   d = c^2 theta_old^2 d + c^2 alpha q,  x += d,  s = c^2 theta^2 s + c^2 r,
///   u = M^-1 r,  rho = r^T u,  q = u + (rho / rho_old) q.
/// r is the residual of the biconjugate gradients behind it, s = b - A x (Zhou and Walker, SIAM J.
/// Sci. Comput. 15, 1994).
template <class T>
class SymmetricQmr final : public Method<T> {
  public:
    explicit SymmetricQmr(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 6),
          state_(system.context, 1) {}

    std::span<T> residual() override { return s(); }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return iterations; }

    void start(int) override {
        const Context& context = system_.context;
        copy(context, std::span<const T>(s()), r());
        dot<T>(context, r(), r(), &state_.data()->rr);
        const std::span<const T> u = precondition();
        copy(context, u, q());
        run_step(context, SqmrStart<T>{state_.data(), preconditioned()});
    }

    void iterate(int) override {
        const Context& context = system_.context;
        SqmrState<T>* state = state_.data();
        system_.matrix.apply(context, q(), t());
        dots<T>(context, 2, vectors_.vectors(0, 2), t(), state->qt_tt);
        dot<T>(context, q(), q(), &state->qq);
        run_step(context, SqmrAlpha<T>{state});
        axpby<T>(context, &state->minus_alpha, t(), T(1), r());
        dot<T>(context, r(), r(), &state->rr);
        run_step(context, SqmrSmooth<T>{state});
        axpby<T>(context, &state->d_of_q, q(), &state->d_of_d, d());
        axpby<T>(context, &state->step, d(), T(1), system_.x);
        axpby<T>(context, &state->s_of_r, r(), &state->s_of_s, s());
        dot<T>(context, s(), s(), &state->ss);
        const std::span<const T> u = precondition();
        run_step(context, SqmrBeta<T>{state, preconditioned()});
        axpby<T>(context, T(1), u, &state->beta, q());
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    /// u = M^-1 r and its products; without a preconditioner r itself.
    std::span<const T> precondition() {
        if (!preconditioned()) return r();
        system_.preconditioner->apply(system_.context, r(), vectors_[5]);
        dots<T>(system_.context, 2, vectors_.vectors(4, 2), vectors_[5], state_.data()->ru_uu);
        return vectors_[5];
    }

    // Neighbours are the pairs that one pass of `dots` takes.
    std::span<T> q() { return vectors_[0]; }
    std::span<T> t() { return vectors_[1]; }
    std::span<T> d() { return vectors_[2]; }
    std::span<T> s() { return vectors_[3]; }
    std::span<T> r() { return vectors_[4]; }

    System<T> system_;
    VectorSet<T> vectors_;  ///< q, t, d, s, r and, with a preconditioner, u.
    Buffer<SqmrState<T>> state_;
};

}  // namespace

template <class T>
SolveReport sqmr(const Context& context, const Operator<T>& matrix,
                 const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                 const SolveOptions& options) {
    require(options.side == Side::right,
            "sqmr: the preconditioner has no side; leave side at right, or take gmres, idr or "
            "bicgstab for preconditioning from the left");
    return drive<T>(context, matrix, preconditioner, b, x, options, [](const System<T>& system) {
        return std::make_unique<SymmetricQmr<T>>(system);
    });
}

#define TESSERA_INSTANTIATE(T)                                                           \
    template SolveReport sqmr<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                 std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
