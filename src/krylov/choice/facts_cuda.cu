#include "krylov/choice/facts.hpp"

#include "gpu/for_each.cuh"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(FlagDiagonal)

}  // namespace tessera::cuda
