#include "precond/block_ldlt/numeric/block_factor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "precond/block_ldlt/symbolic/split_rows.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::block_ldlt {

namespace {

/// Seeds of the random vectors of the reconstruction error.
constexpr std::uint64_t first_seed = 2018;
constexpr int random_vectors = 2;

template <class V>
Buffer<V> to_buffer(const Context& context, std::vector<V>&& host) {
    Buffer<V> buffer = copy_to_buffer(context, host);
    host = {};
    return buffer;
}

std::string megabytes(double bytes) {
    return std::to_string(Offset(std::ceil(bytes / 1e6))) + " MB";
}

/// Bytes of all buffers.
template <class T>
Offset bytes_needed(const BlockPattern& pattern, Index k, Offset entries, Offset triples,
                    BlockLdltMethod method) {
    const double square = double(k) * k * sizeof(T);
    const double sets = method == BlockLdltMethod::jacobi ? 3 : 1;
    const double w = method == BlockLdltMethod::jacobi ? 2 : 1;
    const double m = pattern.block_rows;
    double bytes = double(pattern.blocks()) * (square * (sets + w) + 3 * sizeof(Index) + 24);
    bytes += m * (2 * sets * square + k * (sets * sizeof(Index) + 4 * sizeof(T)) + 72);
    bytes += double(triples) * 2 * sizeof(Index);
    bytes += double(entries) * (sizeof(T) + sizeof(Offset) + 2 * sizeof(Index) + 2);
    return bytes < 9e18 ? Offset(bytes) : std::numeric_limits<Offset>::max();
}

void check_memory(const Context& context, Offset bytes, const BlockPattern& pattern, Index k) {
    const Offset free = context.free_memory();
    if (bytes <= free) return;
    throw OutOfMemory("block_ldlt: " + std::to_string(pattern.blocks() + pattern.block_rows) +
                      " blocks of " + std::to_string(k) + " x " + std::to_string(k) + " need " +
                      megabytes(double(bytes)) + ", " + megabytes(double(free)) +
                      " are free; take a smaller fill or smaller blocks, or method=level");
}

}  // namespace

template <class T>
BlockFactor<T>::BlockFactor(const Context& context, Grid grid, BlockPattern pattern,
                            const CsrView<T>& matrix, batched::Pivoting pivoting,
                            BlockLdltMethod method)
    : grid_(std::move(grid)), pivoting_(pivoting) {
    const Index k = grid_.k, m = pattern.block_rows;
    triples_ = count_triples(pattern, context.threads());
    bytes_ = bytes_needed<T>(pattern, k, matrix.nonzeros / 2 + Offset(m) * k, triples_, method);
    check_memory(context, bytes_, pattern, k);
    list_triples(pattern, context.threads());
    BlockEntries entries = find_entries(grid_, pattern, matrix, context.threads());

    const Offset blocks = pattern.blocks(), square = Offset(k) * k, slots = Offset(m) * k;
    if (context.on_gpu()) cut_long_lists(context, pattern);
    find_spans(context, pattern);
    level_offsets_ = pattern.level_offsets;
    column_offsets_host_ = pattern.column_offsets;
    column_offsets_ = to_buffer(context, std::move(pattern.column_offsets));
    rows_ = to_buffer(context, std::move(pattern.rows));
    columns_ = to_buffer(context, std::move(pattern.columns));
    row_offsets_ = to_buffer(context, std::move(pattern.row_offsets));
    row_blocks_ = to_buffer(context, std::move(pattern.row_blocks));
    triple_offsets_ = to_buffer(context, std::move(pattern.triple_offsets));
    left_ = to_buffer(context, std::move(pattern.left));
    right_ = to_buffer(context, std::move(pattern.right));
    entry_offsets_ = to_buffer(context, std::move(entries.offsets));
    source_ = to_buffer(context, std::move(entries.source));
    places_ = to_buffer(context, std::move(entries.place));
    row_slots_ = to_buffer(context, std::move(entries.row_slot));
    column_slots_ = to_buffer(context, std::move(entries.column_slot));
    slots_ = copy_to_buffer(context, grid_.slots);
    values_ = Buffer<T>(context, source_.size());
    thresholds_ = Buffer<T>(context, m);
    largest_of_block_ = Buffer<T>(context, m);
    const int sets = method == BlockLdltMethod::jacobi ? 3 : 1;
    for (int s = 0; s < sets; ++s) {
        sets_[std::size_t(s)] = {Buffer<T>(context, blocks * square),
                                 Buffer<T>(context, m * square), Buffer<T>(context, m * square),
                                 Buffer<Index>(context, slots)};
        if (s < 2) w_[std::size_t(s)] = Buffer<T>(context, blocks * square);
    }
    perturbed_ = Buffer<Index>(context, m);
    smallest_ = Buffer<T>(context, m);
    for (Buffer<T>& vector : vectors_) vector = Buffer<T>(context, slots);
    sums_ = Buffer<T>(context, 2 * random_vectors);
    sizes_ = Buffer<T>(context, 2);
    partial_ = Buffer<T>(context, magnitude_parts);
    pivots_ = Buffer<PivotSummary>(context, 1);
    fault_ = Buffer<int>(context, 1);
    nonzeros_ = matrix.nonzeros;
    started_ = Buffer<unsigned>(context, 2);
    view_ = {k,
             m,
             blocks,
             column_offsets_.data(),
             rows_.data(),
             columns_.data(),
             row_offsets_.data(),
             row_blocks_.data(),
             triple_offsets_.data(),
             left_.data(),
             right_.data(),
             entry_offsets_.data(),
             places_.data(),
             values_.data(),
             view_.long_rows,
             view_.long_columns,
             view_.long_blocks};
}

