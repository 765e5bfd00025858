#include "precond/block_ldlt/symbolic/entries.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

#define TESSERA_INSTANTIATE(F)                                             \
    template void for_each_index(const Context&, Offset, const F<float>&); \
    template void for_each_index(const Context&, Offset, const F<double>&);
TESSERA_INSTANTIATE(block_ldlt::CheckSource)
TESSERA_INSTANTIATE(block_ldlt::LoadValue)
TESSERA_INSTANTIATE(block_ldlt::Gather)
TESSERA_INSTANTIATE(block_ldlt::Scatter)
TESSERA_INSTANTIATE(block_ldlt::RowNorm)
TESSERA_INSTANTIATE(block_ldlt::LargestEntry)
TESSERA_INSTANTIATE(block_ldlt::LargestOfRows)
TESSERA_INSTANTIATE(block_ldlt::SummarisePivots)
TESSERA_INSTANTIATE(block_ldlt::SetThreshold)

}  // namespace tessera::cuda
