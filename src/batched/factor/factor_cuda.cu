#include "batched/factor/kernels.hpp"

namespace tessera::batched::cuda {

namespace {

/// Dispatches the job's pivoting among `pivotings`.
template <Factorisation kind, Pivoting... pivotings, class T>
void dispatch(const Context& context, const FactorJob<T>& job) {
    const auto run = [&]<Pivoting pivoting>(std::integral_constant<Pivoting, pivoting>) {
        if (job.pivoting != pivoting) return;
        if constexpr (kind == Factorisation::ldlt) return factorise_ldlt<pivoting>(context, job);
        if constexpr (kind != Factorisation::ldlt && pivoting != Pivoting::full) {
            if (factorise_per_thread<kind, pivoting>(context, job)) return;
        }
        if constexpr (kind != Factorisation::ldlt) factorise_as<kind, pivoting>(context, job);
    };
    (run(std::integral_constant<Pivoting, pivotings>()), ...);
}

}  // namespace

template <class T>
void factorise(const Context& context, const FactorJob<T>& job) {
    using enum Factorisation;
    using enum Pivoting;
    switch (job.factorisation) {
        case ldu:
            return dispatch<ldu, fixed, partial, full>(context, job);
        case llt:
            return dispatch<llt, fixed, full>(context, job);
        case ldlt:
            return dispatch<ldlt, fixed, bunch_kaufman, rook, full>(context, job);
    }
}

template decltype(factorise<float>) factorise<float>;
template decltype(factorise<double>) factorise<double>;

}  // namespace tessera::batched::cuda
