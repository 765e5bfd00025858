#include "base/dispatch.hpp"
#include "krylov/driver.hpp"
#include "krylov/minres_steps.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

/// Minimal residuals (Paige and Saunders, SIAM J. Numer. Anal. 12, 1975; preconditioned as in
/// Elman, Silvester and Wathen, Finite Elements and Fast Iterative Solvers, Algorithm 4.1):
///   Lanczos: beta_(k+1) v_(k+1) = A z_k - alpha_k v_k - beta_k v_(k-1), z = M^-1 v, v^T z = 1,
///   Givens rotations bring the tridiagonal matrix to a triangle R; Z = D R gives
///   d_k = (z_k - delta_k d_(k-1) - epsilon_k d_(k-2)) / gamma_k,  x += phi_k d_k,
///   r_k = s_k^2 r_(k-1) + c_k phi_bar_k v_(k+1).
/// Vectors are held unscaled, w_k = beta_k v_k. The last line is needed with a preconditioner only,
/// where phi_bar is the norm of r in M^-1 instead of the 2-norm.
template <class T>
class MinimalResiduals final : public Method<T> {
  public:
    explicit MinimalResiduals(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 8),
          state_(system.context, 1) {}

    std::span<T> residual() override { return vectors_[preconditioned() ? 7 : 0]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    int period() const override { return 2; }
    Offset products(Offset iterations) const override { return iterations; }

    void start(int) override {
        const Context& context = system_.context;
        if (preconditioned()) copy(context, std::span<const T>(residual()), w(0));
        const std::span<const T> z = system_.preconditioned(w(0), z_room(0));
        dot<T>(context, w(0), z, &state_.data()->wz);
        run_step(context, MinresStart<T>{state_.data()});
    }

    void iterate(int position) override {
        const Context& context = system_.context;
        MinresState<T>* state = state_.data();
        const int other = 1 - position;
        const std::span<const T> z = preconditioned() ? z_room(position) : w(position);
        system_.matrix.apply(context, z, p());
        dot<T>(context, z, p(), &state->zp);
        run_step(context, MinresLanczos<T>{state});
        axpbypcz<T>(context, &state->w_of_p, p(), &state->w_of_w, w(position), &state->w_of_before,
                    w(other));
        const std::span<const T> next = system_.preconditioned(w(other), z_room(other));
        dot<T>(context, w(other), next, &state->next_wz);
        run_step(context, MinresRotate<T>{state, preconditioned()});
        axpbypcz<T>(context, &state->d_of_z, z, &state->d_of_last, d(other), &state->d_of_before,
                    d(position));
        axpby<T>(context, &state->step, d(position), T(1), system_.x);
        if (!preconditioned()) return;
        axpby<T>(context, &state->add, w(other), &state->keep, residual());
        dot<T>(context, residual(), residual(), &state->rr);
        run_step(context, MinresEnd<T>{state});
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    // At position 0 of the pattern w_k is w(0), d_k is to be d(0), and d_(k-1) is d(1).
    std::span<T> w(int k) { return vectors_[k]; }
    std::span<T> d(int k) { return vectors_[2 + k]; }
    std::span<T> p() { return vectors_[4]; }
    std::span<T> z_room(int k) { return preconditioned() ? vectors_[5 + k] : std::span<T>(); }

    System<T> system_;
    VectorSet<T> vectors_;
    Buffer<MinresState<T>> state_;
};

}  // namespace

template <class T>
SolveReport minres(const Context& context, const Operator<T>& matrix,
                   const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                   const SolveOptions& options) {
    require(options.side == Side::right,
            "minres: the preconditioner has no side; leave side at right, or take gmres, idr or "
            "bicgstab for preconditioning from the left");
    return drive<T>(context, matrix, preconditioner, b, x, options, [](const System<T>& system) {
        return std::make_unique<MinimalResiduals<T>>(system);
    });
}

#define TESSERA_INSTANTIATE(T)                                                             \
    template SolveReport minres<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                   std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
