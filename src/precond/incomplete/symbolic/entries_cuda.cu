#include "precond/incomplete/symbolic/entries.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(incomplete::SumDistances)
TESSERA_FOR_EACH_REAL(incomplete::CheckTriangle)
TESSERA_FOR_EACH_REAL(incomplete::ClampScale)
TESSERA_FOR_EACH_REAL(incomplete::LoadEntries)
TESSERA_FOR_EACH_REAL(incomplete::GatherVector)
TESSERA_FOR_EACH_REAL(incomplete::ScatterVector)
TESSERA_FOR_EACH_REAL(incomplete::TransposeBlocks)
TESSERA_FOR_EACH_REAL(incomplete::SetUnitDiagonal)
TESSERA_FOR_EACH_REAL(incomplete::SummarisePivots)

}  // namespace tessera::cuda
