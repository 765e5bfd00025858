#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/invert/kernels.hpp"

namespace tessera::batched {

namespace {

template <class T>
void run(const char* name, const Context& context, InvertJob<T> job) {
    check_batch(name, job.a);
    if (job.store) check_input_output(name, job.a, job.x, true);
    std::optional<Plan> own;
    job.plan = resolve_plan(name, context, job.a, job.plan, own);
    if (job.plan != nullptr) job.order = job.plan->order();
    if (job.store) check_values(name, max_rows(job.a, job.plan), job.x);
    if (job.a.count == 0) return;
    const double passes = job.store ? 2 : 1;
    const double result_bytes = (job.results.info != nullptr ? sizeof(Index) : 0) +
                                (job.results.reciprocal_condition != nullptr ? sizeof(T) : 0);
    const Phase phase(
        context, name,
        passes * value_count(job.a, job.plan) * sizeof(T) + result_bytes * job.a.count);
    TESSERA_RUN(invert<T>, context, job);
}

}  // namespace

template <class T>
void invert(const Context& context, const ConstBatch<T>& a, const BatchView<T>& x, Index* info,
            const Plan* plan) {
    InvertJob<T> job{a, x, true, {.info = info}, plan};
    if (a.layout == x.layout) job.a.layout = job.x.layout = Layout::column_major;  // Transposes.
    run("invert", context, job);
}

template <class T>
void invert_with_condition(const Context& context, const ConstBatch<T>& a, const BatchView<T>& x,
                           const ConditionResults<std::type_identity_t<T>>& results,
                           const Plan* plan) {
    run("invert_with_condition", context, InvertJob<T>{a, x, true, results, plan});
}

template <class T>
void condition(const Context& context, const ConstBatch<T>& a, const ConditionResults<T>& results,
               const Plan* plan) {
    run("condition", context, InvertJob<T>{a, {}, false, results, plan});
}

template decltype(invert<float>) invert<float>;
template decltype(invert<double>) invert<double>;
template decltype(invert_with_condition<float>) invert_with_condition<float>;
template decltype(invert_with_condition<double>) invert_with_condition<double>;
template decltype(condition<float>) condition<float>;
template decltype(condition<double>) condition<double>;

}  // namespace tessera::batched
