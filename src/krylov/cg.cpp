#include "base/dispatch.hpp"
#include "krylov/cg_steps.hpp"
#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

/// Preconditioned conjugate gradients (Hestenes and Stiefel 1952; Saad, Iterative Methods, 9.2):
///   q = A p,  alpha = r^T z / p^T q,  x += alpha p,  r -= alpha q,
///   z = M^-1 r,  beta = (r^T z)_new / (r^T z)_old,  p = z + beta p.
/// The flexible form (Golub and Ye 1999; Notay 2000) takes the beta of Polak and Ribiere.
template <class T>
class ConjugateGradients final : public Method<T> {
  public:
    ConjugateGradients(const System<T>& system, bool flexible)
        : system_(system),
          flexible_(flexible),
          vectors_(system.context, system.size(), system.preconditioner == nullptr ? 3 : 4),
          state_(system.context, 1) {
        if (system.preconditioner != nullptr) z_ = vectors_[3];
    }

    std::span<T> residual() override { return vectors_[0]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return iterations; }

    void start(int) override {
        const std::span<const T> z = system_.preconditioned(residual(), z_);
        dot<T>(system_.context, residual(), z, &state_.data()->rz);
        copy(system_.context, z, p());
    }

    void iterate(int) override {
        const Context& context = system_.context;
        CgState<T>* state = state_.data();
        const std::span<T> r = vectors_[0];
        const std::span<T> q = vectors_[1];
        system_.matrix.apply_dot(context, p(), q, &state->pq);
        run_step(context, CgAlpha<T>{state});
        axpy_pair_dot<T>(context, &state->alpha, p(), q, system_.x, r, &state->rr);
        std::span<const T> z = r;
        if (preconditioned() && !flexible_) {
            system_.preconditioner->apply_dot(context, r, z_, state->products);
            z = z_;
        } else if (flexible_) {
            z = system_.preconditioned(r, z_);
            dots<T>(context, 2, vectors_.vectors(0, 2), z, state->products);
        }
        run_step(context, CgBeta<T>{state, preconditioned(), flexible_});
        axpby<T>(context, T(1), z, &state->beta, p());
    }

  private:
    bool preconditioned() const { return system_.preconditioner != nullptr; }
    std::span<T> p() { return vectors_[2]; }

    System<T> system_;
    bool flexible_;
    VectorSet<T> vectors_;  ///< r, q, p and, with a preconditioner, z.
    std::span<T> z_;
    Buffer<CgState<T>> state_;
};

template <class T>
SolveReport conjugate_gradients(const Context& context, const Operator<T>& matrix,
                                const Operator<T>* preconditioner, std::span<const T> b,
                                std::span<T> x, const SolveOptions& options, bool flexible) {
    require(options.side == Side::right,
            "conjugate gradients: the preconditioner has no side; leave side at right, or take "
            "gmres, idr or bicgstab for preconditioning from the left");
    return drive<T>(context, matrix, preconditioner, b, x, options,
                    [flexible](const System<T>& system) {
                        return std::make_unique<ConjugateGradients<T>>(system, flexible);
                    });
}

}  // namespace

template <class T>
SolveReport cg(const Context& context, const Operator<T>& matrix, const Operator<T>* preconditioner,
               std::span<const T> b, std::span<T> x, const SolveOptions& options) {
    return conjugate_gradients(context, matrix, preconditioner, b, x, options, false);
}

template <class T>
SolveReport fcg(const Context& context, const Operator<T>& matrix,
                const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                const SolveOptions& options) {
    return conjugate_gradients(context, matrix, preconditioner, b, x, options, true);
}

#define TESSERA_INSTANTIATE(T)                                                          \
    template SolveReport cg<T>(const Context&, const Operator<T>&, const Operator<T>*,  \
                               std::span<const T>, std::span<T>, const SolveOptions&);  \
    template SolveReport fcg<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
