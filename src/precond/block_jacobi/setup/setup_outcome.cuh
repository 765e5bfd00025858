#pragma once

#include "precond/block_jacobi/storage/choose_format.hpp"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

/// Tells of block b, as SetupJob and CountedBlocks say; `most`: the largest magnitude in its
/// inverse.
template <class T>
__device__ __forceinline__ void tell_outcome(Offset b, int failure, T condition, T most,
                                             const CountedBlocks& counted, Index* info,
                                             T* reciprocal_condition, T* largest) {
    info[b] = failure;
    reciprocal_condition[b] = condition;
    if (largest != nullptr) largest[b] = most;
    if (counted.verdict == nullptr) return;
    if (failure != 0) atomicAdd(&counted.verdict->singular, 1);
    if (counted.kept != nullptr &&
        !keeps_format<T>(counted.kept[b], double(condition), double(most), counted.accuracy)) {
        atomicAdd(&counted.verdict->misfits, 1);
    }
}

}  // namespace tessera::cuda
