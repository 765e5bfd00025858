#include <bit>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "precond/block_jacobi/block_jacobi_state.hpp"
#include "precond/block_jacobi/storage/format_steps.hpp"
#include "tessera/detail/blocks.hpp"

namespace tessera {

const char* to_string(SingularPolicy policy) {
    static constexpr const char* names[] = {"stop", "identity", "shift", "generalised"};
    return names[int(policy)];
}

const char* to_string(BlockPrecision precision) {
    static constexpr const char* names[] = {"f64", "f32", "bf16", "f16", "working", "adaptive"};
    return names[int(precision)];
}

namespace {

template <class T>
constexpr BlockPrecision working_precision = sizeof(T) == 8 ? BlockPrecision::f64
                                                            : BlockPrecision::f32;

template <class T>
void check_options(const BlockPartition& blocks, const BlockJacobiOptions& options) {
    require(blocks.largest <= max_block_rows, "block Jacobi: a block has more than 64 rows");
    require(sizeof(T) == 8 || options.precision != BlockPrecision::f64,
            "block Jacobi: precision f64 needs a matrix in f64");
    require(options.accuracy > 0 && std::isfinite(options.accuracy),
            "block Jacobi: the accuracy must be positive");
}

/// Whether all blocks but the last have `largest` rows. For a given number of rows, the sum of
/// squares is largest if at most one block is smaller: then the start of the last one decides. May
/// wait.
bool have_one_size(const Context& context, const BlockPartition& blocks) {
    if (blocks.count == 0) return true;
    const Offset full = Offset(blocks.count - 1) * blocks.largest;
    const Offset last = blocks.rows - full;
    if (last < 0 || blocks.entries != full * blocks.largest + last * last) return false;
    if (last == blocks.largest) return true;
    Index start = 0;
    copy_to_host(context, std::span<const Index>(blocks.block_offsets.data() + blocks.count - 1, 1),
                 std::span<Index>(&start, 1));
    return start == full;
}

}  // namespace

template <class T>
BlockJacobi<T>::State::State(const Context& where, BlockPartition partition,
                             const BlockJacobiOptions& requested)
    : context(where),
      options(requested),
      blocks(std::move(partition)),
      format(requested.precision <= BlockPrecision::f16 ? requested.precision
                                                        : working_precision<T>),
      entry_offsets(where, Offset(blocks.count) + 1),
      info(where, blocks.count),
      shift_exponents(where, blocks.count),
      reciprocal_condition(where, blocks.count),
      summary(where, 1) {
    TESSERA_RUN(clear, where, summary.data(), sizeof(SetupSummary));
    block_entry_offsets(where, blocks, entry_offsets.view());
    if (!in_place()) scratch = Buffer<T>(where, blocks.entries);
    if (adaptive()) {
        allocate_formats(where);
    } else {
        allocate(where, blocks.entries * bytes_of(format));
    }
    if (!where.on_gpu()) return;
    groups = group_blocks(where, blocks, max_group_rows(blocks.largest));
    one_size = have_one_size(where, blocks);
    if (blocks.largest <= max_fused_rows) return;
    symmetric = Buffer<std::uint8_t>(where, blocks.count);
    if (blocks.entries == Offset(blocks.count) * blocks.largest * blocks.largest) return;
    std::vector<Index> rows = copy_to_host(where, blocks.block_offsets);
    for (std::size_t b = 0; b + 1 < rows.size(); ++b) rows[b] = rows[b + 1] - rows[b];
    rows.pop_back();
    sizes = copy_to_buffer(where, rows);
    plan = batched::Plan(where, blocks.count, sizes.data());
}

template <class T>
void BlockJacobi<T>::State::allocate_formats(const Context& where) {
    starts = Buffer<Offset>(where, Offset(blocks.count) + 2);
    largest = Buffer<T>(where, blocks.count);
    formats = Buffer<BlockPrecision>(where, blocks.count);
}

template <class T>
PackedBlocks<T> BlockJacobi<T>::State::packed() const {
    return {blocks.rows, blocks.count, blocks.largest, blocks.block_offsets.data(),
            entry_offsets.data()};
}

template <class T>
SetupResults<T> BlockJacobi<T>::State::results() {
    return {.count = blocks.count,
            .info = info.data(),
            .reciprocal_condition = reciprocal_condition.data(),
            .largest = largest.data(),
            .accuracy = adaptive() ? options.accuracy : std::numeric_limits<double>::infinity()};
}

template <class T>
StoredBlocks BlockJacobi<T>::State::stored() const {
    StoredBlocks view;
    view.rows = blocks.rows;
    view.count = blocks.count;
    view.largest = blocks.largest;
    view.one_size = one_size;
    view.block_offsets = blocks.block_offsets.data();
    view.starts = mixed ? starts.data() : entry_offsets.data();
    view.unit = mixed ? 8 : bytes_of(format);
    view.format = format;
    view.formats = mixed ? formats.data() : nullptr;
    view.bytes = bytes.data();
    view.max_chunk_units = max_chunk_units;
    if (!groups.empty()) {
        view.group_count = Index(groups.size() - 1);
        view.groups = groups.data();
    }
    return view;
}

template <class T>
void BlockJacobi<T>::State::invert(const Context& where, const CsrView<T>& matrix, bool reduced,
                                   bool count_faults, bool first) {
    SetupJob<T> job;
    job.matrix = matrix;
    job.blocks = packed();
    job.inverses = inverses();
    if (reduced) job.reduced = {stored(), bytes.data(), summary.data()};
    job.results = results();
    if (count_faults) {
        job.results.formats = first ? nullptr : formats.data();
        job.results.summary = summary.data();
    }
    job.sizes = sizes.data();
    job.plan = sizes.empty() ? nullptr : &plan;
    job.symmetric = symmetric.data();
    TESSERA_RUN(setup<T>, where, job);
}

template <class T>
void BlockJacobi<T>::State::choose_formats(const Context& where) {
    for_each_index(
        where, blocks.count,
        ChooseFormat<T>{results(), !adaptive(), formats.data(), &summary.data()->formats});
    fetch_summary(where);
    bytes = Buffer<std::byte>();  // Releases its memory for reuse.
    // Blocks of one format are packed without gaps, and faster to apply.
    mixed = std::popcount(fetched_summary.formats) > 1;
    if (!mixed) {
        if (fetched_summary.formats != 0)
            format = BlockPrecision(std::countr_zero(fetched_summary.formats));
        return allocate(where, blocks.entries * bytes_of(format));
    }
    TESSERA_RUN(format_starts, where, blocks.count, blocks.block_offsets.data(), formats.data(),
                blocks_per_chunk(blocks.largest), starts.data());
    Offset units[2];  // Units of all blocks, and of a chunk.
    copy_to_host(where, std::span<const Offset>(starts.data() + blocks.count, 2),
                 std::span<Offset>(units));
    max_chunk_units = units[1];
    allocate(where, units[0] * 8);
}

template <class T>
void BlockJacobi<T>::State::allocate(const Context& where, Offset size) {
    bytes = Buffer<std::byte>(where, size + 16);
    TESSERA_RUN(clear, where, bytes.data() + size, 16);
}

template <class T>
void BlockJacobi<T>::State::fetch_summary(const Context& where) {
    fetched_summary.add(copy_to_host(where, summary)[0]);
    TESSERA_RUN(clear, where, summary.data(), sizeof(SetupSummary));
}

template <class T>
void BlockJacobi<T>::State::require_blocks() const {
    require(blocks.rows == 0 || !bytes.empty(),
            "block Jacobi: there are no blocks, as an update ran out of memory");
}

template <class T>
void BlockJacobi<T>::State::invert_and_store(const Context& where, const CsrView<T>& matrix,
                                             bool first) {
    first = first || bytes.empty();  // Nothing is left of formats where an update failed.
    // Excludes the stored entries of the blocks, whose number is unknown.
    const double moved = double(blocks.rows) * sizeof(Offset) +
                         double(blocks.entries) * bytes_of(format) +
                         double(blocks.count) * (2 * sizeof(Index) + sizeof(Offset) + sizeof(T));
    const Phase phase(where, "setup", moved, PhaseStep::setup);
    // Most updates fit the current formats, so the kernels write these at once; unless blocks were
    // singular the last time, since replacements start from inverses in working precision.
    const bool has_formats = !in_place() && !(chooses_formats() && first);
    const bool direct = has_formats && where.on_gpu() && fetched_summary.singular == 0 &&
                        blocks.largest <= max_fused_rows;
    invert(where, matrix, direct, true, first);
    if (has_formats && !direct) store(where);
    fetched_summary = {};
    fetch_summary(where);
    const bool rebuild = chooses_formats() && (first || fetched_summary.misfits > 0);
    if (direct && (rebuild || fetched_summary.singular > 0))
        invert(where, matrix, false, false, first);
    if (fetched_summary.singular > 0) {
        TESSERA_RUN(replace_singular<T>, where,
                    {matrix, packed(), options.singular, info.data(), inverses(),
                     shift_exponents.data(), summary.data()});
        fetch_summary(where);
    }
    if (rebuild) {
        if (!first) ++rebuilds;
        choose_formats(where);
        fetched_summary.outside = 0;  // In the formats of before.
    }
    if (rebuild || (!in_place() && fetched_summary.singular > 0)) {
        store(where);
        fetch_summary(
            where);  // Replacements may overflow; and apply does not wait for stored blocks.
    }
}

template <class T>
void BlockJacobi<T>::State::setup(const Context& where, const CsrView<T>& matrix, bool first) {
    invert_and_store(where, matrix, first);
    if (options.precision == BlockPrecision::f16 && fetched_summary.outside != 0 &&
        !chooses_formats()) {
        allocate_formats(where);
        invert_and_store(where, matrix, true);
    }
}

template <class T>
void BlockJacobi<T>::State::store(const Context& where) {
    TESSERA_RUN(store_blocks<T>, where, packed(), inverses(), stored(), bytes.data(),
                summary.data());
}

template <class T>
BlockJacobi<T>::BlockJacobi(const Context& context, const CsrView<T>& matrix, BlockPartition blocks,
                            const BlockJacobiOptions& options) {
    check_matrix("block Jacobi", matrix);
    check_memory(context, "block Jacobi", matrix);
    check_square("block Jacobi", matrix.rows, matrix.columns);
    require(matrix.rows == blocks.rows,
            "block Jacobi: the matrix and the blocks differ in their number of rows");
    require(blocks.block_offsets.size() == Offset(blocks.count) + 1,
            "block Jacobi: the partition is empty (default constructed, or moved from)");
    check_memory(context, "block Jacobi", "the partition", blocks.block_offsets.data());
    check_options<T>(blocks, options);
    state_ = std::make_unique<State>(context, std::move(blocks), options);
    state_->setup(context, matrix, true);
}

template <class T>
BlockJacobi<T>::~BlockJacobi() = default;

template <class T>
Index BlockJacobi<T>::rows() const {
    return state_->blocks.rows;
}

template <class T>
void BlockJacobi<T>::State::apply(const Context& where, bool transposed, Vectors<const T> r,
                                  Vectors<T> z) const {
    check_vectors("block Jacobi", "r", r, blocks.rows);
    check_vectors("block Jacobi", "z", z, blocks.rows);
    require(r.count == z.count, "block Jacobi: r has ", r.count, " vectors, z has ", z.count);
    require_blocks();
    if (r.count == 0 || blocks.rows == 0) return;
    const double moved = double(bytes.size() - 16) + 2.0 * r.count * blocks.rows * sizeof(T) +
                         double(blocks.count) * (sizeof(Index) + sizeof(Offset));
    const Phase phase(where, "apply", moved);
    TESSERA_RUN(apply<T>, where, stored(), transposed, r, z);
}

template <class T>
void BlockJacobi<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    state_->apply(context, false, one_vector(r), one_vector(z));
}

