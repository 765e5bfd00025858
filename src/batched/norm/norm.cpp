#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/norm/kernels.hpp"

namespace tessera::batched {

namespace {

template <class T>
void norm(const char* name, const Context& context, Sums sums, const BatchView<const T>& given,
          T* norms, const Plan* plan) {
    check_batch(name, given);
    require_argument(given.count == 0 || norms != nullptr, name, "the array of norms is missing");
    std::optional<Plan> own;
    plan = resolve_plan(name, context, given, plan, own);
    if (given.count == 0) return;
    BatchView<const T> a = given;
    if (a.layout == Layout::row_major) {
        a.layout = Layout::column_major;
        sums = sums == Sums::rows ? Sums::columns : Sums::rows;
    }
    const Phase phase(context, "norm", (value_count(a, plan) + a.count) * double(sizeof(T)));
    TESSERA_RUN(norm<T>, context, sums, a, norms, plan);
}

}  // namespace

template <class T>
void norm_inf(const Context& context, const ConstBatch<T>& a, T* norms, const Plan* plan) {
    norm("norm_inf", context, Sums::rows, a, norms, plan);
}

template <class T>
void norm_one(const Context& context, const ConstBatch<T>& a, T* norms, const Plan* plan) {
    norm("norm_one", context, Sums::columns, a, norms, plan);
}

template decltype(norm_inf<float>) norm_inf<float>;
template decltype(norm_inf<double>) norm_inf<double>;
template decltype(norm_one<float>) norm_one<float>;
template decltype(norm_one<double>) norm_one<double>;

}  // namespace tessera::batched
