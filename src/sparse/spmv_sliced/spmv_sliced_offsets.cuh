#pragma once

#include "sparse/spmv_sliced/spmv_sliced.cuh"

/// Apart from the other kernels, which need not be compiled again for them.
namespace tessera::cuda {

template <class Stored, class T>
void multiply_offsets(const Context& context, const SlicedTask<Stored, T>& task, int lanes) {
    with_block(task.matrix.block, [&](auto b) {
        with_lanes(lanes, [&](auto l) {
            launch_usual<decltype(b)::value, decltype(l)::value, std::uint16_t>(context, task);
        });
    });
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