/// Runs of levels on a GPU; on a CPU there are none.
template <class T>
void BlockFactor<T>::find_spans(const Context& context, const BlockPattern& pattern) {
    if (!context.on_gpu()) {
        spans_.assign(1, {0, pattern.levels(), false});
        return;
    }
    spans_ = level_spans(pattern, grid_.k);
    std::vector<LevelStart> starts;
    for (const Index row : pattern.level_offsets) {
        starts.push_back({row, pattern.column_offsets[std::size_t(row)]});
    }
    level_starts_ = copy_to_buffer(context, starts);
    bytes_ += level_starts_.size() * Offset(sizeof(LevelStart));
}

template <class T>
void BlockFactor<T>::cut_long_lists(const Context& context, const BlockPattern& pattern) {
    const std::vector<SolveTask> lower = solve_tasks(pattern.row_offsets, false);
    const std::vector<SolveTask> upper = solve_tasks(pattern.column_offsets, true);
    const auto pieces = [&](const std::vector<SolveTask>& tasks) {
        return tasks.empty() ? 0 : Index(tasks.size()) - pattern.block_rows;
    };
    lower_tasks_ = copy_to_buffer(context, lower);
    upper_tasks_ = copy_to_buffer(context, upper);
    partial_sums_ = Buffer<T>(context, Offset(pieces(lower) + pieces(upper)) * grid_.k);
    tasks_ = {lower.empty() ? nullptr : lower_tasks_.data(),
              upper.empty() ? nullptr : upper_tasks_.data(), pieces(lower), pieces(upper),
              partial_sums_.data()};

    // Sums of blocks are needed for one of the two at a time; rows of the whole matrix are in both
    // a block row and a block column.
    const CutSums rows = cut_sums(pattern.row_offsets), blocks = cut_sums(pattern.triple_offsets);
    const CutSums columns = cut_sums(pattern.column_offsets);
    const Offset most = Offset(std::max(rows.pieces.size(), blocks.pieces.size()));
    partial_blocks_ = Buffer<T>(context, most * grid_.k * grid_.k);
    partial_columns_ = Buffer<T>(context, Offset(columns.pieces.size()) * grid_.k);
    bytes_ += (partial_blocks_.size() + partial_columns_.size()) * Offset(sizeof(T));
    const auto place = [&](const CutSums& cut, CutSumsThere& there, Buffer<T>& partial) {
        there = {copy_to_buffer(context, cut.items), copy_to_buffer(context, cut.first_piece),
                 copy_to_buffer(context, cut.pieces)};
        return LongSums<T>{cut.limit,
                           there.items.data(),
                           Index(cut.items.size()),
                           there.first_piece.data(),
                           there.pieces.data(),
                           Index(cut.pieces.size()),
                           partial.data()};
    };
    view_.long_rows = place(rows, cut_rows_, partial_blocks_);
    view_.long_columns = place(columns, cut_columns_, partial_columns_);
    view_.long_blocks = place(blocks, cut_blocks_, partial_blocks_);
}