template <class T>
void BlockJacobi<T>::apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    state_->apply(context, false, r, z);
}

template <class T>
void BlockJacobi<T>::apply_transposed(const Context& context, std::span<const T> r,
                                      std::span<T> z) const {
    state_->apply(context, true, one_vector(r), one_vector(z));
}

template <class T>
Buffer<T> BlockJacobi<T>::copy_inverses(const Context& context) const {
    state_->require_blocks();
    Buffer<T> values(context, state_->blocks.entries);
    for_each_index(context, state_->blocks.count,
                   ExpandBlock<T>{state_->stored(), state_->entry_offsets.data(), values.data()});
    return values;
}

template <class T>
void BlockJacobi<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("block Jacobi", matrix);
    require(matrix.rows == rows() && matrix.columns == rows(),
            "block Jacobi: update needs a matrix of the size that it was set up with");
    state_->setup(context, matrix, false);
}

template <class T>
std::string BlockJacobi<T>::describe() const {
    const BlockJacobiOptions& options = state_->options;
    std::string text =
        "block_jacobi:" + state_->blocks.options + ",singular=" + to_string(options.singular);
    if (options.precision == BlockPrecision::working) return text;
    text += std::string(",precision=") + to_string(options.precision);
    if (!state_->adaptive()) return text;
    return text + ",accuracy=" + number_text(options.accuracy);
}

template <class T>
Index BlockJacobi<T>::singular_blocks() const {
    return state_->fetched_summary.singular;
}

template <class T>
const BlockPartition& BlockJacobi<T>::blocks() const {
    return state_->blocks;
}

template <class T>
const BlockJacobiOptions& BlockJacobi<T>::options() const {
    return state_->options;
}

template <class T>
typename BlockJacobi<T>::Details BlockJacobi<T>::details() const {
    const State& state = *state_;
    return {state.entry_offsets.view(), state.info.view(), state.reciprocal_condition.view(),
            state.formats.view()};
}

template class BlockJacobi<float>;
template class BlockJacobi<double>;

}  // namespace tessera
