#pragma once

#include <functional>
#include <memory>

#include "krylov/method.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

template <class T>
using MethodFactory = std::function<std::unique_ptr<Method<T>>(const System<T>&)>;

struct MethodTraits {
    bool allows_left = false;     ///< SolverConfig::allows_left
    bool symmetric_only = false;  ///< SolverConfig::symmetric_only
    bool is_stationary = false;   ///< SolverConfig::is_stationary
    int columns = 1;              ///< Right-hand sides that are iterated together.
    /// A number of vectors is bounded by the rows, of which ranks have different numbers.
    bool depends_on_size = false;
};

/// Right-hand sides that methods for several columns iterate together: the largest number for which
/// kernels read the matrix once.
inline constexpr int columns_together = 8;

/// The common part of all solvers: copies b and x, scales a right-hand side whose squares would
/// leave the range of T, applies left preconditioning, enqueues the iterations of the method that
/// `factory` makes in batches (graphs on a GPU), checks convergence after each batch, and restarts
/// the method from the true residual where necessary. Of several right-hand sides each has its own
/// end; the columns that go on are kept together.
template <class T>
std::unique_ptr<IterativeSolver<T>> make_driver(const Context& context, const Operator<T>& matrix,
                                                const Operator<T>* preconditioner,
                                                MethodFactory<T> factory,
                                                const MethodTraits& traits);

/// A solver without options, as registered. `vectors`: those that the method allocates for a solve
/// with a preconditioner.
template <template <class> class Solver, int vectors, MethodTraits method_traits>
struct PlainConfig {
    static constexpr MethodTraits traits = method_traits;
    explicit PlainConfig(const Spec& spec) { spec.finish(); }
    template <class T>
    auto method(const System<T>& system) const {
        return std::make_unique<Solver<T>>(system);
    }
    Offset numbers(Offset rows) const { return vectors * rows; }
};

}  // namespace tessera
