#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "sparse/sliced/steps.hpp"

namespace tessera::cuda {

#define TESSERA_FOR_EACH(...) \
    template void for_each_index(const Context&, Offset, const sliced::__VA_ARGS__&);
#define TESSERA_SCAN(F) template void exclusive_scan(const Context&, Offset, sliced::F, Offset*);
template void for_each_index(const Context&, Offset, const MarkPartialBlocks<2>&);
template void for_each_index(const Context&, Offset, const MarkPartialBlocks<3>&);
template void for_each_index(const Context&, Offset, const MarkPartialBlocks<4>&);
template void for_each_index(const Context&, Offset, const MarkPartialBlocks<6>&);
TESSERA_FOR_EACH(CopyLengths)
TESSERA_FOR_EACH(RaiseSpans<CsrPattern>)
TESSERA_FOR_EACH(RaiseSpans<sliced::BsrPattern>)
TESSERA_FOR_EACH(FindFirstColumns)
TESSERA_SCAN(SliceSlots)

}  // namespace tessera::cuda
