#include "precond/block_jacobi/stored_blocks_ring.cuh"

namespace tessera::cuda {

template void apply_ring<float>(const Context&, const StoredBlocks&, batched::Transpose, Index,
                                const float*, Offset, float*, Offset);

}  // namespace tessera::cuda
