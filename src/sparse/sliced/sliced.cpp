#include <algorithm>
#include <limits>

#include "base/phases.hpp"
#include "sparse/sliced/steps.hpp"

namespace tessera {

namespace {

using namespace sliced;

bool is_one_slice(MatrixFormat format) {
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

template <class T>
T read(const Context& context, const T* from) {
    T value{};
    copy_to_host(context, std::span<const T>(from, 1), std::span<T>(&value, 1));
    return value;
}

/// Block rows of a CSR matrix and the numbers of their blocks.
struct BlockCounts {
    Buffer<Index> lengths;
    Index longest;
    Offset blocks;
};

BlockCounts count_blocks(const Context& context, const CsrPattern& matrix, Index block) {
    const Index block_rows = matrix.rows / block + (matrix.rows % block != 0);
    Buffer<Index> lengths(context, block_rows);
    Buffer<Index> longest = copy_to_buffer(context, std::vector<Index>(1));
    with_block(block, [&](auto b) {
        for_each_index(context, block_rows, CountBlocks<b>{matrix, lengths.data(), longest.data()});
    });
    Buffer<Offset> sums(context, Offset(block_rows) + 1);
    exclusive_scan(context, block_rows, Lengths{lengths.data()}, sums.data());
    return {std::move(lengths), read(context, longest.data()),
            read(context, sums.data() + block_rows)};
}

/// The block rows by descending length within windows, those of equal length in their order.
Buffer<Index> sort_rows(const Context& context, const BlockCounts& counts, Offset window) {
    const Offset count = counts.lengths.size();
    Buffer<Index> order(context, count), next(context, count);
    Buffer<Offset> ones(context, count + 1);
    for_each_index(context, count, Numbers{order.data()});
    for (int bit = 0; counts.longest >> bit > 0; ++bit) {
        const KeyBit key{order.data(), counts.lengths.data(), counts.longest, bit};
        exclusive_scan(context, count, key, ones.data());
        for_each_index(context, count, SplitByBit{count, window, key, ones.data(), next.data()});
        std::swap(order, next);
    }
    return order;
}

/// Where the blocks of a matrix go.
struct Arrangement {
    FormatOptions options;
    FormatFacts facts;
    Buffer<Index> permutation, row_lengths;
    Buffer<Offset> slice_offsets;
    Buffer<Index> first_columns;
    SlicedPattern pattern;  ///< Without columns.
};

/// Lanes that share a block row on a GPU: as many as leave each some six blocks (measured:
/// docs/decisions/sliced-formats.md), more where there are few rows.
int choose_lanes(ValueFormat values, Offset block_rows, Offset blocks) {
    constexpr Offset threads_that_fill_a_gpu = 1 << 17;
    const double mean = double(blocks) / double(std::max<Offset>(1, block_rows));
    int lanes = 1;
    if (!is_16_bit(values)) {
        while (lanes < 4 && 12 * lanes < mean) lanes *= 2;
    }
    while (lanes < 4 && 2 * lanes < mean && lanes * block_rows < threads_that_fill_a_gpu) {
        lanes *= 2;
    }
    return lanes;
}

/// Height of the slices of `options`.
Index choose_height(const Context& context, const FormatOptions& options, Index block_rows,
                    Offset vector_bytes) {
    if (options.format == MatrixFormat::bcsr) return 1;
    if (is_one_slice(options.format)) {
        require(block_rows <= std::numeric_limits<Index>::max() - 31,
                "a format of one slice: the matrix has too many rows");
        return std::max(32, (block_rows + 31) / 32 * 32);
    }
    if (options.slice_height > 0) return options.slice_height;
    if (!context.on_gpu()) return Index(64 / vector_bytes);
    return is_16_bit(options.values) ? 64 : 32;
}

/// Decides between columns of 16 and 32 bits, and notes the first columns of slices for those.
void choose_index(const Context& context, const CsrPattern& matrix, Offset slots,
                  Arrangement& made) {
    constexpr Index farthest = std::numeric_limits<std::uint16_t>::max();
    FormatOptions& options = made.options;
    const int wanted = options.index_bits;
    const Index slices = made.pattern.slices;
    require(wanted == 0 || wanted == 16 || wanted == 32,
            "a sliced matrix: a column index has 16 or 32 bits");
    options.index_bits = 32;
    if (wanted == 32) return;
    const bool may = has_slices(options.format);
    require(may || wanted == 0, "index=16: this takes a format with slices (sell, sbell)");
    const bool pays = slots * Offset(sizeof(std::uint16_t)) > slices * Offset(sizeof(Index));
    if (!may || (wanted == 0 && !pays)) return;
    Buffer<Index> first_columns(context, slices);
    Buffer<Index> largest = copy_to_buffer(context, std::vector<Index>(1));
    for_each_index(context, slices,
                   FindFirstColumns{matrix, made.pattern, first_columns.data(), largest.data()});
    const Index distance = read(context, largest.data());
    if (wanted == 16 && distance > farthest) {
        throw InvalidArgument("index=16: block columns of a slice lie " + std::to_string(distance) +
                              " apart, 16 bits reach " + std::to_string(farthest) +
                              "; use index=auto, smaller slices or a matrix of less bandwidth");
    }
    if (distance > farthest) return;
    options.index_bits = 16;
    made.first_columns = std::move(first_columns);
    made.pattern.first_columns = made.first_columns.data();
}

template <class T>
Arrangement arrange(const Context& context, const CsrPattern& matrix, Offset nonzeros,
                    FormatOptions options) {
    const Index block = options.block;
    const BlockCounts counts = count_blocks(context, matrix, block);
    const Index block_rows = Index(counts.lengths.size());
    const Index height = choose_height(context, options, block_rows, Offset(sizeof(T)));
    options.slice_height = height;
    Arrangement made;
    const Index slices = Index((Offset(block_rows) + height - 1) / height);
    const Index window = options.sort_window == 0 ? block_rows : options.sort_window;
    if (window > 1) made.permutation = sort_rows(context, counts, window);
    made.row_lengths = Buffer<Index>(context, Offset(slices) * height);
    made.slice_offsets = Buffer<Offset>(context, Offset(slices) + 1);
    SlicedPattern& pattern = made.pattern;
    pattern = {matrix.rows, matrix.columns, block, height, slices};
    pattern.slice_offsets = made.slice_offsets.data();
    pattern.row_lengths = made.row_lengths.data();
    pattern.permutation = made.permutation.data();
    pattern.lanes = choose_lanes(options.values, block_rows, counts.blocks);
    // A thread loads two 16-bit values at a time: of rows so far apart that the threads of a warp
    // still read x in one piece.
    pattern.paired = context.on_gpu() && is_16_bit(options.values) && window <= 1 && height == 64;
    Buffer<Index> widths = copy_to_buffer(context, std::vector<Index>(std::size_t(slices)));
    for_each_index(
        context, pattern.positions(),
        CopyLengths{pattern, counts.lengths.data(), made.row_lengths.data(), widths.data()});
    exclusive_scan(context, slices, SliceSlots{widths.data(), height}, made.slice_offsets.data());
    const Offset slots = read(context, made.slice_offsets.data() + slices);
    made.options = options;
    choose_index(context, matrix, slots, made);
    const int index_bits = made.options.index_bits;
    const Offset block_bytes = value_bytes<T>(options.values) * block * block + index_bits / 8;
    const Offset others =
        (made.permutation.size() + made.row_lengths.size() + made.first_columns.size()) *
            Offset(sizeof(Index)) +
        made.slice_offsets.size() * Offset(sizeof(Offset));
    made.facts = {block,
                  height,
                  index_bits,
                  nonzeros,
                  counts.blocks,
                  slots,
                  slots * block_bytes + others,
                  counts.blocks * block_bytes + others};
    return made;
}

/// The same, where no window was named sorted if pads would otherwise be more than a tenth.
template <class T>
Arrangement arrange_sorted(const Context& context, const CsrPattern& matrix, Offset nonzeros,
                           FormatOptions options) {
    constexpr Index window = 1024;  // Keeps rows near to those that read the same x.
    if (options.sort_window >= 0) return arrange<T>(context, matrix, nonzeros, options);
    options.sort_window = 1;
    Arrangement made = arrange<T>(context, matrix, nonzeros, options);
    if (!has_slices(options.format) ||
        double(made.facts.stored_blocks) <= 1.1 * double(made.facts.blocks))
        return made;
    options.sort_window = window;
    return arrange<T>(context, matrix, nonzeros, options);
}

/// The arrangement with the block that was asked for, or the one whose product reads the fewest
/// bytes.
template <class T>
Arrangement choose_arrangement(const Context& context, const CsrPattern& matrix, Offset nonzeros,
                               FormatOptions options) {
    require(options.block == 0 ||
                std::ranges::find(block_sizes, options.block) != std::end(block_sizes),
            "a sliced matrix: there are blocks of 1, 2, 3, 4 and 6 rows");
    require(options.slice_height >= 0, "a sliced matrix: the slice height is negative");
    if (options.block != 0) return arrange_sorted<T>(context, matrix, nonzeros, options);
    Arrangement best;
    const int index_bits = options.index_bits;
    if (index_bits == 16) options.index_bits = 0;
    for (const Index block : block_sizes) {
        options.block = block;
        Arrangement next = arrange_sorted<T>(context, matrix, nonzeros, options);
        if (block == 1 || next.facts.read_bytes < best.facts.read_bytes) best = std::move(next);
    }
    if (index_bits != 16 || best.facts.index_bits == 16) return best;
    options.block = best.facts.block;
    options.index_bits = 16;
    return arrange_sorted<T>(context, matrix, nonzeros, options);
}

template <class S>
CsrPattern pattern_of(const CsrView<S>& matrix) {
    return {matrix.rows, matrix.columns, matrix.row_offsets, matrix.column_indices};
}

}  // namespace

template <class T>
FormatFacts format_facts(const Context& context, const CsrView<T>& matrix,
                         const FormatOptions& options) {
    if (options.format != MatrixFormat::csr) {
        return choose_arrangement<T>(context, pattern_of(matrix), matrix.nonzeros, options).facts;
    }
    const Offset bytes = matrix.nonzeros * Offset(sizeof(T) + sizeof(Index)) +
                         (Offset(matrix.rows) + 1) * Offset(sizeof(Offset));
    return {1, 0, 32, matrix.nonzeros, matrix.nonzeros, matrix.nonzeros, bytes, bytes};
}

template <class T>
struct SlicedMatrix<T>::State {
    Arrangement arrangement;
    Buffer<Index> block_columns;  ///< Or
    Buffer<std::uint16_t> column_offsets;
    Buffer<std::byte> values;
    SlicedPattern pattern;
};

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
    require(options.format != MatrixFormat::csr,
            "SlicedMatrix::from_csr: csr is not a sliced format; use CsrMatrix");
    const Phase phase(context, "convert", 0);
    auto state = std::make_unique<State>();
    const CsrPattern from = pattern_of(matrix);
    state->arrangement = choose_arrangement<T>(context, from, matrix.nonzeros, options);
    const Arrangement& made = state->arrangement;
    const Offset slots = made.facts.stored_blocks;
    const Index block = made.facts.block;
    if (made.options.index_bits == 16) {
        state->column_offsets = Buffer<std::uint16_t>(context, slots);
    } else {
        state->block_columns = Buffer<Index>(context, slots);
    }
    state->values =
        Buffer<std::byte>(context, slots * block * block * value_bytes<T>(made.options.values));
    state->pattern = made.pattern;
    state->pattern.block_columns = state->block_columns.data();
    state->pattern.column_offsets = state->column_offsets.data();
    with_block(block, [&](auto b) {
        for_each_index(context, made.pattern.positions(),
                       FillColumns<b>{from, made.pattern, state->block_columns.data(),
                                      state->column_offsets.data()});
    });
    SlicedMatrix made_matrix(std::move(state));
    made_matrix.update(context, matrix, scaling);
    return made_matrix;
}

template <class T>
template <class S>
void SlicedMatrix<T>::update(const Context& context, const CsrView<S>& matrix,
                             std::span<const std::type_identity_t<S>> scaling) {
    require(
        matrix.rows == rows() && matrix.columns == columns() && matrix.nonzeros == facts().nonzeros,
        "SlicedMatrix::update: the matrix has another pattern than the one converted");
    require(scaling.empty() || (rows() == columns() && scaling.size() == std::size_t(matrix.rows)),
            "SlicedMatrix: scaling needs a square matrix and a number for each row");
    const Phase phase(context, "convert", 0);
    const SlicedPattern& pattern = state_->pattern;
    with_stored<T>(options().values, [&](auto tag) {
        using Stored = typename decltype(tag)::type;
        with_block(pattern.block, [&](auto b) {
            for_each_index(context, pattern.positions(),
                           FillValues<b, Stored, S>{
                               matrix, scaling.empty() ? nullptr : scaling.data(), pattern,
                               reinterpret_cast<Stored*>(state_->values.data())});
        });
    });
}

template <class T>
SlicedView<T> SlicedMatrix<T>::view() const {
    return {state_->pattern, options().values, state_->values.data()};
}
template <class T>
const FormatOptions& SlicedMatrix<T>::options() const {
    return state_->arrangement.options;
}
template <class T>
const FormatFacts& SlicedMatrix<T>::facts() const {
    return state_->arrangement.facts;
}

#define TESSERA_INSTANTIATE_FROM(T, S)                                                \
    template SlicedMatrix<T> SlicedMatrix<T>::from_csr<S>(                            \
        const Context&, const CsrView<S>&, const FormatOptions&, std::span<const S>); \
    template void SlicedMatrix<T>::update<S>(const Context&, const CsrView<S>&, std::span<const S>);
#define TESSERA_INSTANTIATE(T)                                                                     \
    template FormatFacts format_facts<T>(const Context&, const CsrView<T>&, const FormatOptions&); \
    template class SlicedMatrix<T>;                                                                \
    TESSERA_INSTANTIATE_FROM(T, float)                                                             \
    TESSERA_INSTANTIATE_FROM(T, double)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera
