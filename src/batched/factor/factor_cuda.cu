#include "batched/factor/kernels.hpp"

namespace tessera::batched::cuda {

template <class T>
void ldu(const Context& context, const FactorJob<T>& job) {
    switch (job.pivoting) {
        case Pivoting::fixed:
            if (ldu_by_groups<Pivoting::fixed>(context, job)) return;
            return ldu_with<Pivoting::fixed>(context, job);
        case Pivoting::partial:
            if (ldu_by_groups<Pivoting::partial>(context, job)) return;
            return ldu_with<Pivoting::partial>(context, job);
        default:
            return ldu_with<Pivoting::full>(context, job);
    }
}

template <class T>
void llt(const Context& context, const FactorJob<T>& job) {
    if (job.pivoting == Pivoting::full) return llt_with<Pivoting::full>(context, job);
    if (!llt_by_groups(context, job)) llt_with<Pivoting::fixed>(context, job);
}

template <class T>
void ldlt(const Context& context, const FactorJob<T>& job) {
    switch (job.pivoting) {
        case Pivoting::fixed:
            return ldlt_with<Pivoting::fixed>(context, job);
        case Pivoting::bunch_kaufman:
            return ldlt_with<Pivoting::bunch_kaufman>(context, job);
        case Pivoting::rook:
            return ldlt_with<Pivoting::rook>(context, job);
        default:
            return ldlt_with<Pivoting::full>(context, job);
    }
}

template decltype(ldu<float>) ldu<float>;
template decltype(ldu<double>) ldu<double>;
template decltype(llt<float>) llt<float>;
template decltype(llt<double>) llt<double>;
template decltype(ldlt<float>) ldlt<float>;
template decltype(ldlt<double>) ldlt<double>;

}  // namespace tessera::batched::cuda