template <class T>
void BlockFactor<T>::load(const Context& context, std::span<const T> scale,
                          const CsrView<T>& matrix) {
    gather_values(context, source_.size(), source_.data(), row_slots_.data(), column_slots_.data(),
                  slots_.data(), scale.data(), matrix.values, values_.data());
    largest_magnitude(context, values_.size(), values_.data(), partial_.data(), sizes_.data());
    largest_in_diagonals(context, view_, largest_of_block_.data());
    has_norm1_ = false;
}

template <class T>
bool BlockFactor<T>::has_pattern_of(const Context& context, const CsrView<T>& matrix) {
    if (matrix.rows != grid_.rows || matrix.columns != grid_.rows || matrix.nonzeros != nonzeros_) {
        return false;
    }
    // One entry of each pair of mirror images is listed: where all of those are in their places,
    // so are the others.
    int fault = 0;
    copy_from_host(context, std::span<const int>(&fault, 1), fault_.view());
    check_sources(context, source_.size(), source_.data(), row_slots_.data(), column_slots_.data(),
                  slots_.data(), matrix, fault_.data());
    copy_to_host(context, std::as_const(fault_).view(), std::span<int>(&fault, 1));
    return fault == 0;
}

template <class T>
void BlockFactor<T>::set_threshold(const Context& context, double epsilon, EpsilonUnit unit) {
    const bool norm1 = unit == EpsilonUnit::norm1;
    if (norm1 && !has_norm1_) {
        Buffer<T>& norms = vectors_[0];
        row_norms(context, view_, norms.data());
        largest_magnitude(context, norms.size(), norms.data(), partial_.data(), sizes_.data() + 1);
        has_norm1_ = true;
    }
    set_thresholds(context, view_.block_rows, epsilon, sizes_.data() + (norm1 ? 1 : 0),
                   unit == EpsilonUnit::block ? largest_of_block_.data() : nullptr,
                   thresholds_.data());
}

