#include "krylov/bicgstab_steps.hpp"
#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

/// BiCGSTAB (van der Vorst, SIAM J. Sci. Stat. Comput. 13, 1992), preconditioned from the right;
/// w is the shadow vector, the residual at the start:
///   y = M^-1 p,  v = A y,  alpha = rho / w^T v,  s = r - alpha v,
///   z = M^-1 s,  t = A z,  omega = t^T s / t^T t,
///   x += alpha y + omega z,  r = s - omega t,
///   beta = (rho_new / rho) (alpha / omega),  p = r + beta (p - omega v),  rho = w^T r.
template <class T>
class Bicgstab final : public Method<T> {
  public:
    explicit Bicgstab(const System<T>& system)
        : system_(system),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 5 : 7),
          state_(system.context, 1) {
        if (system.preconditioner == nullptr) return;
        y_ = vectors_[5];
        z_ = vectors_[6];
    }

    std::span<T> residual() override { return r(); }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return 2 * iterations; }

    void start(int) override {
        const Context& context = system_.context;
        copy(context, std::span<const T>(r()), shadow());
        copy(context, std::span<const T>(r()), p());
        dot<T>(context, r(), r(), state_.data()->rr_rho);
        run_step(context, BicgstabStart<T>{state_.data()});
    }

    void iterate(int) override {
        const Context& context = system_.context;
        BicgstabState<T>* state = state_.data();
        const std::span<const T> y = system_.preconditioned(p(), y_);
        system_.matrix.apply(context, y, v());
        dots<T>(context, 2, vectors_.vectors(2, 2), v(), state->shadow_v);
        run_step(context, BicgstabAlpha<T>{state});
        axpby<T>(context, &state->minus_alpha, v(), T(1), r());

        const std::span<const T> z = system_.preconditioned(r(), z_);
        system_.matrix.apply(context, z, t());
        dots<T>(context, 2, vectors_.vectors(0, 2), r(), state->ts_ss);
        dot<T>(context, t(), t(), &state->tt);
        run_step(context, BicgstabOmega<T>{state});
        axpbypcz<T>(context, &state->alpha, y, &state->omega, z, T(1), system_.x);
        axpby<T>(context, &state->minus_omega, t(), T(1), r());

        dots<T>(context, 2, vectors_.vectors(1, 2), r(), state->rr_rho);
        run_step(context, BicgstabBeta<T>{state});
        axpbypcz<T>(context, T(1), r(), &state->minus_beta_omega, v(), &state->beta, p());
    }

  private:
    // Neighbours are the pairs that one pass of `dots` takes.
    std::span<T> t() { return vectors_[0]; }
    std::span<T> r() { return vectors_[1]; }
    std::span<T> shadow() { return vectors_[2]; }
    std::span<T> v() { return vectors_[3]; }
    std::span<T> p() { return vectors_[4]; }

    System<T> system_;
    VectorSet<T> vectors_;
    std::span<T> y_, z_;
    Buffer<BicgstabState<T>> state_;
};

}  // namespace

template <class T>
SolveReport bicgstab(const Context& context, const Operator<T>& matrix,
                     const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                     const SolveOptions& options) {
    return drive<T>(context, matrix, preconditioner, b, x, options,
                    [](const System<T>& system) { return std::make_unique<Bicgstab<T>>(system); });
}

#define TESSERA_INSTANTIATE(T)                                                               \
    template SolveReport bicgstab<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                     std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
