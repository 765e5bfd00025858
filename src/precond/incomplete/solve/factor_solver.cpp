#include "precond/incomplete/solve/factor_solver.hpp"

#include <algorithm>
#include <cmath>

#include "base/for_each.hpp"
#include "base/scratch/scratch.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::incomplete {

namespace {

/// Seeds of the random vectors of the reconstruction error.
constexpr std::uint64_t first_seed = 2018;
constexpr int random_vectors = 2;

/// Work space of products with a factor.
template <class T>
struct Workspace {
    Workspace(const Context& context, const SymbolicFactor& symbolic)
        : size(symbolic.grid.slots.size()),
          memory(context, vectors * size),
          partial(context, partial_size(symbolic)),
          started_blocks(context, 2) {}

    static constexpr Offset vectors = 4;
    static Offset partial_size(const SymbolicFactor& symbolic) {
        const Offset pieces =
            std::max({Offset(symbolic.lower_tasks.pieces) + symbolic.upper_tasks.pieces,
                      symbolic.split_rows.pieces.size(), symbolic.split_columns.pieces.size()});
        return pieces * symbolic.grid.k;
    }
    std::span<T> vector(Offset j) const {
        return memory.view().subspan(std::size_t(j * size), std::size_t(size));
    }
    /// The pattern of the factor; sums of pieces of long rows are in this work space.
    PatternView<T> pattern(PatternView<T> view) const {
        view.split_rows.partial = view.split_columns.partial = partial.data();
        return view;
    }

    Offset size;
    Scratch<T> memory, partial;
    Scratch<unsigned> started_blocks;  ///< Tickets of the two solves.
};

/// x = (I + V)^-1 x, or (I + V)^-T x, by the Jacobi iteration x = b - V x from x = b; exact after
/// as many sweeps as there are levels.
template <class T>
void solve_by_iteration(const Context& context, const PatternView<T>& a, const T* v, bool upper,
                        int sweeps, std::span<T> x, std::span<T> b, std::span<T> y) {
    copy<T>(context, x, b);
    for (int s = 1; s < sweeps; ++s) {
        TESSERA_RUN(triangular_product<T>, context, a, upper, 0, a.block_rows, v, T(-1), x.data(),
                    b.data(), y.data());
        copy<T>(context, y, x);
    }
}

/// The arrays of M^-1 = (I + V')^-T X (I + V)^-1, or of its transpose.
template <class T>
struct InverseParts {
    InverseParts(const NumericFactor<T>& factor, bool transposed)
        : v(factor.v(transposed ? upper : lower).data()),
          transposes(factor.v(transposed ? lower : upper).data()),
          inverses{factor.inverses(transposed).data(), factor.inverses(!transposed).data()} {}

    const T* v;
    const T* transposes;  ///< V'.
    Inverses<T> inverses;
};

/// The exact triangular solves with a pattern, one after the other.
template <class T>
class TriangularSolver {
  public:
    /// `first`, `second`: the results of the solves that follow; may be one, if there is one solve.
    TriangularSolver(const Context& context, const SymbolicFactor& symbolic,
                     const PatternView<T>& pattern, const Workspace<T>& work, T* first, T* second)
        : context_(context), symbolic_(symbolic), pattern_(pattern), work_(work) {
        if (!in_one_kernel() || pattern.block_rows == 0) return;
        const decltype(&cuda::reset_solve<T>) reset = TESSERA_IF_CUDA(cuda::reset_solve<T>);
        const Offset pieces = Offset(symbolic.lower_tasks.pieces) + symbolic.upper_tasks.pieces;
        reset(context, work.size, first, second, pieces * pattern.k, work.partial.data(),
              work.started_blocks.data());
    }

    /// y = (I + V)^-1 x; returns y: x itself where the solve is in place, else `to`.
    T* solve_lower(const T* v, T* x, T* to) const {
        if (in_one_kernel()) {
            run(false, symbolic_.lower_tasks, 0, v, nullptr, x, to);
            return to;
        }
        for (Index l = 1; l < symbolic_.pattern.levels(); ++l) {
            TESSERA_RUN(triangular_product<T>, context_, pattern_, false, row(l), row(l + 1), v,
                        T(-1), x, x, x);
        }
        return x;
    }
    /// y = (I + V)^-T X x.
    void solve_upper(const T* v, const Inverses<T>& inverses, const T* x, T* y) const {
        const bool in_one = in_one_kernel(), scales = in_one && pattern_.k >= 8;
        T* const scaled = in_one ? work_.vector(3).data() : y;
        if (!scales) TESSERA_RUN(diagonal_product<T>, context_, pattern_, inverses, x, scaled);
        if (in_one) {
            return run(true, symbolic_.upper_tasks, symbolic_.lower_tasks.pieces, v,
                       inverses.transposed, scales ? x : scaled, y);
        }
        for (Index l = symbolic_.pattern.levels() - 1; l-- > 0;) {
            TESSERA_RUN(triangular_product<T>, context_, pattern_, true, row(l), row(l + 1), v,
                        T(-1), y, y, y);
        }
    }

