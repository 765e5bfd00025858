#include "precond/incomplete/numeric/numeric_factor.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::incomplete {

namespace {

/// Number of partial pivot summaries that for_each_index computes; the host reduces them.
constexpr Offset max_parts = 4096;

}  // namespace

template <class T>
NumericFactor<T>::NumericFactor(const Context& context, SymbolicFactor symbolic,
                                batched::Pivoting pivoting, bool by_sweeps)
    : symbolic_(std::move(symbolic)), pivoting_(pivoting) {
    static_cast<PatternLists&>(view_) = symbolic_.lists;
    const Index k = view_.k, m = view_.block_rows;
    for (std::size_t s = 0; s < (by_sweeps ? 3 : 1); ++s) {
        sets_[s] = make_set(context);
        if (s < 2 && symmetric()) w_[s] = Buffer<T>(context, view_.blocks * k * k);
    }
    if (by_sweeps) {
        matrix_[lower] = Buffer<T>(context, view_.blocks * k * k);
        if (!symmetric()) matrix_[upper] = Buffer<T>(context, view_.blocks * k * k);
        matrix_[2] = Buffer<T>(context, Offset(m) * k * k);
    }
    for (Buffer<T>* of_rows : {&thresholds_, &smallest_}) *of_rows = Buffer<T>(context, m);
    perturbed_ = Buffer<Index>(context, m);
    // Schur updates of block rows and of blocks use the partial sums in turn, both triangles at
    // once.
    const Offset pieces =
        std::max(symbolic_.split_rows.pieces.size(), symbolic_.split_updates.pieces.size());
    partial_blocks_ = Buffer<T>(context, (symmetric() ? 1 : 2) * pieces * k * k);
    view_.split_rows = symbolic_.split_rows.view(partial_blocks_.data());
    view_.split_columns = symbolic_.split_columns.template view<T>(nullptr);
    view_.split_updates = symbolic_.split_updates.view(partial_blocks_.data());
}

template <class T>
typename NumericFactor<T>::FactorSet NumericFactor<T>::make_set(const Context& context) const {
    const Offset slots = Offset(view_.block_rows) * view_.k, size = slots * view_.k;
    FactorSet set;
    set.factors = Buffer<T>(context, size);
    for (std::size_t t = 0; t < (symmetric() ? 1 : 2); ++t) {
        set.v[t] = Buffer<T>(context, view_.blocks * view_.k * view_.k);
        set.inverses[t] = Buffer<T>(context, size);
        set.permutations[t] = Buffer<Index>(context, slots);
    }
    return set;
}

template <class T>
MatrixBlocks<T> NumericFactor<T>::matrix_blocks() {
    if (!matrix_[2].empty()) {
        return {matrix_[lower].data(), matrix_[upper].data(), matrix_[2].data()};
    }
    FactorSet& set = sets_[0];
    return {(symmetric() ? w_[0] : set.v[lower]).data(), set.v[upper].data(), set.factors.data()};
}

template <class T>
void NumericFactor<T>::load(const Context& context, const Scaling<T>& scaling,
                            const CsrView<T>& matrix) {
    Buffer<std::uint64_t> largest = zeros<std::uint64_t>(context, RowsOfThread::results);
    load_blocks(context, symbolic_, {scaling.rows.data(), scaling.columns.data()}, matrix,
                matrix_blocks(), largest.data());
    largest_entry_ = T(std::bit_cast<double>(std::ranges::max(copy_to_host(context, largest))));
}

template <class T>
void NumericFactor<T>::set_threshold(const Context& context, double epsilon) {
    const double unit = largest_entry_ > T(0) ? double(largest_entry_) : 1;
    fill(context, T(epsilon * unit), thresholds_.view());
}

template <class T>
LevelFactor<T> NumericFactor<T>::all_blocks(FactorSet& set, T* w) {
    return {symbolic_.pattern.level_starts_in_context.data(),
            set.v[lower].data(),
            w,
            set.factors.data(),
            set.permutations[lower].data(),
            set.inverses[lower].data(),
            thresholds_.data(),
            perturbed_.data(),
            smallest_.data()};
}

