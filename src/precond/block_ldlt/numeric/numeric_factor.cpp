#include "precond/block_ldlt/numeric/numeric_factor.hpp"

#include <algorithm>

#include "base/for_each.hpp"
#include "precond/block_ldlt/symbolic/entries.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::block_ldlt {

template <class T>
NumericFactor<T>::NumericFactor(const Context& context, SymbolicFactor symbolic,
                                batched::Pivoting pivoting, bool by_sweeps)
    : symbolic_(std::move(symbolic)),
      pivoting_(pivoting),
      values_(context, symbolic_.entry_source.size()) {
    static_cast<PatternLists&>(view_) = symbolic_.lists;
    const Index k = view_.k, m = view_.block_rows;
    const Offset square = Offset(k) * k;
    for (std::size_t s = 0; s < (by_sweeps ? 3 : 1); ++s) {
        sets_[s] = {Buffer<T>(context, view_.blocks * square), Buffer<T>(context, m * square),
                    Buffer<T>(context, m * square), Buffer<Index>(context, Offset(m) * k)};
        if (s < 2) w_[s] = Buffer<T>(context, view_.blocks * square);
    }
    for (Buffer<T>* of_rows : {&thresholds_, &smallest_}) *of_rows = Buffer<T>(context, m);
    perturbed_ = Buffer<Index>(context, m);
    unit_ = Buffer<T>(context, 1);
    parts_ = Buffer<T>(context, magnitude_parts);
    pivots_ = Buffer<PivotSummary>(context, 1);
    // Sums of blocks are needed for one of the two at a time; rows of the whole matrix are in both
    // a block row and a block column.
    const Offset pieces =
        std::max(symbolic_.split_rows.pieces.size(), symbolic_.split_blocks.pieces.size());
    partial_blocks_ = Buffer<T>(context, pieces * square);
    partial_columns_ = Buffer<T>(context, symbolic_.split_columns.pieces.size() * k);
    view_.values = values_.data();
    view_.long_rows = symbolic_.split_rows.view(partial_blocks_.data());
    view_.long_columns = symbolic_.split_columns.view(partial_columns_.data());
    view_.long_blocks = symbolic_.split_blocks.view(partial_blocks_.data());
}

template <class T>
void NumericFactor<T>::load(const Context& context, std::span<const T> scale,
                            const CsrView<T>& matrix, EpsilonUnit unit) {
    for_each_index(
        context, values_.size(),
        LoadValue<T>{symbolic_.entry_source.data(), symbolic_.entry_rows.data(),
                     symbolic_.entry_columns.data(), scale.data(), matrix.values, values_.data()});
    largest_of_block_ = {};
    Buffer<T> norms;
    if (unit == EpsilonUnit::norm1) {
        norms = Buffer<T>(context, symbolic_.slots.size());
        for_each_index(context, norms.size(),
                       RowNorm<T>{symbolic_.slots.data(), scale.data(), matrix, norms.data()});
    } else if (unit == EpsilonUnit::block) {
        largest_of_block_ = Buffer<T>(context, view_.block_rows);
        for_each_index(context, view_.block_rows,
                       LargestEntry<T>{view_.entry_offsets + view_.blocks, view_.values,
                                       largest_of_block_.data()});
    }
    const Buffer<T>& sizes = unit == EpsilonUnit::norm1 ? norms : values_;
    TESSERA_RUN(largest_magnitude<T>, context, sizes.size(), sizes.data(), parts_.data(),
                unit_.data());
}

template <class T>
void NumericFactor<T>::set_threshold(const Context& context, double epsilon) {
    const T* const of_block = largest_of_block_.empty() ? nullptr : largest_of_block_.data();
    for_each_index(context, view_.block_rows,
                   SetThreshold<T>{epsilon, unit_.data(), of_block, thresholds_.data()});
}

template <class T>
void NumericFactor<T>::factor_blocks(const Context& context, Index first, Index last, Set& set) {
    if (first == last) return;
    const Index k = view_.k;
    const Offset square = Offset(k) * k;
    const auto factors =
        batched::BatchView<T>::uniform(last - first, k, set.factors.data() + first * square);
    const auto inverses =
        batched::BatchView<T>::uniform(last - first, k, set.inverses.data() + first * square);
    batched::PermutationsView<Index> permutations;
    permutations.rows = set.permutations.data() + Offset(first) * k;
    permutations.stride = k;
    batched::FactorOptions<T> options;
    options.thresholds = thresholds_.data() + first;
    options.threshold_stride = 1;
    batched::FactorResults<T> results;
    results.perturbed = perturbed_.data() + first;
    results.smallest_pivot = smallest_.data() + first;
    batched::ldlt<T>(context, pivoting_, factors, factors, permutations, results, options);
    batched::inverse_from_factors<T>(context, batched::Factorisation::ldlt, factors, permutations,
                                     inverses);
}