  private:
    /// On a GPU one kernel solves all levels; that for blocks of 8 rows and more multiplies by X.
    bool in_one_kernel() const { return context_.on_gpu(); }
    Index row(Index level) const { return Index(symbolic_.pattern.level_starts[level].row); }
    void run(bool upper, const SplitSolve& tasks, Offset first_piece, const T* v,
             const T* transposes, const T* b, T* y) const {
        if (pattern_.block_rows == 0) return;
        const decltype(&cuda::solve_rows<T>) solve = TESSERA_IF_CUDA(cuda::solve_rows<T>);
        solve(context_, pattern_, upper,
              {tasks.data(), tasks.pieces, work_.partial.data() + first_piece * pattern_.k,
               work_.started_blocks.data() + (upper ? 1 : 0)},
              v, transposes, b, y);
    }

    const Context& context_;
    const SymbolicFactor& symbolic_;
    const PatternView<T>& pattern_;
    const Workspace<T>& work_;
};

/// y = (I + V')^-T X (I + V)^-1 x; x is overwritten.
template <class T>
void solve_exactly(const Context& context, const NumericFactor<T>& factor,
                   const InverseParts<T>& parts, const Workspace<T>& work, T* x, T* y) {
    const PatternView<T> a = work.pattern(factor.view());
    T* const middle = work.vector(2).data();
    const TriangularSolver<T> solver(context, factor.symbolic(), a, work, middle, y);
    solver.solve_upper(parts.transposes, parts.inverses, solver.solve_lower(parts.v, x, middle), y);
}

/// y = F x.
template <class T>
void multiply_diagonal(const Context& context, const NumericFactor<T>& factor, const T* x, T* y) {
    TESSERA_RUN(factor_product<T>, context, factor.view(), factor.factors().data(),
                factor.permutations().data(), factor.column_permutations().data(), x, y);
}

}  // namespace

template <class T>
void reserve_apply_inverse(const Context& context, const SymbolicFactor& symbolic) {
    const auto size = Offset(sizeof(T));
    reserve_scratch(context, {Workspace<T>::vectors * symbolic.grid.slots.size() * size,
                              Workspace<T>::partial_size(symbolic) * size, 2 * sizeof(unsigned)});
}

template <class T>
void apply_inverse(const Context& context, const NumericFactor<T>& factor,
                   const Scaling<T>& scaling, int sweeps, const T* r, T* z, bool transposed) {
    const Workspace<T> work(context, factor.symbolic());
    const InverseParts<T> parts(factor, transposed);
    const std::span<T> x = work.vector(0), y = work.vector(1);
    const Index* row_slots = factor.grid().rows_in_slots().data();
    const Index* column_slots = factor.symbolic().grid.slots.data();
    const T *row_scale = scaling.rows.data(), *column_scale = scaling.columns.data();
    if (transposed) {
        std::swap(row_slots, column_slots);
        std::swap(row_scale, column_scale);
    }
    for_each_index(context, work.size, GatherVector<T>{row_slots, row_scale, r, nullptr, x.data()});
    if (sweeps == 0) {
        solve_exactly(context, factor, parts, work, x.data(), y.data());
    } else {
        const PatternView<T> a = work.pattern(factor.view());
        const std::span<T> b = work.vector(2), next = work.vector(3);
        solve_by_iteration(context, a, parts.v, false, sweeps, x, b, next);
        TESSERA_RUN(diagonal_product<T>, context, a, parts.inverses, x.data(), y.data());
        solve_by_iteration(context, a, parts.transposes, true, sweeps, y, b, next);
    }
    for_each_index(context, work.size, ScatterVector<T>{column_slots, column_scale, y.data(), z});
}

