#include "batched/ldlt/kernels.hpp"

#include "batched/factor_entries.hpp"

namespace tessera::batched::cuda {

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

template void ldlt<float>(const Context&, const FactorJob<float>&);
template void ldlt<double>(const Context&, const FactorJob<double>&);

}  // namespace tessera::batched::cuda
