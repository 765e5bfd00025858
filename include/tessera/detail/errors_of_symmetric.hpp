#pragma once

#include "tessera/solution_errors.hpp"

namespace tessera {

/// As equilibrated_errors, of a matrix that is symmetric up to rounding: on a CPU its rows alone
/// are looked at, in half the time.
template <class T>
EquilibratedErrors equilibrated_errors_of_symmetric(const Context& context,
                                                    const CsrView<T>& matrix, std::span<const T> b,
                                                    std::span<const T> x);

}  // namespace tessera
