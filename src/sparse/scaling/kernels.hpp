#pragma once

#include "sparse/scaling/factor_pattern.hpp"
#include "tessera/scaling.hpp"

namespace tessera {

/// What the first row at fault of a block is wrong with.
enum class ScalingFault : Index {
    none = 0,
    not_positive = 1,  ///< The pivot is missing, not positive or not finite.
    not_full = 2,      ///< The rows of the block differ in columns, or a block of columns is cut.
};

/// The block diagonal factor S and its transpose as CSR matrices whose pattern is set: row i of the
/// block [first, last) has the columns first..i in S, i..last-1 in the transpose. S is diagonal
/// where all blocks have one row.
template <class T>
struct ScalingFactors {
    Index rows;
    const Offset* offsets;     ///< rows + 1, of S.
    const Offset* transposed;  ///< rows + 1, of the transpose.
    T* values;
    T* transposed_values;
};

/// What is wrong with rows; -1: no such row.
struct FaultSummary {
    Index first_not_full = -1;
    Index not_positive = 0;
    Index first_not_positive = -1;
};

// factor_entries: entries[b] of S in the blocks before block b, b = 0 .. count, and their total; it
// waits, and so does summarise. fill_patterns: the patterns of S and its transpose.
//
// S = diag(a_ii)^(-1/2) in `diagonal`, NaN and a fault where that cannot be; then the values
// a_ij (s_i s_j). Or, with blocks (count + 1 starts), the inverse Cholesky factors, and S A S^T,
// each entry in the order of sums that its mirror image has. `faults`: one for each row. These do
// not wait.
#define TESSERA_SCALING                                                                       \
    Offset factor_entries(const Context& context, const Index* starts, Index count,           \
                          Offset* entries);                                                   \
    void fill_patterns(const Context& context, const Index* starts, Index count,              \
                       const Offset* entries, const FactorPatterns& to);                      \
    FaultSummary summarise(const Context& context, const ScalingFault* faults, Index rows);   \
    template <class T>                                                                        \
    void invert_root_diagonal(const Context& context, const CsrView<T>& matrix, T* diagonal,  \
                              ScalingFault* faults);                                          \
    template <class T>                                                                        \
    void scale_points(const Context& context, const CsrView<T>& matrix, const T* diagonal,    \
                      T* scaled);                                                             \
    template <class T>                                                                        \
    void factor_blocks(const Context& context, const CsrView<T>& matrix, const Index* starts, \
                       Index count, Index largest, const ScalingFactors<T>& factors,          \
                       ScalingFault* faults);                                                 \
    template <class T>                                                                        \
    void scale_blocks(const Context& context, const CsrView<T>& matrix,                       \
                      const ScalingFactors<T>& factors, T* scaled);

namespace cpu {
TESSERA_SCALING
}
namespace cuda {
TESSERA_SCALING
}

#undef TESSERA_SCALING

#define TESSERA_INSTANTIATE_SCALING(T)                                                            \
    template void invert_root_diagonal<T>(const Context&, const CsrView<T>&, T*, ScalingFault*);  \
    template void scale_points<T>(const Context&, const CsrView<T>&, const T*, T*);               \
    template void factor_blocks<T>(const Context&, const CsrView<T>&, const Index*, Index, Index, \
                                   const ScalingFactors<T>&, ScalingFault*);                      \
    template void scale_blocks<T>(const Context&, const CsrView<T>&, const ScalingFactors<T>&, T*);

}  // namespace tessera
