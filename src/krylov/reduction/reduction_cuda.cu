#include "gpu/for_each.cuh"
#include "krylov/reduction/null_space_rows.hpp"
#include "krylov/reduction/reduced_vectors.hpp"
#include "krylov/reduction/symmetry_walk.hpp"
#include "krylov/reduction/twin_rows.hpp"

namespace tessera::cuda {

TESSERA_FOR_EACH_REAL(FindTwinRow)
TESSERA_FOR_EACH_REAL(WalkAgainstSymmetry)
TESSERA_FOR_EACH_REAL(ClearEmptyRows)
TESSERA_FOR_EACH_REAL(ProductSize)
TESSERA_FOR_EACH_REAL(FixUnknowns)
TESSERA_FOR_EACH_REAL(RestrictResidual)
TESSERA_FOR_EACH_REAL(AddReduced)

}  // namespace tessera::cuda
