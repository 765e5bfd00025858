#pragma once

#include <functional>
#include <memory>

#include "krylov/method.hpp"
#include "tessera/krylov.hpp"

namespace tessera {

template <class T>
using MethodFactory = std::function<std::unique_ptr<Method<T>>(const System<T>&)>;

/// Throws InvalidArgument for sizes that do not agree and options that cannot be.
template <class T>
void check_solve(const Operator<T>& matrix, const Operator<std::type_identity_t<T>>* preconditioner,
                 std::size_t b_size, std::size_t x_size, const SolveOptions& options);

/// What all solvers share: checks the arguments, scales a right-hand side whose squares would leave
/// the range of T, applies Side::left, enqueues the iterations of the method that `factory` makes
/// in batches (graphs on a GPU), looks at its Recurrence after each, and restarts it from the true
/// residual where that is what decides.
template <class T>
SolveReport drive(const Context& context, const Operator<T>& matrix,
                  const Operator<T>* preconditioner, std::span<const T> b, std::span<T> x,
                  const SolveOptions& options, const MethodFactory<T>& factory);

}  // namespace tessera
