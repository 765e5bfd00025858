#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/multiply/kernels.hpp"

namespace tessera::batched {

namespace {

template <class T>
void check_vectors(const BatchView<const T>& a, const Plan* plan, const VectorsView<const T>& x,
                   const VectorsView<T>& y) {
    const char* const name = "multiply";
    require_of(x.vectors >= 0 && x.vectors == y.vectors, name,
               "x and y must have equal numbers of vectors");
    const Index rows = x.vectors > 0 ? largest_of(a, plan) : 0;
    if (rows == 0) return;
    check_values(name, rows, x);
    check_values(name, rows, y);
    require_of(x.vectors == 1 || (x.leading_dimension >= rows && y.leading_dimension >= rows), name,
               "the leading dimension of x or y is smaller than the number of rows");
    check_written(name, a.count, y);
}

}  // namespace

template <class T>
void multiply(const Context& context, std::type_identity_t<T> alpha, const ConstBatch<T>& given,
              Transpose transpose, const ConstVectors<T>& x, std::type_identity_t<T> beta,
              const VectorsView<T>& y, const Plan* plan) {
    check_batch("multiply", given);
    std::optional<Plan> own;
    plan = plan_of("multiply", context, given, plan, own);
    check_vectors(given, plan, x, y);
    if (given.count == 0 || x.vectors == 0) return;
    BatchView<const T> a = given;
    if (a.layout == Layout::row_major) {
        a.layout = Layout::column_major;
        transpose = transpose == Transpose::no ? Transpose::yes : Transpose::no;
    }
    const double vectors = x.vectors * (beta == T(0) ? 2.0 : 3.0);
    const Phase phase(context, "multiply",
                      (values_of(a, plan) + vectors * values_of(a, plan, 1)) * double(sizeof(T)));
    TESSERA_RUN(multiply<T>, context, alpha, a, transpose, x, beta, y, plan);
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::batched