/// Replaces Schur complements by their factors, and inverts these.
template <class T>
void NumericFactor<T>::factor_diagonals(const Context& context, Index first, Index last,
                                        FactorSet& to) {
    const Index k = view_.k;
    const Offset begin = Offset(first) * k * k;
    const auto blocks_of = [&](Buffer<T>& array) {
        return batched::BatchView<T>::uniform(last - first, k, array.data() + begin);
    };
    const auto factors = blocks_of(to.factors), inverses = blocks_of(to.inverses[lower]);
    batched::PermutationsView<Index> permutations;
    permutations.rows = to.permutations[lower].data() + Offset(first) * k;
    permutations.stride = k;
    batched::FactorOptions<T> options;
    options.thresholds = thresholds_.data() + first;
    options.threshold_stride = 1;
    batched::FactorResults<T> results;
    results.perturbed = perturbed_.data() + first;
    results.smallest_pivot = smallest_.data() + first;
    if (symmetric()) {
        const decltype(&cuda::factor_blocks<T>) factor_by_warps =
            TESSERA_IF_CUDA(cuda::factor_blocks<T>);
        if (context.on_gpu() && pivoting_ == batched::Pivoting::full) {
            factor_by_warps(context, k, all_blocks(to, nullptr), first, last);
        } else {
            batched::ldlt<T>(context, pivoting_, factors, factors, permutations, results, options);
        }
        batched::inverse_from_factors<T>(context, batched::Factorisation::ldlt, factors,
                                         permutations, inverses);
        return;
    }
    permutations.columns = to.permutations[upper].data() + Offset(first) * k;
    batched::ldu<T>(context, pivoting_, factors, factors, permutations, results, options);
    batched::inverse_from_factors<T>(context, batched::Factorisation::ldu, factors, permutations,
                                     inverses);
}

template <class T>
void NumericFactor<T>::transpose_inverses(const Context& context) {
    if (symmetric()) return;
    FactorSet& set = sets_[std::size_t(current_)];
    for_each_index(
        context, set.inverses[lower].size(),
        TransposeBlocks<T>{view_.k, set.inverses[lower].data(), set.inverses[upper].data()});
}

/// Schur complements, factors and inverses of the diagonal blocks from start.row to end.row, then
/// the blocks off the diagonal from start.block to end.block.
template <class T>
void NumericFactor<T>::factor_range(const Context& context, LevelStart start, LevelStart end,
                                    const FactorSet& from, const T* w, FactorSet& to, T* w_out) {
    const Index first = Index(start.row), last = Index(end.row);
    if (first == last) return;
    const T* const v = from.v[lower].data();
    const T* const other = symmetric() ? w : from.v[upper].data();
    const MatrixBlocks<T> matrix = matrix_blocks();
    TESSERA_RUN(schur_diagonals<T>, context, view_, first, last, matrix.diagonal, v, other,
                to.factors.data());
    factor_diagonals(context, first, last, to);
    const TriangleArrays<T> below{matrix.lower,       v,    other, to.inverses[lower].data(),
                                  to.v[lower].data(), w_out};
    TriangleArrays<T> above;
    if (!symmetric()) above = {matrix.upper, other, v, nullptr, nullptr, to.v[upper].data()};
    TESSERA_RUN(schur_blocks<T>, context, view_, start.block, end.block, below, above);
}

template <class T>
void NumericFactor<T>::scale_upper(const Context& context) {
    if (upper_is_scaled()) return;
    FactorSet& set = sets_[std::size_t(current_)];
    TESSERA_RUN(scale_blocks<T>, context, view_, set.inverses[lower].data(), set.v[upper].data());
    upper_is_scaled_ = true;
}

template <class T>
void NumericFactor<T>::factor_by_levels(const Context& context) {
    current_ = best_ = current_w_ = 0;
    upper_is_scaled_ = false;
    FactorSet& set = sets_[0];
    const LevelFactor<T> all = all_blocks(set, w_[0].data());
    const decltype(&cuda::factor_levels<T>) factor_batched =
        TESSERA_IF_CUDA(cuda::factor_levels<T>);
    const auto& starts = symbolic_.pattern.level_starts;
    for (const LevelGroup& group : symbolic_.level_groups) {
        if (group.batched && pivoting_ == batched::Pivoting::full) {
            factor_batched(context, view_, all, group.first, group.last);
        } else {
            for (Index l = group.first; l < group.last; ++l) {
                factor_range(context, starts[l], starts[l + 1], set, w_[0].data(), set,
                             w_[0].data());
            }
        }
    }
    transpose_inverses(context);
    scale_upper(context);
}

