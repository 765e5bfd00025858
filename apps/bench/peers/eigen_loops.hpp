// Included once for each instruction set, with TESSERA_EIGEN_SET naming it.

#include "tessera/batched.hpp"

namespace tessera::bench::TESSERA_EIGEN_SET {

/// x_b = a_b^-1 and w_b = a_b v_b by Eigen, for at most 32 rows; a loop over matrices in host
/// memory, distributed over threads.
template <class T>
void invert_all(int threads, const batched::BatchView<const T>& a, const batched::BatchView<T>& x);
template <class T>
void multiply_all(int threads, const batched::BatchView<const T>& a,
                  const batched::VectorsView<const T>& v, const batched::VectorsView<T>& w);

}  // namespace tessera::bench::TESSERA_EIGEN_SET
