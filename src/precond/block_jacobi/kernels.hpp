#pragma once

#include "tessera/precond.hpp"

namespace tessera {

/// A block-diagonal matrix of packed column-major inverses; all arrays in the memory of a Context.
template <class T>
struct PackedBlocks {
    Index rows = 0;
    Index count = 0;
    Index largest = 0;                      ///< Rows of the largest block, 0..32.
    const Index* block_offsets = nullptr;   ///< count + 1 rows.
    const Offset* entry_offsets = nullptr;  ///< count + 1 positions in the values.
};

/// Extracts the diagonal blocks of `matrix`, inverts each by Gauss-Jordan elimination with implicit
/// partial pivoting (Anzt et al., Fig. 2) and stores the inverses.
///   inverses  sum of size^2 values; block b column-major at entry_offsets[b].
///   info      per block 0, or k: the k-th pivot (1-based), or its reciprocal, is zero or not
///             finite; or the block's rows where only an entry of its inverse is not finite.
///   shifts    per block -1, or with SingularPolicy::shift the k that was used.
/// The GPU kernel takes the block transposed from shared memory into registers and so pivots among
/// the columns of B, bounding the right residual ||B X - I||; the CPU kernel pivots among
/// the rows and bounds the left one, ||X B - I||: each below n eps ||B|| ||X|| max(1, growth).
/// Where a block is singular: stop, the whole inverse is NaN; identity, it is the identity; shift,
/// that of B + 2^k sqrt(eps) ||B||_inf I, smallest k in 0..60 that inverts (a zero block counts
/// as norm 1; a block with NaN or infinity stays NaN under every policy). Results do not depend on
/// neighbours or on threads. No wait.
namespace cpu {
template <class T>
void setup(const Context& context, const CsrView<T>& matrix, const PackedBlocks<T>& blocks,
           SingularPolicy policy, T* inverses, Index* info, std::int8_t* shifts);
/// z_b = X_b r_b for every block; r and z do not overlap.
template <class T>
void apply(const Context& context, const PackedBlocks<T>& blocks, const T* inverses, const T* r,
           T* z);
}  // namespace cpu
namespace cuda {
template <class T>
void setup(const Context& context, const CsrView<T>& matrix, const PackedBlocks<T>& blocks,
           SingularPolicy policy, T* inverses, Index* info, std::int8_t* shifts);
template <class T>
void apply(const Context& context, const PackedBlocks<T>& blocks, const T* inverses, const T* r,
           T* z);
}  // namespace cuda

}  // namespace tessera
