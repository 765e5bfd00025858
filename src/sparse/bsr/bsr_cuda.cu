#include "gpu/for_each.cuh"
#include "sparse/bsr/rows.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(bsr::CountBlocks)
TESSERA_FOR_EACH_REAL(bsr::FillColumns)
TESSERA_FOR_EACH_REAL(bsr::FillValues)
TESSERA_FOR_EACH_REAL(bsr::WriteRow)
TESSERA_FOR_EACH_REAL(bsr::MirrorBlocks)
TESSERA_FOR_EACH_REAL(bsr::SortPlaced)
template void for_each_index(const Context&, Offset, const bsr::SetZero&);
template void for_each_index(const Context&, Offset, const bsr::CountColumns&);
template void for_each_index(const Context&, Offset, const bsr::PlaceBlocks&);

}  // namespace tessera::cuda
