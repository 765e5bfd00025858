#pragma once

#include <initializer_list>

#include "base/phases.hpp"
#include "batched/checks.hpp"
#include "batched/factor_job.hpp"

// What the public entries of the factorisations, and of what is done with factors, ask.

namespace tessera::batched {

/// Two batches of column-major matrices of the same sizes, the second of which is written.
template <class A, class X>
void check_pair(const char* name, const BatchView<A>& a, const BatchView<X>& x) {
    check_batch(name, a);
    check_batch(name, x);
    require_of(a.layout == Layout::column_major && x.layout == Layout::column_major, name,
               "matrices must be column-major");
    require_of(a.count == x.count, name, "the batches differ in their number of matrices");
    require_of(
        (a.sizes == nullptr) == (x.sizes == nullptr) && (a.sizes != nullptr || a.size == x.size),
        name, "the batches differ in the sizes of their matrices");
    check_written(name, x.count, x);
}

template <class I>
void check_permutations(const char* name, Index count, Index largest,
                        const PermutationsView<I>& permutations) {
    const bool given = permutations.rows != nullptr || permutations.columns != nullptr;
    require_of(
        !given || count <= 1 || permutations.offsets != nullptr || permutations.stride >= largest,
        name, "the permutations lie on top of each other; give a stride or offsets");
}

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

}  // namespace tessera::batched
