#include "precond/block_ldlt/symbolic/entries.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(block_ldlt::CheckSource)
TESSERA_FOR_EACH_REAL(block_ldlt::LoadValue)
TESSERA_FOR_EACH_REAL(block_ldlt::GatherVector)
TESSERA_FOR_EACH_REAL(block_ldlt::ScatterVector)
TESSERA_FOR_EACH_REAL(block_ldlt::LargestEntry)
TESSERA_FOR_EACH_REAL(block_ldlt::SummarisePivots)

}  // namespace tessera::cuda
