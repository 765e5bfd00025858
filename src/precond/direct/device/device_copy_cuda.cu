#include "gpu/for_each.cuh"
#include "precond/direct/device/device_copy.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const direct::CompareElements<Index>&);
template void for_each_index(const Context&, Offset, const direct::CompareElements<Offset>&);
TESSERA_FOR_EACH_REAL(direct::ArrangeEntry)
TESSERA_FOR_EACH_REAL(direct::ArrangeElement)

}  // namespace tessera::cuda
