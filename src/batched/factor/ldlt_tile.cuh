#pragma once

#include "batched/factor/kernels.hpp"
#include "batched/factor/factor_launch.cuh"
#include "gpu/tiles/ldlt_tile.cuh"

namespace tessera::batched::cuda {

template <Pivoting pivoting, class T>
void ldlt_with(const Context& context, const FactorJob<T>& job) {
    factorise_batch<Ldlt<pivoting>>(context, job);
}

}  // namespace tessera::batched::cuda