template <class T>
void BlockFactor<T>::factor_blocks(const Context& context, Index first, Index last, Set& set) {
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
void BlockFactor<T>::factor_level(const Context& context, Index level) {
    Set& set = sets_[0];
    T* const w = w_[0].data();
    const Index first = level_offsets_[std::size_t(level)];
    const Index last = level_offsets_[std::size_t(level) + 1];
    schur_diagonals(context, view_, first, last, set.v.data(), w, set.factors.data());
    factor_blocks(context, first, last, set);
    schur_blocks(context, view_, column_offsets_host_[std::size_t(first)],
                 column_offsets_host_[std::size_t(last)], set.v.data(), w, set.inverses.data(),
                 set.v.data(), w);
}

template <class T>
void BlockFactor<T>::factor_by_levels(const Context& context) {
    current_ = kept_ = current_w_ = 0;
    Set& set = sets_[0];
    const LevelFactor<T> all{level_starts_.data(),
                             set.v.data(),
                             w_[0].data(),
                             set.factors.data(),
                             set.permutations.data(),
                             set.inverses.data(),
                             thresholds_.data(),
                             perturbed_.data(),
                             smallest_.data(),
                             pivoting_};
    for (const LevelSpan& span : spans_) {
        if (span.run) {
            factor_run(context, view_, all, span.first, span.last);
        } else {
            for (Index l = span.first; l < span.last; ++l) factor_level(context, l);
        }
    }
}

template <class T>
void BlockFactor<T>::factor_diagonal(const Context& context) {
    current_ = kept_ = current_w_ = 0;
    Set& set = sets_[0];
    fill(context, T(0), set.v.view());
    fill(context, T(0), w_[0].view());
    schur_diagonals(context, view_, 0, view_.block_rows, set.v.data(), w_[0].data(),
                    set.factors.data());
    factor_blocks(context, 0, view_.block_rows, set);
}

template <class T>
void BlockFactor<T>::start_sweeps() {
    current_ = kept_ = current_w_ = 0;
    first_sweep_ = true;
}

template <class T>
void BlockFactor<T>::sweep(const Context& context) {
    if (first_sweep_) {
        fill(context, T(0), sets_[0].v.view());
        fill(context, T(0), w_[0].view());
    }
    int next = 0;
    while (next == current_ || next == kept_) ++next;
    const Set& from = sets_[std::size_t(current_)];
    Set& to = sets_[std::size_t(next)];
    const T* w = w_[std::size_t(current_w_)].data();
    schur_diagonals(context, view_, 0, view_.block_rows, from.v.data(), w, to.factors.data());
    factor_blocks(context, 0, view_.block_rows, to);
    schur_blocks(context, view_, 0, view_.blocks, from.v.data(), w, to.inverses.data(), to.v.data(),
                 w_[std::size_t(1 - current_w_)].data());
    current_ = next;
    current_w_ = 1 - current_w_;
    if (first_sweep_) kept_ = current_;
    first_sweep_ = false;
}

template <class T>
double BlockFactor<T>::reconstruction_error(const Context& context) {
    const Set& set = sets_[std::size_t(current_)];
    const Index m = view_.block_rows;
    auto& [w, x, y, z] = vectors_;
    for (int vector = 0; vector < random_vectors; ++vector) {
        fill_normal(context, first_seed + std::uint64_t(vector), w.view());
        upper_product(context, view_, 0, m, set.v.data(), T(1), w.data(), w.data(), x.data());
        factor_product(context, view_, set.factors.data(), set.permutations.data(), x.data(),
                       y.data());
        lower_product(context, view_, 0, m, set.v.data(), T(1), y.data(), y.data(), x.data());
        matrix_product(context, view_, w.data(), z.data());
        axpby(context, T(-1), std::as_const(z).view(), T(1), x.view());
        T* const sums = sums_.data() + 2 * vector;
        dot(context, std::as_const(x).view(), std::as_const(x).view(), sums);
        dot(context, std::as_const(z).view(), std::as_const(z).view(), sums + 1);
    }
    const std::vector<T> sums = copy_to_host(context, sums_);
    double error = 0, size = 0;
    for (int vector = 0; vector < random_vectors; ++vector) {
        error += double(sums[std::size_t(2 * vector)]);
        size += double(sums[std::size_t(2 * vector) + 1]);
    }
    if (error == 0) return 0;
    const double ratio = std::sqrt(error / size);
    return std::isfinite(ratio) ? ratio : std::numeric_limits<double>::infinity();
}

template <class T>
void BlockFactor<T>::take_absolute(const Context& context) {
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
PivotSummary BlockFactor<T>::pivots(const Context& context) const {
    summarise_pivots(context, view_.block_rows, perturbed_.data(), smallest_.data(),
                     pivots_.data());
    return copy_to_host(context, pivots_)[0];
}

template <class T>
std::vector<Index> BlockFactor<T>::bad_block_rows(const Context& context, double threshold,
                                                  const Grid& first) const {
    std::vector<Index> bad;
    const std::vector<T> smallest = copy_to_host(context, smallest_);
    T size = 0;
    copy_to_host(context, sizes_.view().first(1), std::span<T>(&size, 1));
    const double least = threshold * double(size);
    const auto k = std::size_t(grid_.k);
    for (std::size_t i = 0; i < smallest.size(); ++i) {
        if (double(smallest[i]) >= least) continue;
        // Blocks of padding alone have pivots of 1.
        const auto begin = grid_.slots.begin() + Offset(i * k);
        const auto row = std::find_if(begin, begin + Offset(k), [](Index r) { return r >= 0; });
        if (row == begin + Offset(k)) continue;
        bad.push_back(first.slot_of_row[std::size_t(*row)] / grid_.k);
    }
    std::ranges::sort(bad);
    return bad;
}

template class BlockFactor<float>;
template class BlockFactor<double>;

}  // namespace tessera::block_ldlt
