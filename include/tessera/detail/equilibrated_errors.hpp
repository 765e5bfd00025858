#pragma once

#include "tessera/solution_errors.hpp"

namespace tessera {

/// As equilibrated_errors, of a matrix that is symmetric up to rounding: on a CPU its rows alone
/// are looked at, in half the time.
template <class T>
EquilibratedErrors equilibrated_errors_of_symmetric(const Context& context,
                                                    const CsrView<T>& matrix, std::span<const T> b,
                                                    std::span<const T> x);

/// Upper bounds of equilibrated_errors, infinite where rows do not tell, or on a GPU, in the time
/// of a product. `backward_error`: that of x. For all R and C ||R A C|| ||C^-1 x|| + ||R b|| is at
/// least R_i (|A| |x| + |b|)_i for each i; and where the largest entries of rows and columns of
/// R A C are within 2 of 1, ||R A C|| ||C^-1 x|| is at most 4 max_i R_i (|A| |x|)_i times the
/// entries of the longest row.
template <class T>
EquilibratedErrors bounds_of_equilibrated_errors(const Context& context, const CsrView<T>& matrix,
                                                 std::span<const T> b, std::span<const T> x,
                                                 double backward_error);

}  // namespace tessera
