#include "krylov/driver.hpp"
#include "krylov/richardson_steps.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

namespace {

/// x += M^-1 r,  r = b - A x.
template <class T>
class Richardson final : public Method<T> {
  public:
    explicit Richardson(const System<T>& system)
        : system_(system), vectors_(system.context, system.size(), 2), state_(system.context, 1) {}

    std::span<T> residual() override { return vectors_[0]; }
    Recurrence<T>* recurrence() override { return &state_.data()->recurrence; }
    Offset products(Offset iterations) const override { return iterations; }
    void start(int) override {}

    void iterate(int) override {
        const Context& context = system_.context;
        RichardsonState<T>* state = state_.data();
        const std::span<T> r = vectors_[0];
        const std::span<T> work = vectors_[1];
        run_step(context, RichardsonBegin<T>{state});
        const std::span<const T> z = system_.preconditioned(r, work);
        axpby<T>(context, &state->length, z, T(1), system_.x);
        system_.matrix.apply(context, system_.x, work);
        axpbypcz<T>(context, T(1), system_.right_hand_side, T(-1), work, T(0), r);
        dot<T>(context, r, r, &state->rr);
        run_step(context, RichardsonEnd<T>{state});
    }

  private:
    System<T> system_;
    VectorSet<T> vectors_;  ///< r, and room for M^-1 r and A x.
    Buffer<RichardsonState<T>> state_;
};

}  // namespace

template <class T>
SolveReport richardson(const Context& context, const Operator<T>& matrix,
                       const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                       const SolveOptions& options) {
    return drive<T>(context, matrix, preconditioner, b, x, options, [](const System<T>& system) {
        return std::make_unique<Richardson<T>>(system);
    });
}

#define TESSERA_INSTANTIATE(T)                                                                 \
    template SolveReport richardson<T>(const Context&, const Operator<T>&, const Operator<T>*, \
                                       std::span<const T>, std::span<T>, const SolveOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
