#include <algorithm>

#include "base/dispatch.hpp"
#include "krylov/driver.hpp"
#include "krylov/gmres_steps.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

/// Restarted GMRES (Saad and Schultz 1986), preconditioned from the right: with v_0 = r / ||r||,
///   w = A M^-1 v_j,  w -= V (V^T w) twice,  h = V^T w,  v_(j+1) = w / ||w||,
/// Givens rotations keep the Hessenberg matrix triangular and give ||r|| without r. After m inner
/// steps, or at the end, x += M^-1 V y with R y = g, and r = b - A x.
template <class T>
class Gmres final : public Method<T> {
  public:
    Gmres(const System<T>& system, int restart)
        : system_(system),
          restart_(int(std::min<Offset>(restart, system.size()))),
          basis_(system.context, system.size(), restart_ + 1),
          z_(system.context, system.preconditioner == nullptr ? 0 : system.size(), 1),
          state_(system.context, 1),
          scalars_(system.context, Offset(restart_) * (restart_ + 6) + 1) {
        const Offset m = restart_;
        T* at = scalars_.data();
        const auto take = [&at](Offset count) {
            T* taken = at;
            at += count;
            return taken;
        };
        arrays_ = {state_.data(), take(m * m), take(m), take(m), take(m + 1),
                   take(m),       take(m),     take(m), restart_};
    }

    std::span<T> residual() override { return basis_[0]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    int period() const override { return restart_; }
    Offset products(Offset iterations) const override { return iterations + iterations / restart_; }

    void start(int) override { begin_cycle(); }

    void iterate(int j) override {
        const Context& context = system_.context;
        const std::span<T> w = basis_[j + 1];
        const std::span<T> basis = basis_.vectors(0, j + 1);
        system_.matrix.apply(context, system_.preconditioned(basis_[j], z_[0]), w);
        for (const bool first : {true, false}) {
            dots<T>(context, j + 1, basis, w, arrays_.sums);
            run_step(context, GmresProject<T>{arrays_, j + 1, first});
            combine<T>(context, j + 1, basis, arrays_.coefficients, T(1), w);
        }
        dot<T>(context, w, w, &state_.data()->ww);
        run_step(context, GmresRotate<T>{arrays_, j});
        axpby<T>(context, T(0), w, &state_.data()->scale, w);
        if (j + 1 < restart_) return;
        finish();
        const std::span<T> product = basis_[restart_];
        system_.matrix.apply(context, system_.x, product);
        axpbypcz<T>(context, T(1), system_.right_hand_side, T(-1), product, T(0), residual());
        begin_cycle();
    }

    void finish() override {
        const Context& context = system_.context;
        const std::span<T> correction = basis_[restart_];
        run_step(context, GmresSolve<T>{arrays_});
        combine<T>(context, restart_, basis_.vectors(0, restart_), arrays_.coefficients, T(0),
                   correction);
        axpby<T>(context, &state_.data()->length, system_.preconditioned(correction, z_[0]), T(1),
                 system_.x);
    }

  private:
    void begin_cycle() {
        const Context& context = system_.context;
        dot<T>(context, residual(), residual(), &state_.data()->rr);
        run_step(context, GmresBegin<T>{arrays_});
        axpby<T>(context, T(0), residual(), &state_.data()->scale, residual());
    }

    System<T> system_;
    int restart_;
    VectorSet<T> basis_;  ///< v_0 .. v_m; the last one also holds V y and A x.
    VectorSet<T> z_;
    Buffer<GmresState<T>> state_;
    Buffer<T> scalars_;
    GmresArrays<T> arrays_;
};

}  // namespace

template <class T>
SolveReport gmres(const Context& context, const Operator<T>& matrix,
                  const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                  int restart, const SolveOptions& options) {
    require(restart >= 1, "gmres: restart must be 1 or more");
    return drive<T>(
        context, matrix, preconditioner, b, x, options,
        [restart](const System<T>& system) { return std::make_unique<Gmres<T>>(system, restart); });
}

#define TESSERA_INSTANTIATE(T)                                                            \
    template SolveReport gmres<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                  std::span<const T>, std::span<T>, int, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
