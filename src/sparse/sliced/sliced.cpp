#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/zeros.hpp"
#include "sparse/sliced/sort_rows.hpp"
#include "sparse/sliced/steps.hpp"

namespace tessera {

namespace {

using namespace sliced;

bool is_one_slice_format(MatrixFormat format) {
    return format == MatrixFormat::ell || format == MatrixFormat::bell;
}

template <class T>
Offset value_bytes(ValueFormat format) {
    return with_stored<T>(format,
                          [](auto tag) { return Offset(sizeof(typename decltype(tag)::type)); });
}

bool is_16_bit(ValueFormat format) {
    return format == ValueFormat::f16 || format == ValueFormat::bf16;
}

/// The numbers of blocks of the block rows of a matrix, and of all.
struct BlockCounts {
    Buffer<Index> lengths;
    Offset blocks = 0;
};

template <class Pattern>
BlockCounts count_blocks(const Context& context, const Pattern& matrix, Index block) {
    const Index block_rows = matrix.rows / block + (matrix.rows % block != 0);
    BlockCounts counts{Buffer<Index>(context, block_rows)};
    with_block(block, [&](auto b) {
        Buffer<std::uint8_t> partial;
        if constexpr (std::is_same_v<Pattern, CsrPattern>) {
            partial = partial_block_rows<b>(context, matrix, block_rows);
        }
        for_each_index(context, block_rows,
                       CountBlocks<b, Pattern>{matrix, partial.data(), counts.lengths.data()});
    });
    if constexpr (std::is_same_v<Pattern, BsrPattern>) {
        counts.blocks = matrix.blocks * (matrix.height / block) * (matrix.width / block);
    } else {
        Buffer<Offset> sums(context, Offset(block_rows) + 1);
        exclusive_scan(context, block_rows, CountAt{counts.lengths.data()}, sums.data());
        counts.blocks = read_value(context, sums.data() + block_rows);
    }
    return counts;
}

/// The positions of the blocks of a matrix.
struct Arrangement {
    FormatOptions options;
    FormatStatistics statistics;
    Buffer<Index> permutation, row_lengths;
    Buffer<Offset> slice_offsets;
    Buffer<Index> first_columns;
    SlicedPattern pattern;  ///< Pattern without columns.
};

/// Lanes that share a block row on a GPU: as many as leave each some six blocks, or 32 single
/// entries (measured: docs/decisions/sliced-formats.md), more if there are few rows.
int choose_lanes(ValueFormat values, Index block, Offset block_rows, Offset blocks) {
    constexpr Offset threads_to_fill_gpu = 1 << 17;
    const int max_for_one_lane = block == 1 ? 64 : 12;
    const double mean = double(blocks) / double(std::max<Offset>(1, block_rows));
    int lanes = 1;
    if (!is_16_bit(values)) {
        while (lanes < 4 && max_for_one_lane * lanes < mean) lanes *= 2;
    }
    while (lanes < 4 && 2 * lanes < mean && lanes * block_rows < threads_to_fill_gpu) {
        lanes *= 2;
    }
    if (lanes == 4 && 16 < mean && 4 * block_rows < threads_to_fill_gpu) lanes = 16;
    return lanes;
}

/// On a GPU some four slots for each share, fewer if there are few rows.
Shares choose_shares(const Context& context, Offset positions, Offset slots) {
    constexpr Offset threads_to_fill_gpu = 1 << 17;
    const Offset mean = slots / std::max<Offset>(1, positions);
    Shares shares;
    const auto too_few = [&] {
        return 8 * shares.count() <= mean ||
               (shares.count() < mean && shares.count() * positions < threads_to_fill_gpu);
    };
    while (context.on_gpu() && shares.count() < 128 && too_few()) ++shares.exponent;
    return shares;
}

/// Slice height for `options`.
Index choose_height(const Context& context, const FormatOptions& options, Index block_rows,
                    Offset vector_bytes) {
    if (options.format == MatrixFormat::bcsr) return 1;
    if (is_one_slice_format(options.format)) {
        require(block_rows <= std::numeric_limits<Index>::max() - 31,
                "ell, bell: the matrix has too many rows");
        return std::max(32, (block_rows + 31) / 32 * 32);
    }
    if (options.slice_height > 0) return options.slice_height;
    if (!context.on_gpu()) return Index(64 / vector_bytes);
    return is_16_bit(options.values) ? 64 : 32;
}

/// Chooses 16 or 32 bits for columns, and with 16 bits records the first columns of slices.
template <class Pattern>
void choose_index(const Context& context, const Pattern& matrix, Offset slots,
                  Arrangement& arrangement) {
    constexpr Index max_distance = std::numeric_limits<std::uint16_t>::max();
    FormatOptions& options = arrangement.options;
    const int requested = options.index_bits;
    const Index slices = arrangement.pattern.slices;
    require_argument("format", requested == 0 || requested == 16 || requested == 32,
                     "a sliced matrix: index bits must be 0 (chosen), 16 or 32");
    options.index_bits = 32;
    if (requested == 32) return;
    const bool has_own_height = has_slices(options.format);
    require_argument("format", has_own_height || requested == 0,
                     "index=16 needs a format with slices (sell, sbell)");
    const bool is_smaller = slots * Offset(sizeof(std::uint16_t)) > slices * Offset(sizeof(Index));
    if (!has_own_height || (requested == 0 && !is_smaller)) return;
    Buffer<Index> first_columns(context, slices);
    Buffer<Index> largest = zeros<Index>(context, 1);
    Buffer<Index> spans = zeros<Index>(context, 2 * Offset(slices));
    Index *const ends = spans.data(), *const counts_from_first = ends + slices;
    const SlicedPattern& pattern = arrangement.pattern;
    for_each_index(context, pattern.positions(),
                   RaiseSpans<Pattern>{matrix, pattern, ends, counts_from_first});
    for_each_index(context, slices,
                   FindFirstColumns{pattern.block_column_count(), ends, counts_from_first,
                                    first_columns.data(), largest.data()});
    const Index distance = read_value(context, largest.data());
    if (requested == 16 && distance > max_distance) {
        throw InvalidArgument("index=16: block columns of a slice span " +
                                  std::to_string(distance) + "; 16-bit offsets allow at most " +
                                  std::to_string(max_distance) +
                                  "; use index=auto, smaller slices or a matrix of less bandwidth",
                              "format");
    }
    if (distance > max_distance) return;
    options.index_bits = 16;
    arrangement.first_columns = std::move(first_columns);
    arrangement.pattern.first_columns = arrangement.first_columns.data();
}

/// Places the block rows in slices, sorted within windows. Returns the number of slots.
Offset place_rows(const Context& context, const BlockCounts& counts, Index window,
                  Arrangement& arrangement) {
    SlicedPattern& pattern = arrangement.pattern;
    arrangement.options.sort_window = window;
    if (window > 1) {
        arrangement.permutation =
            TESSERA_RUN(sort_rows, context, counts.lengths, pattern.block_column_count(), window);
    }
    pattern.permutation = arrangement.permutation.data();
    // A thread loads two 16-bit values at a time: of two rows so far apart that the threads of a
    // warp still read contiguous parts of x.
    pattern.paired = context.on_gpu() && is_16_bit(arrangement.options.values) && window <= 1 &&
                     pattern.slice_height == 64;
    Buffer<Index> widths = zeros<Index>(context, pattern.slices);
    for_each_index(
        context, pattern.positions(),
        CopyLengths{pattern, counts.lengths.data(), arrangement.row_lengths.data(), widths.data()});
    exclusive_scan(context, pattern.slices, SliceSlots{widths.data(), pattern.slice_height},
                   arrangement.slice_offsets.data());
    return read_value(context, arrangement.slice_offsets.data() + pattern.slices);
}

/// Without a named window, rows are sorted if pads would otherwise exceed a tenth.
template <class T, class Pattern>
Arrangement arrange(const Context& context, const Pattern& matrix, Offset nonzeros,
                    const FormatOptions& options) {
    constexpr Index usual_window = 1024;  // Keeps rows close to those that read the same x.
    const Index block = options.block;
    const BlockCounts counts = count_blocks(context, matrix, block);
    const Index block_rows = Index(counts.lengths.size());
    const Index height = choose_height(context, options, block_rows, Offset(sizeof(T)));
    // Kernels have the distances between the values that a thread loads at once in 32 bits.
    require_argument("format",
                     !context.on_gpu() ||
                         Offset(height) * std::max<Offset>(8, 3 * block * block) < Offset(1) << 32,
                     "a sliced matrix: slices of ", height, " block rows are too high for a GPU");
    const Index slices = Index((Offset(block_rows) + height - 1) / height);
    Arrangement arrangement;
    arrangement.options = options;
    arrangement.options.slice_height = height;
    arrangement.row_lengths = Buffer<Index>(context, Offset(slices) * height);
    arrangement.slice_offsets = Buffer<Offset>(context, Offset(slices) + 1);
    SlicedPattern& pattern = arrangement.pattern;
    pattern = {matrix.rows, matrix.columns, block, height, slices};
    pattern.slice_offsets = arrangement.slice_offsets.data();
    pattern.row_lengths = arrangement.row_lengths.data();
    pattern.lanes = choose_lanes(options.values, block, block_rows, counts.blocks);
    const bool chooses_window = options.sort_window < 0;
    const Index window = chooses_window             ? 1
                         : options.sort_window == 0 ? block_rows
                                                    : options.sort_window;
    Offset slots = place_rows(context, counts, window, arrangement);
    if (chooses_window && has_slices(options.format) && double(slots) > 1.1 * double(counts.blocks))
        slots = place_rows(context, counts, usual_window, arrangement);
    choose_index(context, matrix, slots, arrangement);
    const int index_bits = arrangement.options.index_bits;
    const Offset block_bytes = value_bytes<T>(options.values) * block * block + index_bits / 8;
    const Offset others = (arrangement.permutation.size() + arrangement.row_lengths.size() +
                           arrangement.first_columns.size()) *
                              Offset(sizeof(Index)) +
                          arrangement.slice_offsets.size() * Offset(sizeof(Offset));
    arrangement.statistics = {block,
                              height,
                              index_bits,
                              nonzeros,
                              counts.blocks,
                              slots,
                              slots * block_bytes + others,
                              counts.blocks * block_bytes + others};
    return arrangement;
}

/// The arrangement with the requested block size, or with the one whose product reads the fewest
/// bytes.
template <class T, class Pattern>
Arrangement choose_arrangement(const Context& context, const Pattern& matrix, Offset nonzeros,
                               FormatOptions options) {
    require_argument("format",
                     options.block == 0 ||
                         std::ranges::find(block_sizes, options.block) != std::end(block_sizes),
                     "a sliced matrix: there are blocks of 1, 2, 3, 4 and 6 rows");
    require_argument("format", options.slice_height >= 0,
                     "a sliced matrix: the slice height is negative");
    if (options.block != 0) return arrange<T>(context, matrix, nonzeros, options);
    std::optional<Arrangement> best;
    const int index_bits = options.index_bits;
    if (index_bits == 16) options.index_bits = 0;
    // Large blocks first: where one has little fill, smaller ones need more indices, whatever fill
    // they have.
    for (auto at = std::rbegin(block_sizes); at != std::rend(block_sizes); ++at) {
        const Index block = *at;
        const double least = double(nonzeros) * (double(value_bytes<T>(options.values)) +
                                                 double(sizeof(std::uint16_t)) / (block * block));
        const Offset bytes = best ? best->statistics.matrix_bytes_per_product : 0;
        if (best && least > double(bytes)) continue;
        options.block = block;
        Arrangement next = arrange<T>(context, matrix, nonzeros, options);
        if (!best || next.statistics.matrix_bytes_per_product <= bytes) best = std::move(next);
    }
    if (index_bits != 16 || best->statistics.index_bits == 16) return std::move(*best);
    options.block = best->statistics.block;
    options.index_bits = 16;
    return arrange<T>(context, matrix, nonzeros, options);
}

template <class S>
CsrPattern pattern_of(const CsrView<S>& matrix) {
    return {matrix.rows, matrix.columns, matrix.row_offsets, matrix.column_indices};
}

BsrPattern pattern_of(const BsrView<double>& matrix) {
    return {matrix.block_rows * matrix.height,
            matrix.block_columns * matrix.width,
            matrix.height,
            matrix.width,
            matrix.blocks,
            matrix.row_offsets,
            matrix.column_indices};
}

}  // namespace

template <class T>
FormatStatistics format_statistics(const Context& context, const CsrView<T>& matrix,
                                   const FormatOptions& options) {
    check_matrix("format_statistics", matrix);
    check_memory(context, "format_statistics", matrix);
    if (options.format != MatrixFormat::csr) {
        return choose_arrangement<T>(context, pattern_of(matrix), matrix.nonzeros, options)
            .statistics;
    }
    const Offset bytes = matrix.nonzeros * Offset(sizeof(T) + sizeof(Index)) +
                         (Offset(matrix.rows) + 1) * Offset(sizeof(Offset));
    return {1, 0, 32, matrix.nonzeros, matrix.nonzeros, matrix.nonzeros, bytes, bytes};
}

template <class T>
struct SlicedMatrix<T>::State {
    /// All but the values, and of a BsrPattern the columns.
    template <class Pattern>
    State(const Context& context, const Pattern& matrix, Offset nonzeros,
          const FormatOptions& format);

