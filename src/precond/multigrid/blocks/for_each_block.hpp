#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {

namespace cuda {
/// Defined in for_each_block.cuh; a .cu file instantiates it for every F.
template <class Value, class F>
void for_each_block(const Context& context, const BsrView<double>& matrix, Value* values,
                    const F& f);
}  // namespace cuda

#ifndef __CUDACC__
namespace cpu {
template <class Value, class F>
void for_each_block(const Context& context, const BsrView<double>& matrix, Value* values,
                    const F& f) {
    const Offset numbers = matrix.blocks * matrix.block_size();
    parallel_ranges(
        context.threads(), matrix.block_rows,
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                    f(k, Index(i), matrix.column_indices[k], values + k * matrix.block_size());
                }
            }
        },
        std::max<Offset>(1, parallel_grain * matrix.block_rows / std::max<Offset>(1, numbers)));
}
}  // namespace cpu

/// f(k, i, j, block) for block k of a matrix, which is in row i and column j, in any order.
/// `values` are those of the matrix; f may change the block unless they are const. Does not wait.
template <class Value, class F>
void for_each_block(const Context& context, const BsrView<double>& matrix, Value* values,
                    const F& f) {
    select(context, &cpu::for_each_block<Value, F>,
           TESSERA_IF_CUDA((cuda::for_each_block<Value, F>)))(context, matrix, values, f);
}
#endif

}  // namespace tessera
