#include "base/for_each.hpp"

#include "gpu/scan.cuh"

namespace tessera::cuda {

template void exclusive_scan(const Context&, Offset, CountAt, Offset*);

}  // namespace tessera::cuda
