#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "sparse/sliced/steps.hpp"

namespace tessera::cuda {

#define TESSERA_FOR_EACH(...) \
    template void for_each_index(const Context&, Offset, const sliced::__VA_ARGS__&);
#define TESSERA_SCAN(F) template void exclusive_scan(const Context&, Offset, sliced::F, Offset*);
#define TESSERA_VALUES(B, Stored)                   \
    TESSERA_FOR_EACH(FillValues<B, Stored, float>)  \
    TESSERA_FOR_EACH(FillValues<B, Stored, double>) \
    TESSERA_FOR_EACH(FillFromBlocks<B, Stored>)
#define TESSERA_BLOCK(B)                                 \
    TESSERA_FOR_EACH(CountBlocks<B, CsrPattern>)         \
    TESSERA_FOR_EACH(CountBlocks<B, sliced::BsrPattern>) \
    TESSERA_FOR_EACH(FillColumns<B>)                     \
    TESSERA_VALUES(B, double)                            \
    TESSERA_VALUES(B, float)                             \
    TESSERA_VALUES(B, f16)                               \
    TESSERA_VALUES(B, bf16)
TESSERA_BLOCK(1)
TESSERA_BLOCK(2)
TESSERA_BLOCK(3)
TESSERA_BLOCK(4)
TESSERA_BLOCK(6)
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
