#include "base/checks.hpp"
#include "base/phases.hpp"
#include "sparse/spmv_sliced/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// The matrix must be square and all vectors of its size.
template <class T>
void check_step(const SlicedMatrix<T>& matrix, std::initializer_list<Vectors<const T>> vectors) {
    require(matrix.columns() == matrix.rows(), "multiply: a step needs a square matrix");
    for (const Vectors<const T>& each : vectors) {
        check_vectors("multiply", "a vector of a step", each, matrix.rows());
        require(each.count == vectors.begin()->count,
                "multiply: the numbers of vectors of a step differ");
    }
}

/// `numbers`: those of vectors that are read and written.
template <class T>
void run(const Context& context, const SlicedMatrix<T>& matrix, const ProductVectors<T>& vectors,
         double numbers) {
    const Offset bytes = matrix.statistics().matrix_bytes_per_product;
    const Phase phase(context, "spmv", double(bytes) + numbers * sizeof(T));
    TESSERA_RUN(multiply_step<T>, context, matrix.view(), bytes, vectors);
}

}  // namespace

template <class T>
void multiply(const Context& context, const SlicedMatrix<T>& matrix, std::type_identity_t<T> alpha,
              std::span<const std::type_identity_t<T>> x, std::type_identity_t<T> beta,
              std::span<std::type_identity_t<T>> y) {
    check_vector("multiply", "x", x, matrix.columns());
    check_vector("multiply", "y", y, matrix.rows());
    run<T>(context, matrix, {{alpha, 0, beta, 0}, one_vector(x), one_vector(y), {}, one_vector(y)},
           double(x.size()) + (beta == T(0) ? 1 : 2) * double(y.size()));
}

template <class T>
void SlicedMatrix<T>::apply(const Context& context, std::span<const T> x, std::span<T> y) const {
    apply_vectors(context, one_vector(x), one_vector(y));
}

template <class T>
void SlicedMatrix<T>::apply_vectors(const Context& context, Vectors<const T> x,
                                    Vectors<T> y) const {
    check_vectors("multiply", "x", x, columns());
    check_vectors("multiply", "y", y, rows());
    require(x.count == y.count, "multiply: x has ", x.count, " vectors, y has ", y.count);
    run<T>(context, *this, {{1, 0, 0, 0}, x, {}, {}, y},
           double(x.count) * (double(columns()) + double(rows())));
}

template <class T>
void SlicedMatrix<T>::apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                                T* xy) const {
    check_step<T>(*this, {one_vector(x), one_vector(y)});
    require(xy != nullptr, "apply_dot: the result is null");
    // On a CPU, adding up row by row is slower than another pass over x and y.
    if (x.empty() || !context.on_gpu()) return Operator<T>::apply_dot(context, x, y, xy);
    run<T>(context, *this, {{1, 0, 0, 0}, one_vector(x), {}, {}, one_vector(y), xy},
           2.0 * double(x.size()));
}

template <class T>
void SlicedMatrix<T>::apply_step(const Context& context, const RecurrenceStep<T>& step,
                                 std::span<const T> x, std::span<const T> y, std::span<const T> r,
                                 std::span<T> next, std::span<T> work) const {
    apply_step_vectors(context, step, one_vector(x), one_vector(y), one_vector(r), one_vector(next),
                       one_vector(work));
}

template <class T>
void SlicedMatrix<T>::apply_step_vectors(const Context& context, const RecurrenceStep<T>& step,
                                         Vectors<const T> x, Vectors<const T> y, Vectors<const T> r,
                                         Vectors<T> next, Vectors<T> work) const {
    check_step<T>(*this, {x, y, r, next, work});
    const int vectors = 2 + (step.gamma != 0) + (step.delta != 0);
    run<T>(context, *this, {step, x, y, r, next}, double(vectors) * x.count * double(rows()));
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
    template void SlicedMatrix<T>::apply_vectors(const Context&, Vectors<const T>, Vectors<T>)     \
        const;                                                                                     \
    template void SlicedMatrix<T>::apply_step(                                                     \
        const Context&, const RecurrenceStep<T>&, std::span<const T>, std::span<const T>,          \
        std::span<const T>, std::span<T>, std::span<T>) const;                                     \
    template void SlicedMatrix<T>::apply_step_vectors(                                             \
        const Context&, const RecurrenceStep<T>&, Vectors<const T>, Vectors<const T>,              \
        Vectors<const T>, Vectors<T>, Vectors<T>) const;                                           \
    template std::unique_ptr<Operator<T>> make_operator<T>(const Context&, const CsrView<T>&,      \
                                                           const FormatOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
