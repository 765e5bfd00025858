#include "gpu/for_each.cuh"
#include "precond/jacobi/invert_diagonal.hpp"

namespace tessera::cuda {

template void for_each_index(const Context&, Offset, const InvertDiagonal<float>&);
template void for_each_index(const Context&, Offset, const InvertDiagonal<double>&);

}  // namespace tessera::cuda
