#include "batched/ldu/kernels.hpp"

#include "batched/factor_checks.hpp"

namespace tessera::batched {

template <class T>
void ldu(const Context& context, Pivoting pivoting,
         const BatchView<std::type_identity_t<const T>>& a, const BatchView<T>& f,
         const PermutationsView<Index>& permutations,
         const FactorResults<std::type_identity_t<T>>& results,
         const FactorOptions<std::type_identity_t<T>>& options, const Plan* plan) {
    require_of(pivoting != Pivoting::full || permutations.columns != nullptr || a.count == 0, "ldu",
               "the array for the permutations of columns is missing");
    run_factorisation("ldu", context,
                      FactorJob<T>{a, f, permutations, results, options, pivoting, plan},
                      {Pivoting::fixed, Pivoting::partial, Pivoting::full}, 1, &cpu::ldu<T>,
                      TESSERA_IF_CUDA(cuda::ldu<T>));
}

#define TESSERA_INSTANTIATE(T)                                                                     \
    template void ldu<T>(const Context&, Pivoting, const BatchView<const T>&, const BatchView<T>&, \
                         const PermutationsView<Index>&, const FactorResults<T>&,                  \
                         const FactorOptions<T>&, const Plan*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::batched
