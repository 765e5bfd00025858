// Compiled once for each instruction set, by the name TESSERA_EIGEN_SET: Eigen chooses its vectors
// at compile time. The macro Eigen gives the templates of each a namespace of their own.
#include <Eigen/LU>

#include "peers/eigen_loops.hpp"
#include "peers/host_matrices.hpp"

namespace tessera::bench::TESSERA_EIGEN_SET {

template <class T>
using Small = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, 0, 32, 32>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

template <class T>
void invert_all(int threads, const batched::BatchView<const T>& a, const batched::BatchView<T>& x) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index b = 0; b < a.count; ++b) {
        const Index n = rows_of(a, b);
        const Eigen::OuterStride<> stride(leading_dimension_of(a, b));
        const Eigen::Map<const Small<T>, 0, Eigen::OuterStride<>> from(start_of(a, b), n, n,
                                                                       stride);
        Eigen::Map<Small<T>, 0, Eigen::OuterStride<>>(start_of(x, b), n, n, stride) =
            Small<T>(from).partialPivLu().inverse();
    }
}

template <class T>
void multiply_all(int threads, const batched::BatchView<const T>& a,
                  const batched::VectorsView<const T>& v, const batched::VectorsView<T>& w) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (Index b = 0; b < a.count; ++b) {
        const Index n = rows_of(a, b);
        const Eigen::OuterStride<> stride(leading_dimension_of(a, b));
        const Eigen::Map<const Small<T>, 0, Eigen::OuterStride<>> matrix(start_of(a, b), n, n,
                                                                         stride);
        Eigen::Map<Vector<T>>(start_of(w, b), n).noalias() =
            matrix * Eigen::Map<const Vector<T>>(start_of(v, b), n);
    }
}

template void invert_all(int, const batched::BatchView<const float>&,
                         const batched::BatchView<float>&);
template void invert_all(int, const batched::BatchView<const double>&,
                         const batched::BatchView<double>&);
template void multiply_all(int, const batched::BatchView<const float>&,
                           const batched::VectorsView<const float>&,
                           const batched::VectorsView<float>&);
template void multiply_all(int, const batched::BatchView<const double>&,
                           const batched::VectorsView<const double>&,
                           const batched::VectorsView<double>&);

}  // namespace tessera::bench::TESSERA_EIGEN_SET
