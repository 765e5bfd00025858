#include "precond/block_ldlt/solve/factor_solver.hpp"

#include <cmath>

#include "base/for_each.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::block_ldlt {

namespace {

/// Seeds of the random vectors of the reconstruction error.
constexpr std::uint64_t first_seed = 2018;
constexpr int random_vectors = 2;

}  // namespace

template <class T>
FactorSolver<T>::FactorSolver(const Context& context, const SymbolicFactor& symbolic)
    : started_blocks_(context, 2),
      partial_(context,
               Offset(symbolic.lower_tasks.pieces + symbolic.upper_tasks.pieces) * symbolic.grid.k),
      sums_(context, 2 * random_vectors) {
    for (Buffer<T>& vector : vectors_) vector = Buffer<T>(context, symbolic.slots.size());
}

/// Jacobi iteration x = b - V x from x = b; exact after as many sweeps as there are levels.
template <class T>
void FactorSolver<T>::solve_by_iteration(const Context& context, const NumericFactor<T>& factor,
                                         bool upper, int sweeps, T* x) const {
    T* b = vectors_[2].data();
    T* y = vectors_[3].data();
    const auto elements = vectors_[2].view().size();
    copy(context, std::span<const T>(x, elements), vectors_[2].view());
    for (int s = 1; s < sweeps; ++s) {
        TESSERA_RUN(triangular_product<T>, context, factor.view(), upper, 0,
                    factor.view().block_rows, factor.v().data(), T(-1), x, b, y);
        copy(context, std::as_const(vectors_[3]).view(), std::span<T>(x, elements));
    }
}

template <class T>
void FactorSolver<T>::solve_exactly(const Context& context, const NumericFactor<T>& factor, T* x,
                                    T* y) const {
    const PatternView<T>& a = factor.view();
    const SymbolicFactor& symbolic = factor.symbolic();
    const T* const v = factor.v().data();
    const T* const inverses = factor.inverses().data();
    if (context.on_gpu() && a.k >= 8) {
        const decltype(&cuda::solve_rows<T>) solve_rows = TESSERA_IF_CUDA(cuda::solve_rows<T>);
        const SplitSolve &lower = symbolic.lower_tasks, &upper = symbolic.upper_tasks;
        solve_rows(context, a,
                   {lower.data(), upper.data(), lower.pieces, upper.pieces, partial_.data()}, v,
                   inverses, x, vectors_[2].data(), y, started_blocks_.data());
        return;
    }
    const auto row = [&](Index level) { return Index(symbolic.level_starts[level].row); };
    for (Index l = 1; l < factor.levels(); ++l) {
        TESSERA_RUN(triangular_product<T>, context, a, false, row(l), row(l + 1), v, T(-1), x, x,
                    x);
    }
    TESSERA_RUN(diagonal_product<T>, context, a, inverses, x, y);
    for (Index l = factor.levels() - 1; l-- > 0;) {
        TESSERA_RUN(triangular_product<T>, context, a, true, row(l), row(l + 1), v, T(-1), y, y, y);
    }
}

template <class T>
void FactorSolver<T>::solve(const Context& context, const NumericFactor<T>& factor,
                            std::span<const T> scale, int sweeps, const T* r, T* z) const {
    T* x = vectors_[0].data();
    T* y = vectors_[1].data();
    const Buffer<Index>& slots = factor.symbolic().slots;
    for_each_index(context, slots.size(), Gather<T>{slots.data(), scale.data(), r, nullptr, x});
    if (sweeps == 0) {
        solve_exactly(context, factor, x, y);
    } else {
        solve_by_iteration(context, factor, false, sweeps, x);
        TESSERA_RUN(diagonal_product<T>, context, factor.view(), factor.inverses().data(), x, y);
        solve_by_iteration(context, factor, true, sweeps, y);
    }
    for_each_index(context, slots.size(), Scatter<T>{slots.data(), scale.data(), y, z});
}

template <class T>
double FactorSolver<T>::reconstruction_error(const Context& context, const NumericFactor<T>& factor,
                                             std::span<const T> scale, const CsrView<T>& matrix,
                                             const SpmvPlan& plan) const {
    const PatternView<T>& a = factor.view();
    const Buffer<Index>& slots = factor.symbolic().slots;
    const T* const v = factor.v().data();
    const auto rows = std::size_t(matrix.rows);
    auto& [w, x, y, z] = vectors_;
    for (int vector = 0; vector < random_vectors; ++vector) {
        fill_normal(context, first_seed + std::uint64_t(vector), w.view());
        TESSERA_RUN(triangular_product<T>, context, a, true, 0, a.block_rows, v, T(1), w.data(),
                    w.data(), x.data());
        TESSERA_RUN(factor_product<T>, context, a, factor.factors().data(),
                    factor.permutations().data(), x.data(), y.data());
        TESSERA_RUN(triangular_product<T>, context, a, false, 0, a.block_rows, v, T(1), y.data(),
                    y.data(), x.data());
        for_each_index(context, slots.size(),
                       Scatter<T>{slots.data(), scale.data(), w.data(), y.data()});
        multiply(context, matrix, plan, T(1), std::as_const(y).view().first(rows), T(0),
                 z.view().first(rows));
        for_each_index(context, slots.size(),
                       Gather<T>{slots.data(), scale.data(), z.data(), w.data(), y.data()});
        axpby(context, T(-1), std::as_const(y).view(), T(1), x.view());
        T* const sums = sums_.data() + 2 * vector;
        dot(context, std::as_const(x).view(), std::as_const(x).view(), sums);
        dot(context, std::as_const(y).view(), std::as_const(y).view(), sums + 1);
    }
    const std::vector<T> sums = copy_to_host(context, sums_);
    double error = 0, size = 0;
    for (std::size_t vector = 0; vector < random_vectors; ++vector) {
        error += double(sums[2 * vector]);
        size += double(sums[2 * vector + 1]);
    }
    if (error == 0) return 0;
    const double ratio = std::sqrt(error / size);
    return std::isfinite(ratio) ? ratio : std::numeric_limits<double>::infinity();
}

/// Column c of every block is its product with the unit vector e_c.
template <class T>
std::vector<T> FactorSolver<T>::diagonal_blocks(const Context& context,
                                                const NumericFactor<T>& factor) const {
    const auto k = std::size_t(factor.view().k), slots = factor.grid().slots.size();
    std::vector<T> blocks(slots * k);
    for (std::size_t c = 0; c < k; ++c) {
        std::vector<T> unit(slots, T(0));
        for (std::size_t slot = c; slot < slots; slot += k) unit[slot] = T(1);
        copy_from_host<T>(context, unit, vectors_[0].view());
        TESSERA_RUN(factor_product<T>, context, factor.view(), factor.factors().data(),
                    factor.permutations().data(), vectors_[0].data(), vectors_[1].data());
        const std::vector<T> column = copy_to_host(context, vectors_[1]);
        for (std::size_t slot = 0; slot < slots; ++slot) {
            blocks[slot / k * k * k + c * k + slot % k] = column[slot];
        }
    }
    return blocks;
}

template class FactorSolver<float>;
template class FactorSolver<double>;

}  // namespace tessera::block_ldlt
