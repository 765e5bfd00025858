#include <initializer_list>

#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/factor/kernels.hpp"

namespace tessera::batched {

namespace {

/// Bytes of results for each matrix.
template <class T>
double bytes_told(const FactorResults<T>& results) {
    const auto of = [](const auto* array, std::size_t bytes) {
        return array != nullptr ? double(bytes) : 0.0;
    };
    return of(results.info, sizeof(Index)) + of(results.perturbed, sizeof(Index)) +
           of(results.perturbation, sizeof(T)) + of(results.smallest_pivot, sizeof(T)) +
           of(results.inertia, 3 * sizeof(Index)) + of(results.log_determinant, sizeof(T)) +
           of(results.determinant_sign, sizeof(Index));
}

/// cpu::ldu<T> and the like.
template <class T>
using FactorKernel = std::type_identity_t<void(const Context&, const FactorJob<T>&)>;

/// Checks `job` as `name` and runs the kernel of its Context; `pivotings` are those that there are,
/// `kept` is 1 where all of a matrix is read, 1/2 where only its triangle is.
template <class T>
void run_factorisation(const char* name, const Context& context, FactorJob<T> job,
                       std::initializer_list<Pivoting> pivotings, double kept, FactorKernel<T>* cpu,
                       FactorKernel<T>* cuda) {
    const bool known =
        std::find(pivotings.begin(), pivotings.end(), job.pivoting) != pivotings.end();
    if (!known) {
        std::string message = std::string(name) + ": there is no " + to_string(job.pivoting) +
                              " pivoting here; there is";
        for (const Pivoting pivoting : pivotings) message += std::string(" ") + to_string(pivoting);
        throw InvalidArgument(message);
    }
    check_pair(name, job.a, job.f);
    std::optional<Plan> own;
    job.plan = plan_of(name, context, job.a, job.plan, own);
    const Index largest = job.largest();
    check_values(name, largest, job.f);
    check_permutations(name, job.a.count, largest, job.permutations);
    require_of(largest == 0 || job.pivoting == Pivoting::fixed || job.permutations.rows != nullptr,
               name, "the array for the permutations of rows is missing");
    require_of(job.options.threshold_stride >= 0, name, "the stride of thresholds is negative");
    if (job.a.count == 0) return;
    const double permutations =
        (job.permutations.rows != nullptr) + (job.permutations.columns != nullptr);
    const Phase phase(context, name,
                      (1 + kept) * values_of(job.a, job.plan) * sizeof(T) +
                          permutations * values_of(job.a, job.plan, 1) * sizeof(Index) +
                          bytes_told(job.results) * job.a.count);
    select(context, cpu, cuda)(context, job);
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
    require_of(pivoting != Pivoting::full || permutations.columns != nullptr || a.count == 0, "ldu",
               "the array for the permutations of columns is missing");
    run_factorisation<T>("ldu", context, {a, f, permutations, results, options, pivoting, plan},
                         {Pivoting::fixed, Pivoting::partial, Pivoting::full}, 1, &cpu::ldu<T>,
                         TESSERA_IF_CUDA(cuda::ldu<T>));
}

template <class T>
void llt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a, const BatchView<T>& f,
         const PermutationsView<Index>& permutations,
         const FactorResults<std::type_identity_t<T>>& results,
         const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run_factorisation<T>("llt", context, {a, f, permutations, results, options, pivoting, plan},
                         {Pivoting::fixed, Pivoting::full}, 0.5, &cpu::llt<T>,
                         TESSERA_IF_CUDA(cuda::llt<T>));
}

template <class T>
void ldlt(const Context& context, Pivoting pivoting, const ConstBatch<T>& a, const BatchView<T>& f,
          const PermutationsView<Index>& permutations,
          const FactorResults<std::type_identity_t<T>>& results,
          const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run_factorisation<T>("ldlt", context, {a, f, permutations, results, options, pivoting, plan},
                         {Pivoting::fixed, Pivoting::bunch_kaufman, Pivoting::rook, Pivoting::full},
                         0.5, &cpu::ldlt<T>, TESSERA_IF_CUDA(cuda::ldlt<T>));
}

template decltype(ldu<float>) ldu<float>;
template decltype(ldu<double>) ldu<double>;
template decltype(llt<float>) llt<float>;
template decltype(llt<double>) llt<double>;
template decltype(ldlt<float>) ldlt<float>;
template decltype(ldlt<double>) ldlt<double>;

}  // namespace tessera::batched