    Arrangement arrangement;
    Buffer<Index> block_columns;  ///< Or, with 16 bits:
    Buffer<std::uint16_t> column_offsets;
    Buffer<std::byte> values;
    SlicedPattern pattern;
};

template <class T>
template <class Pattern>
SlicedMatrix<T>::State::State(const Context& context, const Pattern& matrix, Offset nonzeros,
                              const FormatOptions& format)
    : arrangement(choose_arrangement<T>(context, matrix, nonzeros, format)) {
    const Offset slots = arrangement.statistics.stored_blocks;
    const Index block = arrangement.statistics.block;
    if (arrangement.options.index_bits == 16) {
        column_offsets = Buffer<std::uint16_t>(context, slots);
    } else {
        block_columns = Buffer<Index>(context, slots);
    }
    values = Buffer<std::byte>(context,
                               slots * block * block * value_bytes<T>(arrangement.options.values));
    pattern = arrangement.pattern;
    pattern.block_columns = block_columns.data();
    pattern.column_offsets = column_offsets.data();
    if constexpr (std::is_same_v<Pattern, CsrPattern>) {
        const Shares shares = choose_shares(context, pattern.positions(), slots);
        with_block(block, [&](auto b) {
            for_each_index(context, shares.items(pattern.positions()),
                           FillColumns<b>{matrix, arrangement.pattern, block_columns.data(),
                                          column_offsets.data(), shares});
        });
    }
}

template <class T>
SlicedMatrix<T>::SlicedMatrix(std::unique_ptr<State> state) : state_(std::move(state)) {}
template <class T>
SlicedMatrix<T>::~SlicedMatrix() = default;
template <class T>
SlicedMatrix<T>::SlicedMatrix(SlicedMatrix&&) noexcept = default;
template <class T>
SlicedMatrix<T>& SlicedMatrix<T>::operator=(SlicedMatrix&&) noexcept = default;

template <class T>
template <class S>
SlicedMatrix<T> SlicedMatrix<T>::from_csr(const Context& context, const CsrView<S>& matrix,
                                          const FormatOptions& options,
                                          std::span<const std::type_identity_t<S>> scaling) {
    require_argument("format", options.format != MatrixFormat::csr,
                     "SlicedMatrix::from_csr: csr is not a sliced format; use CsrMatrix");
    check_matrix("SlicedMatrix::from_csr", matrix);
    check_memory(context, "SlicedMatrix::from_csr", matrix);
    const Phase phase(context, "convert", 0);
    SlicedMatrix result(
        std::make_unique<State>(context, pattern_of(matrix), matrix.nonzeros, options));
    result.update(context, matrix, scaling);
    return result;
}

template <class T>
template <class S>
void SlicedMatrix<T>::update(const Context& context, const CsrView<S>& matrix,
                             std::span<const std::type_identity_t<S>> scaling) {
    check_matrix("SlicedMatrix::update", matrix);
    require_argument("matrix",
                     matrix.rows == rows() && matrix.columns == columns() &&
                         matrix.nonzeros == statistics().nonzeros,
                     "SlicedMatrix::update: the matrix has another pattern than the one converted");
    require(scaling.empty() || rows() == columns(), "SlicedMatrix: scaling needs a square matrix");
    if (!scaling.empty()) check_vector("SlicedMatrix", "scaling", scaling, matrix.rows);
    const Phase phase(context, "convert", 0);
    const SlicedPattern& pattern = state_->pattern;
    const Shares shares = choose_shares(context, pattern.positions(), statistics().stored_blocks);
    with_stored<T>(options().values, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        with_block(pattern.block, [&](auto b) {
            for_each_index(context, shares.items(pattern.positions()),
                           FillValues<b, Stored, S>{
                               matrix, scaling.empty() ? nullptr : scaling.data(), pattern,
                               reinterpret_cast<Stored*>(state_->values.data()), shares});
        });
    });
}

