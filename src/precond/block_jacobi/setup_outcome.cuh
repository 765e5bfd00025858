#pragma once

#include "gpu/tiles/inverted_blocks.cuh"
#include "precond/block_jacobi/choose_format.hpp"
#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

/// Where the kernels that invert tell of each block.
template <class T>
struct SetupOutcome {
    CountedBlocks counted;
    Index* info;
    T* reciprocal_condition;
    T* largest;  ///< Null: not wanted.

    /// By one lane, of block b, of n rows.
    __device__ __forceinline__ void tell(Offset b, int n, int failure, const BlockFacts<T>& block,
                                         const InverseFacts<T>& inverse) const {
        if (failure == 0 && !inverse.finite) failure = n;
        const T condition = failure == 0 ? T(1) / block.norm / inverse.norm : T(0);
        const T most = failure == 0 ? inverse.largest : T(0);
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
};

template <class T>
SetupOutcome<T> outcome_of(const SetupJob<T>& job) {
    return {job.counted, job.info, job.reciprocal_condition, job.largest};
}

}  // namespace tessera::cuda
