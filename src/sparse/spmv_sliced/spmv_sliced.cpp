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
    select(context, &cpu::multiply<T>, TESSERA_IF_CUDA(cuda::multiply<T>))(
        context, matrix.view(), matrix.options(), facts.read_bytes, alpha, x.data(), beta,
        y.data());
}

template <class T>
void multiply_dot(const Context& context, const SlicedMatrix<T>& matrix,
                  std::span<const std::type_identity_t<T>> x, std::span<std::type_identity_t<T>> y,
                  T* xy) {
    check_vectors(matrix, {x.size(), y.size()});
    if constexpr (cuda::with_cuda) {
        if (context.on_gpu() && !x.empty() && cuda::sums_dots(matrix.options())) {
            const Offset bytes = matrix.facts().read_bytes;
            const Phase phase(context, "spmv", double(bytes) + 2.0 * double(x.size_bytes()));
            return cuda::multiply_step<T>(context, matrix.view(), matrix.options(), bytes, x.data(),
                                          {{1, 0, 0, 0}, nullptr, nullptr, y.data(), xy, nullptr});
        }
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
    if constexpr (cuda::with_cuda) {
        if (context.on_gpu()) {
            const Offset bytes = matrix.facts().read_bytes;
            const int vectors = 2 + (step.before != 0) + (step.given != 0);
            const Phase phase(context, "spmv", double(bytes) + vectors * double(x.size_bytes()));
            return cuda::multiply_step<T>(
                context, matrix.view(), matrix.options(), bytes, x.data(),
                {step, y.data(), r.data(), next.data(), nullptr, nullptr});
        }
    }
    multiply(context, matrix, 1, x, 0, work);
    recurrence_step<T>(context, step, work, x, y, r, next);
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
    if constexpr (cuda::with_cuda) {
        if (context.on_gpu() && !(sums && (x.empty() || !cuda::sums_dots(matrix.options())))) {
            const Offset bytes = matrix.facts().read_bytes;
            const int vectors = 1 + (step.before != 0) + (step.given != 0);
            const int wide = 1 + scales + sums;
            const Phase phase(context, "spmv",
                              double(bytes) + vectors * double(x.size_bytes()) +
                                  wide * double(result.z.size_bytes()));
            return cuda::multiply_step<T>(context, matrix.view(), matrix.options(), bytes, x.data(),
                                          {step, y.data(), r.data(), nullptr, nullptr, &result});
        }
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
