#include "gpu/for_each.cuh"
#include "precond/polynomial/scaling_rows.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const scaling::MarkRows&);
TESSERA_FOR_EACH_REAL(scaling::InvertRoot)
TESSERA_FOR_EACH_REAL(scaling::CopyBlockRow)
TESSERA_FOR_EACH_REAL(scaling::InvertColumn)
TESSERA_FOR_EACH_REAL(scaling::ScalePoint)
TESSERA_FOR_EACH_REAL(scaling::ScaleBlockEntry)
TESSERA_FOR_EACH_REAL(scaling::ApplyBlocks)

}  // namespace tessera::cuda
