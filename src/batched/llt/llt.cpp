#include "batched/llt/kernels.hpp"

#include "batched/factor_checks.hpp"

namespace tessera::batched {

template <class T>
void llt(const Context& context, Pivoting pivoting,
         const BatchView<std::type_identity_t<const T>>& a, const BatchView<T>& f,
         const PermutationsView<Index>& permutations,
         const FactorResults<std::type_identity_t<T>>& results,
         const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    run_factorisation(
        "llt", context, FactorJob<T>{a, f, permutations, results, options, pivoting, plan},
        {Pivoting::fixed, Pivoting::full}, 0.5, &cpu::llt<T>, TESSERA_IF_CUDA(cuda::llt<T>));
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void llt<T>(const Context&, Pivoting, const BatchView<const T>&, const BatchView<T>&, \
                         const PermutationsView<Index>&, const FactorResults<T>&,                  \
                         const FactorOptions<T>&, const Plan*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::batched
