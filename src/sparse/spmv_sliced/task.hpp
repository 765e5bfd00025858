#pragma once

#include "sparse/stored_value.hpp"

namespace tessera::cuda {

/// ScaledResult on a GPU; z is null where it is not asked for.
struct ScaledTarget {
    double* z;
    const double* d;
    const double* square;
    const double* r;
    double* rz;
};

/// What a product does with its result q = A x.
template <class T>
struct SlicedEnd {
    RecurrenceStep<T> step;  ///< to = product q + own x + before y + given r.
    const T* y;
    const T* r;
    T* to;
    T* dot;             ///< x^T to, or null.
    ScaledTarget wide;  ///< In the place of to.
    double* partial;    ///< Partial sums of a dot,
    unsigned* counter;  ///< and how many have been left.
};

/// What a product works on.
template <class Stored, class T>
struct SlicedTask {
    SlicedPattern matrix;
    const Stored* values;
    const T* x;
    bool stays;  ///< The matrix is still in the L2 cache when its next product begins.
    SlicedEnd<T> end;
};

/// Whether the threads of a product walk pads, too.
inline bool reads_pads(const FormatOptions& options) {
    return options.format == MatrixFormat::ell || options.threads > 0;
}

/// The product with values kept as Stored; compiled in a file for each few of them.
template <class Stored, class T>
void multiply_stored(const Context& context, const SlicedTask<Stored, T>& task,
                     const FormatOptions& options);

/// The same for columns of 16 bits in slices of the usual height, of one row or more.
template <class Stored, class T>
void multiply_offsets(const Context& context, const SlicedTask<Stored, T>& task, int lanes);

}  // namespace tessera::cuda
