#include "batched/factor_sets.hpp"
#include "batched/ldlt/kernels.hpp"
#include "batched/ldlt/ldlt_reference.hpp"

namespace tessera::batched::cpu {

namespace {

double work(Index n) { return double(n) * n * (n + 4) + 4; }

Offset scratch_lines(Index n) { return Offset(n) * n / 8 + 1; }

template <class T>
void factor_one(const FactorSet<T>& set, Index k) {
    const Index n = set.n;
    T* const m = set.scratch;
    for (Index j = 0; j < n; ++j) {
        for (Index i = j; i < n; ++i) m[i + j * n] = set.a[k][i + j * set.a_leading_dimension];
    }
    const PivotRecord<T> record = reference::ldlt(n, set.pivoting, set.tau[k], m, set.rows[k]);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) set.f[k][i + j * set.f_leading_dimension] = m[i + j * n];
    }
    set.info[k] = record.info;
    set.perturbed[k] = record.perturbed;
    set.perturbation[k] = record.perturbation;
    set.smallest[k] = record.smallest;
}

}  // namespace

template <class T>
void ldlt(const Context& context, const FactorJob<T>& job) {
    factor_batch(context, job, Factorisation::ldlt, work, scratch_lines,
                 [](const FactorSet<T>& set) {
                     for (Index k = 0; k < set.count; ++k) factor_one(set, k);
                 });
}

template void ldlt<float>(const Context&, const FactorJob<float>&);
template void ldlt<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cpu
