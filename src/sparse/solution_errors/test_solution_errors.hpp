#pragma once

#include "krylov/test_systems.hpp"
#include "tessera/solution_errors.hpp"

namespace tessera::test {

struct Found {
    SolutionErrors errors;
    double equilibrated;
};

/// The errors of x, measured in the memory of context().
template <class T>
Found find(const CsrMatrix<T>& matrix, const std::vector<T>& b, const std::vector<T>& x) {
    const CsrMatrix<T> a = copy_to(context(), matrix);
    const Buffer<T> b_placed = copy_to_buffer(context(), b),
                    x_placed = copy_to_buffer(context(), x);
    return {solution_errors<T>(context(), a.view(), b_placed.view(), x_placed.view()),
            equilibrated_errors<T>(context(), a.view(), b_placed.view(), x_placed.view()).error};
}

}  // namespace tessera::test