template <class T>
SlicedMatrix<T> SlicedMatrix<T>::from_bsr(const Context& context, const BsrView<double>& matrix,
                                          const FormatOptions& options) {
    require(options.format != MatrixFormat::csr && options.block >= 1 &&
                matrix.height % options.block == 0 && matrix.width % options.block == 0,
            "SlicedMatrix::from_bsr: blocks of ", options.block, " rows do not divide those of ",
            matrix.height, " x ", matrix.width, ", or the format is csr");
    const Phase phase(context, "convert", 0);
    SlicedMatrix result(
        std::make_unique<State>(context, pattern_of(matrix), matrix.entries(), options));
    if (matrix.values != nullptr) result.update(context, matrix);
    return result;
}

template <class T>
void SlicedMatrix<T>::update(const Context& context, const BsrView<double>& matrix) {
    require(matrix.block_rows * matrix.height == rows() &&
                matrix.block_columns * matrix.width == columns() &&
                matrix.entries() == statistics().nonzeros,
            "SlicedMatrix::update: the matrix has another pattern than the one converted");
    State& state = *state_;
    const Shares shares =
        choose_shares(context, state.pattern.positions(), statistics().stored_blocks);
    with_stored<T>(options().values, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        with_block(options().block, [&](auto b) {
            for_each_index(
                context, shares.items(state.pattern.positions()),
                FillFromBlocks<b, Stored>{matrix, state.arrangement.pattern,
                                          state.block_columns.data(), state.column_offsets.data(),
                                          reinterpret_cast<Stored*>(state.values.data()), shares});
        });
    });
}

