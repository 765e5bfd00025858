#pragma once

#include "base/for_each.hpp"

// Loop bodies of for_each_index between the vectors of a system and of its reduction.
namespace tessera {

/// x_i += r_i / a_ii for the fixed rows i; an unknown that no equation uses stays.
template <class T>
struct FixUnknowns {
    static constexpr int work = 4;
    const Index* fixed;
    const T* diagonal;  ///< Their diagonal entries.
    const T* residual;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        if (diagonal[k] != T(0)) x[fixed[k]] += residual[fixed[k]] / diagonal[k];
    }
};

/// The right-hand side of the reduced system for the residual of A x = b; factors null: all 1.
template <class T>
struct RestrictResidual {
    static constexpr int work = 3;
    const Index* kept;
    const T* row_factors;
    const T* residual;
    T* reduced;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        const T factor = row_factors == nullptr ? T(1) : row_factors[k];
        reduced[k] = factor * residual[kept[k]];
    }
};

/// x += the solution of the reduced system.
template <class T>
struct AddReduced {
    static constexpr int work = 3;
    const Index* kept;
    const T* column_factors;
    const T* reduced;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        x[kept[k]] += column_factors[k] * reduced[k];
    }
};

}  // namespace tessera
