#include "gpu/for_each.cuh"
#include "sparse/csr/flag_non_finite.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(FlagNonFinite)

}  // namespace tessera::cuda
