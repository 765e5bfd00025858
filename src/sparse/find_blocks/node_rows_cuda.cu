#include "gpu/for_each.cuh"
#include "sparse/find_blocks/node_rows.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const SampleBlocks<2>&);
template void for_each_index(const Context&, Offset, const SampleBlocks<3>&);

}  // namespace tessera::cuda
