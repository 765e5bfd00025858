#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/solve/absolute_pivots.hpp"
#include "batched/solve/kernels.hpp"

namespace tessera::batched {

namespace {

/// Share of a matrix that a solve reads.
double part_of(Factorisation factorisation) {
    return factorisation == Factorisation::ldu ? 1 : 0.5;
}

}  // namespace

template <class T>
void solve(const Context& context, Factorisation factorisation, Transpose transpose,
           const ConstBatch<T>& f, const PermutationsView<const Index>& permutations,
           const ConstVectors<T>& b, const VectorsView<T>& x, const Plan* plan) {
    const char* const name = "solve";
    check_batch(name, f);
    require_argument(f.layout == Layout::column_major, name, "matrices must be column-major");
    std::optional<Plan> own;
    plan = resolve_plan(name, context, f, plan, own);
    const Index rows = max_rows(f, plan);
    check_permutations(name, f.count, rows, permutations);
    if (!has_valid_vectors(name, f.count, rows, b, x)) return;
    const Phase phase(context, name,
                      (part_of(factorisation) * value_count(f, plan) +
                       2.0 * b.vectors * value_count(f, plan, 1)) *
                          double(sizeof(T)));
    const SolveJob<T> job{f, permutations, b, x, {}, factorisation, transpose, plan};
    TESSERA_RUN(solve<T>, context, job);
}

template <class T>
void inverse_from_factors(const Context& context, Factorisation factorisation,
                          const ConstBatch<T>& f, const PermutationsView<const Index>& permutations,
                          const BatchView<T>& x, const Plan* plan) {
    const char* const name = "inverse_from_factors";
    check_input_output(name, f, x);
    std::optional<Plan> own;
    plan = resolve_plan(name, context, f, plan, own);
    const Index rows = max_rows(f, plan);
    check_values(name, rows, x);
    check_permutations(name, f.count, rows, permutations);
    if (rows == 0) return;
    const Phase phase(context, name,
                      (part_of(factorisation) + 1) * value_count(f, plan) * double(sizeof(T)));
    const SolveJob<T> job{f, permutations, {}, {}, x, factorisation, Transpose::no, plan};
    TESSERA_RUN(inverse_from_factors<T>, context, job);
}

template <class T>
void take_absolute_pivots(const Context& context, const BatchView<T>& f, const Plan* plan) {
    const char* const name = "take_absolute_pivots";
    check_input_output(name, f, f);
    std::optional<Plan> own;
    plan = resolve_plan(name, context, f, plan, own);
    const Phase phase(context, name, 4 * value_count(f, plan, 1) * double(sizeof(T)));
    for_each_index(context, f.count, TakeAbsolutePivots<T>{f});
}

template decltype(solve<float>) solve<float>;
template decltype(solve<double>) solve<double>;
template decltype(inverse_from_factors<float>) inverse_from_factors<float>;
template decltype(inverse_from_factors<double>) inverse_from_factors<double>;
template decltype(take_absolute_pivots<float>) take_absolute_pivots<float>;
template decltype(take_absolute_pivots<double>) take_absolute_pivots<double>;

}  // namespace tessera::batched