template <class T>
SlicedView<T> SlicedMatrix<T>::view() const {
    if (!state_) return {};  // Moved from: no rows and no columns.
    return {state_->pattern, options().values, state_->values.data()};
}
template <class T>
const FormatOptions& SlicedMatrix<T>::options() const {
    require(state_ != nullptr, "SlicedMatrix: the matrix was moved from");
    return state_->arrangement.options;
}
template <class T>
const FormatStatistics& SlicedMatrix<T>::statistics() const {
    require(state_ != nullptr, "SlicedMatrix: the matrix was moved from");
    return state_->arrangement.statistics;
}

#define TESSERA_INSTANTIATE_FROM(T, S)                                                \
    template SlicedMatrix<T> SlicedMatrix<T>::from_csr<S>(                            \
        const Context&, const CsrView<S>&, const FormatOptions&, std::span<const S>); \
    template void SlicedMatrix<T>::update<S>(const Context&, const CsrView<S>&, std::span<const S>);
#define TESSERA_INSTANTIATE(T)                                                        \
    template FormatStatistics format_statistics<T>(const Context&, const CsrView<T>&, \
                                                   const FormatOptions&);             \
    template class SlicedMatrix<T>;                                                   \
    TESSERA_INSTANTIATE_FROM(T, float)                                                \
    TESSERA_INSTANTIATE_FROM(T, double)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
