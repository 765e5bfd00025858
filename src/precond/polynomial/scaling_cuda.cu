#include "gpu/for_each.cuh"
#include "precond/polynomial/scaling_rows.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const scaling::MarkRows&);
#define TESSERA_INSTANTIATE(F)                                             \
    template void for_each_index(const Context&, Offset, const F<float>&); \
    template void for_each_index(const Context&, Offset, const F<double>&);
TESSERA_INSTANTIATE(scaling::InvertRoot)
TESSERA_INSTANTIATE(scaling::CopyBlockRow)
TESSERA_INSTANTIATE(scaling::InvertColumn)
TESSERA_INSTANTIATE(scaling::ScalePoint)
TESSERA_INSTANTIATE(scaling::ScaleBlockEntry)
TESSERA_INSTANTIATE(scaling::ApplyBlocks)

}  // namespace tessera::cuda