template <class T>
void NumericFactor<T>::factor_level(const Context& context, Index level) {
    Set& set = sets_[0];
    T* const w = w_[0].data();
    const LevelStart start = symbolic_.level_starts[std::size_t(level)];
    const LevelStart end = symbolic_.level_starts[std::size_t(level) + 1];
    const Index first = Index(start.row), last = Index(end.row);
    TESSERA_RUN(schur_diagonals<T>, context, view_, first, last, set.v.data(), w,
                set.factors.data());
    factor_blocks(context, first, last, set);
    TESSERA_RUN(schur_blocks<T>, context, view_, start.block, end.block, set.v.data(), w,
                set.inverses.data(), set.v.data(), w);
}

template <class T>
void NumericFactor<T>::factor_by_levels(const Context& context) {
    current_ = kept_ = current_w_ = 0;
    Set& set = sets_[0];
    const LevelFactor<T> all{symbolic_.level_starts_there.data(),
                             set.v.data(),
                             w_[0].data(),
                             set.factors.data(),
                             set.permutations.data(),
                             set.inverses.data(),
                             thresholds_.data(),
                             perturbed_.data(),
                             smallest_.data()};
    void (*const factor_batched)(const Context&, const PatternView<T>&, const LevelFactor<T>&,
                                 Index, Index) = TESSERA_IF_CUDA(cuda::factor_levels<T>);
    for (const LevelGroup& group : symbolic_.level_groups) {
        if (group.batched && pivoting_ == batched::Pivoting::full) {
            factor_batched(context, view_, all, group.first, group.last);
        } else {
            for (Index l = group.first; l < group.last; ++l) factor_level(context, l);
        }
    }
}

template <class T>
void NumericFactor<T>::factor_diagonal(const Context& context) {
    current_ = kept_ = current_w_ = 0;
    Set& set = sets_[0];
    fill(context, T(0), set.v.view());
    fill(context, T(0), w_[0].view());
    TESSERA_RUN(schur_diagonals<T>, context, view_, 0, view_.block_rows, set.v.data(), w_[0].data(),
                set.factors.data());
    factor_blocks(context, 0, view_.block_rows, set);
}

template <class T>
void NumericFactor<T>::start_sweeps() {
    current_ = kept_ = current_w_ = 0;
    first_sweep_ = true;
}

template <class T>
void NumericFactor<T>::sweep(const Context& context) {
    if (first_sweep_) {
        fill(context, T(0), sets_[0].v.view());
        fill(context, T(0), w_[0].view());
    }
    int next = 0;
    while (next == current_ || next == kept_) ++next;
    const Set& from = sets_[std::size_t(current_)];
    Set& to = sets_[std::size_t(next)];
    const T* w = w_[std::size_t(current_w_)].data();
    TESSERA_RUN(schur_diagonals<T>, context, view_, 0, view_.block_rows, from.v.data(), w,
                to.factors.data());
    factor_blocks(context, 0, view_.block_rows, to);
    TESSERA_RUN(schur_blocks<T>, context, view_, 0, view_.blocks, from.v.data(), w,
                to.inverses.data(), to.v.data(), w_[std::size_t(1 - current_w_)].data());
    current_ = next;
    current_w_ = 1 - current_w_;
    if (first_sweep_) kept_ = current_;
    first_sweep_ = false;
}

template <class T>
void NumericFactor<T>::take_absolute(const Context& context) {
    if (view_.block_rows == 0) return;
    Set& set = sets_[std::size_t(current_)];
    const Index k = view_.k;
    const auto factors = batched::BatchView<T>::uniform(view_.block_rows, k, set.factors.data());
    const auto inverses = batched::BatchView<T>::uniform(view_.block_rows, k, set.inverses.data());
    batched::PermutationsView<const Index> permutations;
    permutations.rows = set.permutations.data();
    permutations.stride = k;
    batched::take_absolute_pivots(context, factors);
    batched::inverse_from_factors<T>(context, batched::Factorisation::ldlt, factors, permutations,
                                     inverses);
}

template <class T>
PivotSummary NumericFactor<T>::pivots(const Context& context) const {
    TESSERA_RUN(summarise_pivots<T>, context, view_.block_rows, perturbed_.data(), smallest_.data(),
                pivots_.data());
    return copy_to_host(context, pivots_)[0];
}

template <class T>
std::vector<Index> NumericFactor<T>::bad_block_rows(const Context& context,
                                                    double threshold) const {
    std::vector<Index> bad;
    const std::vector<T> smallest = copy_to_host(context, smallest_);
    const double least = threshold * double(copy_to_host(context, unit_)[0]);
    for (Index i = 0; i < view_.block_rows; ++i) {
        // Blocks of padding alone have pivots of 1.
        const auto rows = std::span(grid().slots)
                              .subspan(std::size_t(i) * std::size_t(view_.k), std::size_t(view_.k));
        const bool any = std::ranges::any_of(rows, [](Index row) { return row >= 0; });
        if (any && !(double(smallest[std::size_t(i)]) >= least)) bad.push_back(i);
    }
    return bad;
}

template class NumericFactor<float>;
template class NumericFactor<double>;

}  // namespace tessera::block_ldlt
