#pragma once

#include <functional>
#include <memory>

#include "krylov/method.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

template <class T>
using MethodFactory = std::function<std::unique_ptr<Method<T>>(const System<T>&)>;

/// The common part of all solvers: copies b and x, scales a right-hand side whose squares would
/// leave the range of T, applies left preconditioning, enqueues the iterations of the method that
/// `factory` makes in batches (graphs on a GPU), checks convergence after each batch, and restarts
/// the method from the true residual where necessary. `takes_left`: left preconditioning is
/// supported.
template <class T>
std::unique_ptr<IterativeSolver<T>> make_driver(const Context& context, const Operator<T>& matrix,
                                                const Operator<T>* preconditioner,
                                                MethodFactory<T> factory, bool takes_left);

/// A solver without options, as registered. `vectors`: those that the method allocates for a solve
/// with a preconditioner.
template <template <class> class Solver, int vectors, bool takes_left>
struct PlainConfig {
    static constexpr bool left = takes_left;
    explicit PlainConfig(const Spec& spec) { spec.finish(); }
    template <class T>
    auto method(const System<T>& system) const {
        return std::make_unique<Solver<T>>(system);
    }
    Offset numbers(Offset rows) const { return vectors * rows; }
};

}  // namespace tessera
