#include <algorithm>

#include "base/cuda/word_copies.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads = 256, max_blocks = 128;

/// Grid-stride loop over the words of all copies; sources may be on another device.
__global__ void __launch_bounds__(threads)
    copy_words_kernel(const __grid_constant__ WordCopies copies, Offset words) {
    const Offset step = Offset(gridDim.x) * threads;
    int k = 0;
    for (Offset i = Offset(blockIdx.x) * threads + threadIdx.x; i < words; i += step) {
        while (i >= copies.ends[k]) ++k;
        const Offset first = k == 0 ? 0 : copies.ends[k - 1];
        copies.to[k][i - first] = copies.from[k][i - first];
    }
}

}  // namespace

void copy_words(cudaStream_t stream, const WordCopies& copies) {
    const Offset words = copies.words();
    if (words == 0) return;
    const auto blocks = unsigned(std::min<Offset>((words + threads - 1) / threads, max_blocks));
    copy_words_kernel<<<blocks, threads, 0, stream>>>(copies, words);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