template <class T>
void NumericFactor<T>::take_factor(const Context& context, std::span<const T> l,
                                   std::span<const T> u_transposed, std::span<const T> f,
                                   const PivotSummary& pivots) {
    current_ = best_ = current_w_ = 0;
    upper_is_scaled_ = true;
    FactorSet& set = sets_[0];
    std::vector<T> inverses(f.begin(), f.end());
    for (T& pivot : inverses) pivot = T(1) / pivot;
    copy_from_host<T>(context, l, set.v[lower].view());
    copy_from_host<T>(context, u_transposed, set.v[upper].view());
    copy_from_host<T>(context, f, set.factors.view());
    for (const Triangle triangle : {lower, upper}) {
        copy_from_host<T>(context, inverses, set.inverses[triangle].view());
        set.permutations[triangle] =
            copy_to_buffer(context, std::vector<Index>(f.size(), Index(0)));
    }
    std::vector<T> smallest(f.size(), std::numeric_limits<T>::infinity());
    std::vector<Index> perturbed(f.size(), 0);
    if (!f.empty()) smallest[0] = T(pivots.smallest);
    if (!f.empty()) perturbed[0] = Index(pivots.perturbed);
    smallest_ = copy_to_buffer(context, smallest);
    perturbed_ = copy_to_buffer(context, perturbed);
}

template <class T>
void NumericFactor<T>::factor_diagonal(const Context& context) {
    current_ = best_ = current_w_ = 0;
    start_from_zero(context);
    factor_range(context, {0, 0}, {view_.block_rows, 0}, sets_[0], w_[0].data(), sets_[0],
                 w_[0].data());
    transpose_inverses(context);
    upper_is_scaled_ = true;
}

template <class T>
void NumericFactor<T>::start_from_zero(const Context& context) {
    for (Buffer<T>* const array : {&sets_[0].v[lower], &sets_[0].v[upper], &w_[0]}) {
        fill(context, T(0), array->view());
    }
}

template <class T>
void NumericFactor<T>::start_sweeps() {
    current_ = best_ = current_w_ = 0;
    first_sweep_ = true;
    upper_is_scaled_ = false;
}

template <class T>
void NumericFactor<T>::sweep(const Context& context) {
    if (first_sweep_) start_from_zero(context);
    int next = 0;
    while (next == current_ || next == best_) ++next;
    factor_range(context, {0, 0}, {view_.block_rows, view_.blocks}, sets_[current_],
                 w_[current_w_].data(), sets_[next], w_[1 - current_w_].data());
    current_ = next;
    current_w_ = 1 - current_w_;
    transpose_inverses(context);
    if (first_sweep_) best_ = current_;
    first_sweep_ = false;
}

template <class T>
void NumericFactor<T>::make_positive_definite(const Context& context) {
    if (view_.block_rows == 0) return;
    FactorSet& set = sets_[std::size_t(current_)];
    const Index k = view_.k;
    const auto factors = batched::BatchView<T>::uniform(view_.block_rows, k, set.factors.data());
    const auto inverses =
        batched::BatchView<T>::uniform(view_.block_rows, k, set.inverses[lower].data());
    batched::PermutationsView<const Index> permutations;
    permutations.rows = set.permutations[lower].data();
    permutations.stride = k;
    batched::take_absolute_pivots(context, factors);
    batched::inverse_from_factors<T>(context, batched::Factorisation::ldlt, factors, permutations,
                                     inverses);
}

template <class T>
PivotSummary NumericFactor<T>::pivots(const Context& context) const {
    Buffer<PivotSummary> parts(context, std::min<Offset>(view_.block_rows, max_parts));
    for_each_index(context, parts.size(),
                   SummarisePivots<T>{view_.block_rows, parts.size(), perturbed_.data(),
                                      smallest_.data(), parts.data()});
    PivotSummary all;
    for (const PivotSummary& part : copy_to_host(context, parts)) {
        all.smallest = std::min(all.smallest, part.smallest);
        all.perturbed += part.perturbed;
    }
    return all;
}

template <class T>
std::vector<Index> NumericFactor<T>::bad_block_rows(const Context& context,
                                                    double threshold) const {
    std::vector<Index> bad;
    const std::vector<T> smallest = copy_to_host(context, smallest_);
    const std::vector<Index> slots = copy_to_host(context, grid().slots);
    const double least = threshold * double(largest_entry_);
    for (Index i = 0; i < view_.block_rows; ++i) {
        // The pivots of padding are 1.
        const auto rows =
            std::span(slots).subspan(std::size_t(i) * std::size_t(view_.k), std::size_t(view_.k));
        const bool any = std::ranges::any_of(rows, [](Index row) { return row >= 0; });
        if (any && !(double(smallest[std::size_t(i)]) >= least)) bad.push_back(i);
    }
    return bad;
}

template class NumericFactor<float>;
template class NumericFactor<double>;

}  // namespace tessera::incomplete
