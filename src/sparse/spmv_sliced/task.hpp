#pragma once

#include "sparse/stored_value.hpp"

namespace tessera::cuda {

/// What a product works on.
template <class Stored, class T>
struct SlicedTask {
    SlicedPattern matrix;
    const Stored* values;
    T alpha;
    const T* x;
    T beta;
    T* y;
    bool stays;  ///< The matrix is still in the L2 cache when its next product begins.
};

/// The product with values kept as Stored; compiled in a file for each few of them.
template <class Stored, class T>
void multiply_stored(const Context& context, const SlicedTask<Stored, T>& task,
                     const FormatOptions& options);

}  // namespace tessera::cuda
