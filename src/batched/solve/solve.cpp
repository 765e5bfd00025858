#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/solve/kernels.hpp"
#include "batched/solve/matrix_steps.hpp"

namespace tessera::batched {

namespace {

/// Share of a matrix that a solve reads.
double part_of(Factorisation factorisation) {
    return factorisation == Factorisation::ldu ? 1 : 0.5;
}

/// Whether matrices of up to `rows` rows are factored and solved at once; on a GPU many right-hand
/// sides take less time with factors in memory.
bool is_solved_at_once(const Context& context, Structure structure, Index rows, Index vectors) {
    constexpr Index max_rows_on_cpu = 32;
    constexpr Index max_vectors_on_gpu = 4;
    return structure != Structure::symmetric &&
           (context.on_gpu() ? vectors <= max_vectors_on_gpu : rows <= max_rows_on_cpu);
}

/// Solves by factors in memory of the Context.
template <class T>
void solve_by_factors(const Context& context, const SystemJob<T>& job) {
    const auto& [a, b, x, info, structure, plan, order] = job;
    const Index n = a.sizes == nullptr ? a.size : 0;
    Buffer<Offset> matrix_places, row_places;
    Offset values = Offset(a.count) * n * n;
    Offset rows = Offset(a.count) * n;
    if (plan != nullptr) {
        matrix_places = Buffer<Offset>(context, Offset(a.count) + 1);
        row_places = Buffer<Offset>(context, Offset(a.count) + 1);
        exclusive_scan(context, a.count, SizePower{a.sizes, 2}, matrix_places.data());
        exclusive_scan(context, a.count, SizePower{a.sizes, 1}, row_places.data());
        values = Offset(value_count(a, plan));
        rows = Offset(value_count(a, plan, 1));
    }
    Buffer<T> factors(context, values);
    Buffer<Index> permutation(context, rows);
    Buffer<T> smallest(context, info != nullptr ? a.count : 0);
    BatchView<const T> columns = a;  // A row-major matrix as its transpose.
    columns.layout = Layout::column_major;
    const auto f = plan == nullptr ? BatchView<T>::uniform(a.count, n, factors.data())
                                   : BatchView<T>::packed(a.count, a.sizes, matrix_places.data(),
                                                          factors.data());
    const PermutationsView<Index> p{permutation.data(), nullptr, n, row_places.data()};
    FactorResults<T> results;
    results.info = info;
    if (info != nullptr) results.smallest_pivot = smallest.data();
    auto factorisation = Factorisation::ldu;
    if (structure == Structure::general) {
        ldu<T>(context, Pivoting::partial, columns, f, p, results, {}, plan);
    } else if (structure == Structure::symmetric) {
        factorisation = Factorisation::ldlt;
        ldlt<T>(context, Pivoting::rook, columns, f, p, results, {}, plan);
    } else {
        factorisation = Factorisation::llt;
        llt<T>(context, Pivoting::fixed, columns, f, {}, results, {}, plan);
    }
    if (info != nullptr) {
        mark_near_singular<T>(context, columns, structure, smallest.data(), info);
    }
    const bool transposed = a.layout == Layout::row_major;
    const bool exchanged = factorisation != Factorisation::llt;
    solve<T>(context, factorisation, transposed ? Transpose::yes : Transpose::no, f,
             exchanged ? p : PermutationsView<Index>{}, b, x, plan);
}

}  // namespace

template <class T>
void solve(const Context& context, const ConstBatch<T>& a, const ConstVectors<T>& b,
           const VectorsView<T>& x, Structure structure, Index* info, const Plan* plan) {
    const char* const name = "solve";
    check_batch(name, a);
    std::optional<Plan> own;
    plan = resolve_plan(name, context, a, plan, own);
    const Index rows = max_rows(a, plan);
    has_valid_vectors(name, a.count, rows, b, x);
    if (a.count == 0) return;
    if (info != nullptr && (rows == 0 || (plan != nullptr && plan->begin(1) > 0))) {
        for_each_index(context, a.count, ClearEmptyInfo{a.sizes, info});
    }
    if (rows == 0) return;
    const double part = structure == Structure::general ? 1 : 0.5;
    const Phase phase(
        context, name,
        (part * value_count(a, plan) + 2.0 * b.vectors * value_count(a, plan, 1)) * sizeof(T));
    const SystemJob<T> job{
        a, b, x, info, structure, plan, plan != nullptr ? plan->order() : nullptr};
    if (!is_solved_at_once(context, structure, rows, b.vectors)) {
        return solve_by_factors(context, job);
    }
    TESSERA_RUN(solve_systems<T>, context, job);
}

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
void mark_near_singular(const Context& context, const ConstBatch<T>& a, Structure structure,
                        const T* smallest, Index* info) {
    const char* const name = "mark_near_singular";
    check_batch(name, a);
    require_argument(a.count == 0 || (smallest != nullptr && info != nullptr), name,
                     "the array of pivots or of info is missing");
    for_each_index(context, a.count,
                   MarkNearSingular<T>{a, structure != Structure::general, smallest, info});
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

#define TESSERA_SOLVES(T)                                                                  \
    template void solve<T>(const Context&, const ConstBatch<T>&, const ConstVectors<T>&,   \
                           const VectorsView<T>&, Structure, Index*, const Plan*);         \
    template void solve<T>(const Context&, Factorisation, Transpose, const ConstBatch<T>&, \
                           const PermutationsView<const Index>&, const ConstVectors<T>&,   \
                           const VectorsView<T>&, const Plan*);
TESSERA_SOLVES(float)
TESSERA_SOLVES(double)
template decltype(mark_near_singular<float>) mark_near_singular<float>;
template decltype(mark_near_singular<double>) mark_near_singular<double>;
template decltype(inverse_from_factors<float>) inverse_from_factors<float>;
template decltype(inverse_from_factors<double>) inverse_from_factors<double>;
template decltype(take_absolute_pivots<float>) take_absolute_pivots<float>;
template decltype(take_absolute_pivots<double>) take_absolute_pivots<double>;

}  // namespace tessera::batched
