#include "gpu/for_each.cuh"
#include "precond/row_sizes.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(MeasureRow)
TESSERA_FOR_EACH_REAL(FindSmallInRow)
TESSERA_FOR_EACH_REAL(ScaleDiagonal)
TESSERA_FOR_EACH_REAL(FindLargeEntry)
template void for_each_index(const Context&, Offset, const FindSmallDiagonal&);
template void for_each_index(const Context&, Offset, const FindOutOfScale&);

}  // namespace tessera::cuda
