#include "sparse/spmv_sliced/kernels.hpp"

#include "base/dispatch.hpp"
#include "base/phases.hpp"

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
    template std::unique_ptr<Operator<T>> make_operator<T>(const Context&, const CsrView<T>&,   \
                                                           const FormatOptions&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
