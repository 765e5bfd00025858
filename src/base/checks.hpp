#pragma once

#include <limits>

#include "base/context_state.hpp"
#include "base/dispatch.hpp"

// Checks of the arguments of public functions; all take a few instructions unless they say more.
// `who` and `what` name the function and its argument in messages.

namespace tessera {

/// Throws InvalidArgument for negative sizes and missing arrays of a CsrView; reads no array.
template <class Matrix>
void check_matrix(const char* who, const Matrix& matrix) {
    naming_argument("matrix", [&] {
        require(matrix.rows >= 0 && matrix.columns >= 0 && matrix.nonzeros >= 0, who,
                ": the matrix has a negative size");
        require(matrix.row_offsets != nullptr, who,
                ": the matrix has no row offsets (null, or a moved-from matrix)");
        require(
            matrix.nonzeros == 0 || (matrix.column_indices != nullptr && matrix.values != nullptr),
            who, ": the matrix has no column indices or no values (null)");
    });
}

/// Throws InvalidArgument unless a matrix of these sizes is square.
inline void check_square(const char* who, Index rows, Index columns) {
    require_argument("matrix", rows == columns, who, ": the matrix must be square");
}

/// Throws InvalidArgument unless the vector has `size` elements and is not null.
template <class T>
void check_vector(const char* who, const char* what, std::span<T> vector, Offset size) {
    require_argument(what, Offset(vector.size()) == size, who, ": ", what, " must have ", size,
                     " elements, not ", vector.size());
    require_argument(what, vector.data() != nullptr || size == 0, who, ": ", what, " is null");
}

/// check_vector for several vectors.
template <class T>
void check_vectors(const char* who, const char* what, const Vectors<T>& vectors, Offset size) {
    naming_argument(what, [&] {
        require(vectors.count >= 0, who, ": ", what, " has a negative number of vectors");
        require(vectors.size == size, who, ": ", what, " must have ", size, " elements, not ",
                vectors.size);
        require(vectors.count <= 1 || vectors.leading >= size, who, ": ", what,
                " has a leading dimension of ", vectors.leading, ", below the ", size, " elements");
        constexpr Offset most = std::numeric_limits<Offset>::max() / Offset(sizeof(T));
        require(vectors.count <= 1 || vectors.leading <= (most - size) / (vectors.count - 1), who,
                ": ", what, " has a leading dimension of ", vectors.leading,
                ", more than any array has elements");
        require(vectors.data != nullptr || size == 0 || vectors.count == 0, who, ": ", what,
                " is null");
    });
}

/// Throws InvalidArgument unless kernels of the Context can read the array; once the process has a
/// CUDA Context, one call of the driver, about a microsecond.
inline void check_memory(const Context& context, const char* who, const char* what,
                         const void* array) {
    require_argument(what, array == nullptr || context.state().reaches(array), who, ": ", what,
                     " is not in the memory of the Context (copy_to and copy_to_buffer put it "
                     "there)");
}
/// check_memory for the three arrays of a CsrView.
template <class Matrix>
void check_memory(const Context& context, const char* who, const Matrix& matrix) {
    const auto check = [&](const char* what, const void* array) {
        require_argument("matrix", array == nullptr || context.state().reaches(array), who, ": ",
                         what,
                         " is not in the memory of the Context (copy_to and copy_to_buffer put it "
                         "there)");
    };
    check("the array of row offsets", matrix.row_offsets);
    check("the array of column indices", matrix.column_indices);
    check("the array of values", matrix.values);
}

}  // namespace tessera
