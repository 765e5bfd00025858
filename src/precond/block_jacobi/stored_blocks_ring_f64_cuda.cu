#include "precond/block_jacobi/stored_blocks_ring.cuh"

namespace tessera::cuda {

template void apply_ring<double>(const Context&, const StoredBlocks&, batched::Transpose, Index,
                                 const double*, Offset, double*, Offset);

}  // namespace tessera::cuda
