#include "base/checks.hpp"
#include "base/phases.hpp"
#include "sparse/spmv_sliced/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// The matrix must be square and all vectors of its size.
template <class T>
void check_vectors(const SlicedMatrix<T>& matrix,
                   std::initializer_list<std::span<const T>> vectors) {
    require(matrix.columns() == matrix.rows(), "multiply: a step needs a square matrix");
    for (const std::span<const T> vector : vectors) {
        check_vector("multiply", "a vector of a step", vector, matrix.rows());
    }
}

/// `vectors`: number of elements of vectors that are read and written.
template <class T>
void run(const Context& context, const SlicedMatrix<T>& matrix, const T* x,
         const ProductEpilogue<T>& epilogue, double vectors) {
    const Offset bytes = matrix.statistics().matrix_bytes_per_product;
    const Phase phase(context, "spmv", double(bytes) + vectors * sizeof(T));
    TESSERA_RUN(multiply_step<T>, context, matrix.view(), bytes, x, epilogue);
}

}  // namespace

template <class T>
void multiply(const Context& context, const SlicedMatrix<T>& matrix, std::type_identity_t<T> alpha,
              std::span<const std::type_identity_t<T>> x, std::type_identity_t<T> beta,
              std::span<std::type_identity_t<T>> y) {
    check_vector("multiply", "x", x, matrix.columns());
    check_vector("multiply", "y", y, matrix.rows());
    run<T>(context, matrix, x.data(), {{alpha, 0, beta, 0}, y.data(), nullptr, y.data()},
           double(x.size()) + (beta == T(0) ? 1 : 2) * double(y.size()));
}

template <class T>
void SlicedMatrix<T>::apply(const Context& context, std::span<const T> x, std::span<T> y) const {
    multiply(context, *this, T(1), x, T(0), y);
}

template <class T>
void SlicedMatrix<T>::apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                                T* xy) const {
    check_vectors<T>(*this, {x, y});
    require(xy != nullptr, "apply_dot: the result is null");
    // On a CPU, adding up row by row is slower than another pass over x and y.
    if (x.empty() || !context.on_gpu()) return Operator<T>::apply_dot(context, x, y, xy);
    run<T>(context, *this, x.data(), {{1, 0, 0, 0}, nullptr, nullptr, y.data(), xy},
           2.0 * double(x.size()));
}

template <class T>
void SlicedMatrix<T>::apply_step(const Context& context, const RecurrenceStep<T>& step,
                                 std::span<const T> x, std::span<const T> y, std::span<const T> r,
                                 std::span<T> next, std::span<T> work) const {
    check_vectors<T>(*this, {x, y, r, next, work});
    const int vectors = 2 + (step.gamma != 0) + (step.delta != 0);
    run<T>(context, *this, x.data(), {step, y.data(), r.data(), next.data()},
           vectors * double(x.size()));
}

template <class T>
std::unique_ptr<Operator<T>> make_operator(const Context& context, const CsrView<T>& matrix,
                                           const FormatOptions& options) {
    if (options.format == MatrixFormat::csr) {
        return std::make_unique<CsrOperator<T>>(context, matrix);
    }
    return std::make_unique<SlicedMatrix<T>>(SlicedMatrix<T>::from_csr(context, matrix, options));
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void multiply<T>(const Context&, const SlicedMatrix<T>&, T, std::span<const T>, T,    \
                              std::span<T>);                                                       \
    template void SlicedMatrix<T>::apply(const Context&, std::span<const T>, std::span<T>) const;  \
    template void SlicedMatrix<T>::apply_dot(const Context&, std::span<const T>, std::span<T>, T*) \
        const;                                                                                     \
    template void SlicedMatrix<T>::apply_step(                                                     \
        const Context&, const RecurrenceStep<T>&, std::span<const T>, std::span<const T>,          \
        std::span<const T>, std::span<T>, std::span<T>) const;                                     \
    template std::unique_ptr<Operator<T>> make_operator<T>(const Context&, const CsrView<T>&,      \
                                                           const FormatOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
