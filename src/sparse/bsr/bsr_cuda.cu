#include "gpu/for_each.cuh"
#include "sparse/bsr/rows.hpp"

namespace tessera::cuda {

#define TESSERA_CONVERT(N)                                                                  \
    template void for_each_index(const Context&, Offset, const bsr::CountBlocks<N>&);       \
    template void for_each_index(const Context&, Offset, const bsr::FillColumns<N>&);       \
    template void for_each_index(const Context&, Offset, const bsr::FillValues<N, float>&); \
    template void for_each_index(const Context&, Offset, const bsr::FillValues<N, double>&);
TESSERA_CONVERT(0)
TESSERA_CONVERT(2)
TESSERA_CONVERT(3)
TESSERA_CONVERT(6)
TESSERA_FOR_EACH_REAL(bsr::WriteRow)
TESSERA_FOR_EACH_REAL(bsr::MirrorBlocks)
#define TESSERA_TRANSPOSE(T)                                                                    \
    template void for_each_index(const Context&, Offset, const bsr::TransposeEntry<false, T>&); \
    template void for_each_index(const Context&, Offset, const bsr::TransposeEntry<true, T>&);
TESSERA_TRANSPOSE(float)
TESSERA_TRANSPOSE(double)
template void for_each_index(const Context&, Offset, const bsr::SetZero&);
template void for_each_index(const Context&, Offset, const bsr::CountColumns&);
template void for_each_index(const Context&, Offset, const bsr::PlaceBlocks&);
template void for_each_index(const Context&, Offset, const bsr::SortPlaced&);
template void for_each_index(const Context&, Offset, const bsr::CountProducts&);

}  // namespace tessera::cuda
