#include "precond/block_ldlt/symbolic/level_groups.hpp"

namespace tessera::block_ldlt::cuda {

template <class T>
void factor_run(const Context& context, const PatternView<T>& a, const LevelFactor<T>& factor,
                Index first, Index last) {
    using batched::Pivoting;
    switch (factor.pivoting) {
        case Pivoting::fixed:
            return factor_run_with<Pivoting::fixed>(context, a, factor, first, last);
        case Pivoting::bunch_kaufman:
            return factor_run_with<Pivoting::bunch_kaufman>(context, a, factor, first, last);
        case Pivoting::rook:
            return factor_run_with<Pivoting::rook>(context, a, factor, first, last);
        default:
            return factor_run_with<Pivoting::full>(context, a, factor, first, last);
    }
}

template void factor_run<float>(const Context&, const PatternView<float>&,
                                const LevelFactor<float>&, Index, Index);
template void factor_run<double>(const Context&, const PatternView<double>&,
                                 const LevelFactor<double>&, Index, Index);

}  // namespace tessera::block_ldlt::cuda
