#include "gpu/for_each.cuh"
#include "precond/pattern_hash.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(HashPattern)

}  // namespace tessera::cuda