template <class T>
void solve_triangular(const Context& context, const TriangularFactor<T>& factor, bool transposed,
                      const T* b, T* x) {
    const SymbolicFactor& symbolic = factor.symbolic;
    const Workspace<T> work(context, symbolic);
    const PatternView<T> a = work.pattern(factor.pattern);
    const std::span<T> in = work.vector(0), middle = work.vector(1), out = work.vector(2);
    const Index* const slots = symbolic.grid.slots.data();
    for_each_index(context, work.size, GatherVector<T>{slots, nullptr, b, nullptr, in.data()});
    const TriangularSolver<T> solver(context, symbolic, a, work,
                                     transposed ? out.data() : middle.data(),
                                     transposed ? out.data() : middle.data());
    const T *const inverses = factor.inverses.data(), *const turned = factor.transposes.data();
    if (transposed) {
        solver.solve_upper(factor.v.data(), {turned, inverses}, in.data(), out.data());
    } else {
        const T* const y = solver.solve_lower(factor.v.data(), in.data(), middle.data());
        TESSERA_RUN(diagonal_product<T>, context, a, Inverses<T>{inverses, turned}, y, out.data());
    }
    for_each_index(context, work.size, ScatterVector<T>{slots, nullptr, out.data(), x});
}

template <class T>
double reconstruction_error(const Context& context, const NumericFactor<T>& factor,
                            const Scaling<T>& scaling, const CsrView<T>& matrix,
                            const SpmvPlan& plan) {
    const Workspace<T> work(context, factor.symbolic());
    const PatternView<T> a = work.pattern(factor.view());
    const SymbolicFactor& symbolic = factor.symbolic();
    const auto rows = std::size_t(matrix.rows);
    const std::span<T> w = work.vector(0), x = work.vector(1), y = work.vector(2),
                       z = work.vector(3);
    Buffer<T> all_sums(context, 2 * random_vectors);
    for (int vector = 0; vector < random_vectors; ++vector) {
        fill_normal(context, first_seed + std::uint64_t(vector), w);
        const T* const u = factor.v(upper).data();
        const auto multiply_upper = [&](std::span<T> plus, std::span<T> to) {
            TESSERA_RUN(triangular_product<T>, context, a, true, 0, a.block_rows, u, T(1), w.data(),
                        plus.data(), to.data());
        };
        if (factor.upper_is_scaled()) {
            multiply_upper(w, x);
            multiply_diagonal(context, factor, x.data(), y.data());
        } else {  // F (I + U) = F + W.
            multiply_diagonal(context, factor, w.data(), x.data());
            multiply_upper(x, y);
        }
        TESSERA_RUN(triangular_product<T>, context, a, false, 0, a.block_rows,
                    factor.v(lower).data(), T(1), y.data(), y.data(), x.data());
        for_each_index(context, work.size,
                       ScatterVector<T>{symbolic.grid.slots.data(), scaling.columns.data(),
                                        w.data(), y.data()});
        multiply(context, matrix, plan, T(1), y.first(rows), T(0), z.first(rows));
        for_each_index(context, work.size,
                       GatherVector<T>{symbolic.grid.rows_in_slots().data(), scaling.rows.data(),
                                       z.data(), w.data(), y.data()});
        axpby<T>(context, T(-1), y, T(1), x);
        T* const sums = all_sums.data() + 2 * vector;
        dot<T>(context, x, x, sums);
        dot<T>(context, y, y, sums + 1);
    }
    const std::vector<T> sums = copy_to_host(context, all_sums);
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
std::vector<T> diagonal_blocks(const Context& context, const NumericFactor<T>& factor) {
    const auto k = std::size_t(factor.view().k), slots = std::size_t(factor.grid().slots.size());
    const Workspace<T> work(context, factor.symbolic());
    const std::span<T> x = work.vector(0), y = work.vector(1);
    std::vector<T> blocks(slots * k), column(slots);
    for (std::size_t c = 0; c < k; ++c) {
        std::vector<T> unit(slots, T(0));
        for (std::size_t slot = c; slot < slots; slot += k) unit[slot] = T(1);
        copy_from_host<T>(context, unit, x);
        multiply_diagonal(context, factor, x.data(), y.data());
        copy_to_host<T>(context, y, column);
        for (std::size_t slot = 0; slot < slots; ++slot) {
            blocks[slot / k * k * k + c * k + slot % k] = column[slot];
        }
    }
    return blocks;
}

#define TESSERA_INSTANTIATE(T)                                                     \
    template decltype(apply_inverse<T>) apply_inverse<T>;                          \
    template void reserve_apply_inverse<T>(const Context&, const SymbolicFactor&); \
    template decltype(solve_triangular<T>) solve_triangular<T>;                    \
    template decltype(reconstruction_error<T>) reconstruction_error<T>;            \
    template decltype(diagonal_blocks<T>) diagonal_blocks<T>;
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::incomplete
