#include <algorithm>

#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/factor/kernels.hpp"

namespace tessera::batched {

namespace {

/// Bytes of the requested outputs of a matrix.
template <class T>
double output_bytes(const FactorResults<T>& results) {
    const auto bytes = [](const auto*... arrays) {
        return double(((arrays != nullptr ? sizeof(*arrays) : 0) + ...));
    };
    return bytes(results.info, results.perturbed, results.perturbation, results.smallest_pivot,
                 results.log_determinant, results.determinant_sign) +
           3 * bytes(results.inertia);
}

/// Checks `job` as `name` and runs it; `pivotings` are those that this factorisation has.
template <class T>
void run(const char* name, const Context& context, FactorJob<T> job,
         std::initializer_list<Pivoting> pivotings) {
    if (std::ranges::find(pivotings, job.pivoting) == pivotings.end()) {
        std::string message = std::string(name) + ": " + to_string(job.pivoting) +
                              " pivoting is not supported; choose one of";
        for (const Pivoting pivoting : pivotings) message += std::string(" ") + to_string(pivoting);
        throw InvalidArgument(message);
    }
    const auto& [rows, columns, stride, offsets] = job.permutations;
    const bool is_ldu = job.factorisation == Factorisation::ldu;
    require_argument(
        !is_ldu || job.pivoting != Pivoting::full || columns != nullptr || job.a.count == 0, name,
        "the array for the permutations of columns is missing");
    check_input_output(name, job.a, job.f);
    std::optional<Plan> own;
    job.plan = resolve_plan(name, context, job.a, job.plan, own);
    const Index largest = max_rows(job.a, job.plan);
    check_values(name, largest, job.f);
    check_permutations(name, job.a.count, largest, job.permutations);
    require_argument(largest == 0 || job.pivoting == Pivoting::fixed || rows != nullptr, name,
                     "the array for the permutations of rows is missing");
    require_argument(job.options.threshold_stride >= 0, name,
                     "the stride of thresholds is negative");
    if (job.a.count == 0) return;
    const int permutations = (rows != nullptr) + (columns != nullptr);
    const Phase phase(context, name,
                      (is_ldu ? 2 : 1.5) * value_count(job.a, job.plan) * sizeof(T) +
                          permutations * value_count(job.a, job.plan, 1) * sizeof(Index) +
                          output_bytes(job.results) * job.a.count);
    TESSERA_RUN(factorise<T>, context, job);
}

}  // namespace

const char* to_string(Pivoting pivoting) {
    switch (pivoting) {
        case Pivoting::fixed:
            return "static";
        case Pivoting::partial:
            return "partial";
        case Pivoting::bunch_kaufman:
            return "bunch_kaufman";
        case Pivoting::rook:
            return "rook";
        case Pivoting::full:
            return "full";
    }
    throw InvalidArgument("no such pivoting");
}

template <class T>
void ldu(const Context& context, Pivoting pivoting, const ConstBatch<T>& a, const BatchView<T>& f,
         const PermutationsView<Index>& permutations,
         const FactorResults<std::type_identity_t<T>>& results,
         const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run<T>("ldu", context,
           {a, f, permutations, results, options, pivoting, Factorisation::ldu, plan},
           {Pivoting::fixed, Pivoting::partial, Pivoting::full});
}

template <class T>
void llt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a, const BatchView<T>& f,
         const PermutationsView<Index>& permutations,
         const FactorResults<std::type_identity_t<T>>& results,
         const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run<T>("llt", context,
           {a, f, permutations, results, options, pivoting, Factorisation::llt, plan},
           {Pivoting::fixed, Pivoting::full});
}

template <class T>
void ldlt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a, const BatchView<T>& f,
          const PermutationsView<Index>& permutations,
          const FactorResults<std::type_identity_t<T>>& results,
          const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run<T>("ldlt", context,
           {a, f, permutations, results, options, pivoting, Factorisation::ldlt, plan},
           {Pivoting::fixed, Pivoting::bunch_kaufman, Pivoting::rook, Pivoting::full});
}

template decltype(ldu<float>) ldu<float>;
template decltype(ldu<double>) ldu<double>;
template decltype(llt<float>) llt<float>;
template decltype(llt<double>) llt<double>;
template decltype(ldlt<float>) ldlt<float>;
template decltype(ldlt<double>) ldlt<double>;

}  // namespace tessera::batched
