#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/multiply/kernels.hpp"

namespace tessera::batched {

template <class T>
void multiply(const Context& context, std::type_identity_t<T> alpha, const ConstBatch<T>& given,
              Transpose transpose, const ConstVectors<T>& x, std::type_identity_t<T> beta,
              const VectorsView<T>& y, const Plan* plan) {
    check_batch("multiply", given);
    std::optional<Plan> own;
    plan = resolve_plan("multiply", context, given, plan, own);
    if (!has_valid_vectors("multiply", given.count, max_rows(given, plan), x, y)) return;
    BatchView<const T> a = given;
    if (a.layout == Layout::row_major) {
        a.layout = Layout::column_major;
        transpose = transpose == Transpose::no ? Transpose::yes : Transpose::no;
    }
    const double vectors = x.vectors * (beta == T(0) ? 2.0 : 3.0);
    const Phase phase(
        context, "multiply",
        (value_count(a, plan) + vectors * value_count(a, plan, 1)) * double(sizeof(T)));
    TESSERA_RUN(multiply<T>, context, alpha, a, transpose, x, beta, y, plan);
}

template decltype(multiply<float>) multiply<float>;
template decltype(multiply<double>) multiply<double>;

}  // namespace tessera::batched
