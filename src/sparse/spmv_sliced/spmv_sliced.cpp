#include "sparse/spmv_sliced/kernels.hpp"

#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "base/runtime_cuda.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// A CSR matrix as an Operator whose product runs with so many lanes a row.
template <class T>
class CsrLanesOperator final : public Operator<T> {
  public:
    CsrLanesOperator(const Context& context, const CsrView<T>& matrix, int lanes)
        : matrix_(matrix), plan_(plan_spmv(context, matrix)) {
        plan_.lanes_per_row = lanes;
    }
    Index rows() const override { return matrix_.rows; }
    Index columns() const override { return matrix_.columns; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        tessera::multiply(context, matrix_, plan_, T(1), x, T(0), y);
    }

  private:
    CsrView<T> matrix_;
    SpmvPlan plan_;
};

/// A must be square and all vectors of its size.
template <class T>
void check_vectors(const SlicedMatrix<T>& matrix, std::initializer_list<std::size_t> sizes) {
    require(matrix.columns() == matrix.rows(), "multiply: a step needs a square matrix");
    for (const std::size_t size : sizes) {
        require(size == std::size_t(matrix.rows()),
                "multiply: the vectors of a step must have as many elements as A has rows");
    }
}

template <class T>
void run(const Context& context, const SlicedMatrix<T>& matrix, const T* x,
         const ProductEnd<T>& end) {
    select(context, &cpu::multiply_step<T>, TESSERA_IF_CUDA(cuda::multiply_step<T>))(
        context, matrix.view(), matrix.options(), matrix.facts().read_bytes, x, end);
}

/// Whether a product can sum a dot besides.
bool sums_dots([[maybe_unused]] const Context& context,
               [[maybe_unused]] const FormatOptions& options) {
    if constexpr (cuda::with_cuda) return context.on_gpu() && cuda::sums_dots(options);
    return false;
}

}  // namespace

template <class T>
void multiply(const Context& context, const SlicedMatrix<T>& matrix, std::type_identity_t<T> alpha,
              std::span<const std::type_identity_t<T>> x, std::type_identity_t<T> beta,
              std::span<std::type_identity_t<T>> y) {
    require(x.size() == std::size_t(matrix.columns()), "multiply: x must have A.columns elements");
    require(y.size() == std::size_t(matrix.rows()), "multiply: y must have A.rows elements");
    const FormatFacts& facts = matrix.facts();
    const double vectors = double(matrix.columns()) + (beta == T(0) ? 1.0 : 2.0) * matrix.rows();
    const Phase phase(context, "spmv", double(facts.read_bytes) + vectors * sizeof(T));
    run<T>(context, matrix, x.data(),
           {{alpha, 0, beta, 0}, y.data(), nullptr, y.data(), nullptr, nullptr});
}

template <class T>
void multiply_dot(const Context& context, const SlicedMatrix<T>& matrix,
                  std::span<const std::type_identity_t<T>> x, std::span<std::type_identity_t<T>> y,
                  T* xy) {
    check_vectors(matrix, {x.size(), y.size()});
    if (!x.empty() && sums_dots(context, matrix.options())) {
        const Phase phase(context, "spmv",
                          double(matrix.facts().read_bytes) + 2.0 * double(x.size_bytes()));
        return run<T>(context, matrix, x.data(),
                      {{1, 0, 0, 0}, nullptr, nullptr, y.data(), xy, nullptr});
    }
    multiply(context, matrix, 1, x, 0, y);
    dot<T>(context, x, y, xy);
}

template <class T>
void multiply_step(const Context& context, const SlicedMatrix<T>& matrix,
                   const RecurrenceStep<std::type_identity_t<T>>& step,
                   std::span<const std::type_identity_t<T>> x,
                   std::span<const std::type_identity_t<T>> y,
                   std::span<const std::type_identity_t<T>> r,
                   std::span<std::type_identity_t<T>> next,
                   std::span<std::type_identity_t<T>> work) {
    check_vectors(matrix, {x.size(), y.size(), r.size(), next.size(), work.size()});
    const int vectors = 2 + (step.before != 0) + (step.given != 0);
    const Phase phase(context, "spmv",
                      double(matrix.facts().read_bytes) + vectors * double(x.size_bytes()));
    run<T>(context, matrix, x.data(), {step, y.data(), r.data(), next.data(), nullptr, nullptr});
}

template <class T>
void multiply_last_step(const Context& context, const SlicedMatrix<T>& matrix,
                        const RecurrenceStep<std::type_identity_t<T>>& step,
                        std::span<const std::type_identity_t<T>> x,
                        std::span<std::type_identity_t<T>> y,
                        std::span<const std::type_identity_t<T>> r, const ScaledResult& result,
                        std::span<std::type_identity_t<T>> work) {
    const bool scales = !result.d.empty(), sums = result.rz != nullptr;
    check_vectors(matrix, {x.size(), y.size(), r.size(), work.size(), result.z.size(),
                           scales ? result.d.size() : x.size(), sums ? result.r.size() : x.size()});
    if (context.on_gpu() && !(sums && (x.empty() || !sums_dots(context, matrix.options())))) {
        const int vectors = 1 + (step.before != 0) + (step.given != 0);
        const int wide = 1 + scales + sums;
        const Phase phase(context, "spmv",
                          double(matrix.facts().read_bytes) + vectors * double(x.size_bytes()) +
                              wide * double(result.z.size_bytes()));
        return run<T>(context, matrix, x.data(),
                      {step, y.data(), r.data(), nullptr, nullptr, &result});
    }
    multiply_step<T>(context, matrix, step, x, y, r, y, work);
    widen<T, double>(context, result.d, y, result.square, result.z);
    if (sums) dot<double>(context, result.r, result.z, result.rz);
}

template <class T>
std::unique_ptr<Operator<T>> make_operator(const Context& context, const CsrView<T>& matrix,
                                           const FormatOptions& options) {
    if (options.format != MatrixFormat::csr) {
        return std::make_unique<SlicedOperator<T>>(
            SlicedMatrix<T>::from_csr(context, matrix, options));
    }
    if (options.lanes == 0) return std::make_unique<CsrOperator<T>>(context, matrix);
    return std::make_unique<CsrLanesOperator<T>>(context, matrix, options.lanes);
}

#define TESSERA_INSTANTIATE(T)                                                                  \
    template void multiply<T>(const Context&, const SlicedMatrix<T>&, T, std::span<const T>, T, \
                              std::span<T>);                                                    \
    template void multiply_dot<T>(const Context&, const SlicedMatrix<T>&, std::span<const T>,   \
                                  std::span<T>, T*);                                            \
    template void multiply_step<T>(                                                             \
        const Context&, const SlicedMatrix<T>&, const RecurrenceStep<T>&, std::span<const T>,   \
        std::span<const T>, std::span<const T>, std::span<T>, std::span<T>);                    \
    template void multiply_last_step<T>(                                                        \
        const Context&, const SlicedMatrix<T>&, const RecurrenceStep<T>&, std::span<const T>,   \
        std::span<T>, std::span<const T>, const ScaledResult&, std::span<T>);                   \
    template std::unique_ptr<Operator<T>> make_operator<T>(const Context&, const CsrView<T>&,   \
                                                           const FormatOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
