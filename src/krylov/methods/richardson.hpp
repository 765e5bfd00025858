#pragma once

#include "krylov/driver.hpp"
#include "krylov/run_step.hpp"

namespace tessera {

template <class T>
struct RichardsonState {
    Recurrence<T> recurrence;
    T rr;      ///< r^T r
    T length;  ///< 1 while running, then 0.

    TESSERA_HOST_DEVICE void begin() { length = recurrence.begin() ? T(1) : T(0); }

    TESSERA_HOST_DEVICE void end() {
        recurrence.observe(std::sqrt(rr));
        recurrence.count();
    }
};

/// x += M^-1 r,  r = b - A x.
template <class T>
class Richardson final : public Method<T> {
    using State = RichardsonState<T>;

  public:
    explicit Richardson(const System<T>& system)
        : system_(system), vectors_(system.context, system.size(), 2), state_(system.context, 1) {}

    std::span<T> residual(int) override { return vectors_(0, 0); }
    Recurrence<T>* recurrence(int) override { return &state_.data()->recurrence; }
    void start(int, int) override {}

    void iterate(int) override {
        const Context& context = system_.context;
        State* state = state_.data();
        const std::span<T> r = vectors_(0, 0);
        const std::span<T> work = vectors_(0, 1);
        run_step<&State::begin>(context, state);
        const std::span<const T> z = system_.preconditioned(r, work);
        axpby<T>(context, &state->length, z, T(1), system_.x[0]);
        system_.true_residual(0, system_.x[0], work, r);
        dot<T>(context, r, r, &state->rr);
        run_step<&State::end>(context, state);
    }

  private:
    System<T> system_;
    VectorSet<T> vectors_;  ///< r, M^-1 r and A x
    Buffer<State> state_;
};

using RichardsonConfig =
    PlainConfig<Richardson, 2, MethodTraits{.allows_left = true, .is_stationary = true}>;

}  // namespace tessera
