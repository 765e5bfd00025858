#include "precond/incomplete/symbolic/entries.hpp"

#include "gpu/for_each.cuh"
#include "precond/incomplete/symbolic/arrangement.hpp"

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

#define TESSERA_FOR_EACH(F) template void for_each_index(const Context&, Offset, const F&);
TESSERA_FOR_EACH(incomplete::StartLine)
TESSERA_FOR_EACH(incomplete::PlaceLines)
TESSERA_FOR_EACH(incomplete::StartBlock)
TESSERA_FOR_EACH(incomplete::PlaceGroups)
TESSERA_FOR_EACH(incomplete::NumbersOfSlots)
TESSERA_FOR_EACH(incomplete::ReorderSlots)
TESSERA_FOR_EACH(incomplete::FindSlots)
TESSERA_FOR_EACH(incomplete::FindLongest)
TESSERA_FOR_EACH(incomplete::FindLevelStarts)

}  // namespace tessera::cuda
