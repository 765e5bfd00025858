#include "tessera/block_triangular_solve.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/for_each.hpp"
#include "base/phases.hpp"
#include "base/zeros.hpp"
#include "precond/incomplete/ilu/row_order.hpp"
#include "precond/incomplete/numeric/kernels.hpp"
#include "precond/incomplete/solve/factor_solver.hpp"
#include "precond/incomplete/symbolic/entries.hpp"
#include "tessera/batched.hpp"

namespace tessera {

namespace {

constexpr const char* name = "block_triangular_solve";
constexpr Index max_rows = 32;

std::string rows_of_block(std::span<const Index> offsets, Index block) {
    const Index first = offsets[std::size_t(block)], last = offsets[std::size_t(block) + 1] - 1;
    return first == last ? concat("row ", first) : concat("rows ", first, " to ", last);
}

/// Throws InvalidArgument for the first entry on the wrong side of the diagonal blocks, and for one
/// of these without entries unless it has ones. In host memory.
template <class T>
void report_fault(const CsrView<T>& matrix, std::span<const Index> offsets,
                  const BlockTriangularOptions& options) {
    for (Index block = 0; block + 1 < Index(offsets.size()); ++block) {
        const Index first = offsets[std::size_t(block)], end = offsets[std::size_t(block) + 1];
        bool found = options.unit_diagonal;
        for (Index i = first; i < end; ++i) {
            for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
                const Index j = matrix.column_indices[e];
                const bool wrong = options.upper ? j < first : j >= end;
                require_argument("matrix", !wrong, name, ": row ", i, " has an entry in column ", j,
                                 options.upper ? ", below" : ", above", " its diagonal block, ",
                                 rows_of_block(offsets, block));
                found = found || (j >= first && j < end);
            }
        }
        require_argument("matrix", found, name, ": the diagonal block of ",
                         rows_of_block(offsets, block), " has no entry");
    }
}

template <class T>
void check_pattern(const Context& context, const CsrView<T>& matrix,
                   const BlockPartition& partition, std::span<const Index> offsets,
                   const BlockTriangularOptions& options) {
    Buffer<int> fault = zeros<int>(context, 1);
    for_each_index(
        context, partition.count,
        incomplete::CheckTriangle<T>{matrix, partition.block_offsets.data(), options.upper,
                                     options.unit_diagonal, fault.data()});
    if (copy_to_host(context, fault)[0] == 0) return;
    const CsrMatrix<T> copied = context.on_gpu() ? copy_to_host(context, matrix) : CsrMatrix<T>();
    report_fault(context.on_gpu() ? copied.view() : matrix, offsets, options);
}

/// Rows of groups of which each block has a whole number.
Index rows_of_groups(const BlockPartition& blocks) {
    if (Offset(blocks.count) * blocks.largest != blocks.rows) return 1;
    Index size = std::min(blocks.largest, incomplete::max_group);
    while (size > 1 && blocks.largest % size != 0) --size;
    return std::max<Index>(size, 1);
}

/// The blocks in slots, each padded to as many rows as all have.
incomplete::Grid padded_blocks(const Context& context, std::span<const Index> offsets, Index rows,
                               Index largest) {
    const Index k = incomplete::size_of_blocks(largest);
    std::vector<Index> slots;
    slots.reserve((offsets.size() - 1) * std::size_t(k));
    for (std::size_t block = 0; block + 1 < offsets.size(); ++block) {
        for (Index i = offsets[block]; i < offsets[block + 1]; ++i) slots.push_back(i);
        slots.resize((block + 1) * std::size_t(k), -1);
    }
    return incomplete::make_grid(context, k, rows, std::move(slots));
}

}  // namespace

namespace incomplete {

namespace {

/// X, X^T and V of T = (I + V) D; T is A or, for an upper triangular matrix, A^T, whose blocks are
/// those of A transposed. `info`: as batched::invert has it.
template <class T>
void compute_blocks(const Context& context, const CsrView<T>& matrix,
                    const BlockTriangularOptions& options, TriangularFactor<T>& factor,
                    Index* info) {
    const Index k = factor.pattern.k, block_rows = factor.pattern.block_rows;
    T* const inverses = (options.upper ? factor.transposes : factor.inverses).data();
    T* const transposes = (options.upper ? factor.inverses : factor.transposes).data();
    MatrixBlocks<T> blocks;
    (options.upper ? blocks.upper : blocks.lower) = factor.v.data();
    blocks.diagonal = transposes;
    load_blocks(context, factor.symbolic, {}, matrix, blocks);
    if (options.unit_diagonal) {
        for_each_index(context, Offset(block_rows) * k, SetUnitDiagonal<T>{k, transposes});
    }
    batched::invert<T>(context, batched::BatchView<T>::uniform(block_rows, k, transposes),
                       batched::BatchView<T>::uniform(block_rows, k, inverses), info);
    for_each_index(context, Offset(block_rows) * k * k,
                   TransposeBlocks<T>{k, inverses, transposes});
    TESSERA_RUN(scale_blocks<T>, context, factor.pattern, factor.transposes.data(),
                factor.v.data());
}

}  // namespace

}  // namespace incomplete

template <class T>
struct BlockTriangularSolve<T>::State {
    Context home;
    BlockTriangularOptions options;
    std::string blocks;  ///< Option text of the partition.
    Index rows = 0, largest = 0, singular = 0;
    std::vector<Index> offsets;  ///< First row of each block, and the number of rows.
    incomplete::TriangularFactor<T> factor;
    Buffer<Index> info;  ///< For each block, as batched::invert has it.

    State(const Context& context, const CsrView<T>& matrix, const BlockPartition& partition,
          const BlockTriangularOptions& given);
    void load(const Context& context, const CsrView<T>& matrix);
    double bytes_of_apply() const {
        const incomplete::PatternLists& lists = factor.pattern;
        const double blocks_read = double(lists.blocks) + lists.block_rows;
        return (blocks_read * lists.k * lists.k + 6.0 * rows) * sizeof(T);
    }
    void solve(const Context& context, bool transposed, std::span<const T> b,
               std::span<T> x) const {
        check_vector(name, "b", b, rows);
        check_vector(name, "x", x, rows);
        const Phase phase(context, "apply", bytes_of_apply());
        incomplete::solve_triangular(context, factor, transposed != options.upper, b.data(),
                                     x.data());
    }
};

template <class T>
BlockTriangularSolve<T>::State::State(const Context& context, const CsrView<T>& matrix,
                                      const BlockPartition& partition,
                                      const BlockTriangularOptions& given)
    : home(context),
      options(given),
      blocks(partition.options),
      rows(partition.rows),
      largest(partition.largest),
      offsets(copy_to_host(context, partition.block_offsets)) {
    check_pattern(context, matrix, partition, offsets, options);
    const incomplete::GroupPattern groups =
        incomplete::group_pattern(context, matrix, rows_of_groups(partition));
    const incomplete::Grid grid =
        padded_blocks(context, offsets, rows, std::max<Index>(1, largest));
    incomplete::GridByLevels levels = incomplete::arrange_by_levels(
        context, grid, incomplete::lower_blocks(context, grid, groups, false));
    set_no_updates(context, levels.pattern);
    factor.symbolic =
        incomplete::SymbolicFactor(context, std::move(levels), matrix, false,
                                   incomplete::FactorArrays{1, 2, 0, name, "use smaller blocks"});
    const incomplete::SymbolicFactor& symbolic = factor.symbolic;
    static_cast<incomplete::PatternLists&>(factor.pattern) = symbolic.lists;
    factor.pattern.split_rows = symbolic.split_rows.template view<T>(nullptr);
    factor.pattern.split_columns = symbolic.split_columns.template view<T>(nullptr);
    const Index k = symbolic.lists.k;
    const Offset square = Offset(k) * k;
    factor.v = Buffer<T>(context, symbolic.lists.blocks * square);
    factor.inverses = Buffer<T>(context, symbolic.lists.block_rows * square);
    factor.transposes = Buffer<T>(context, symbolic.lists.block_rows * square);
    info = Buffer<Index>(context, symbolic.lists.block_rows);
    incomplete::reserve_apply_inverse<T>(context, symbolic);
}

template <class T>
void BlockTriangularSolve<T>::State::load(const Context& context, const CsrView<T>& matrix) {
    incomplete::compute_blocks(context, matrix, options, factor, info.data());
    singular = 0;
    for (const Index pivot : copy_to_host(context, info)) singular += pivot != 0;
}

template <class T>
BlockTriangularSolve<T>::BlockTriangularSolve(const Context& context, const CsrView<T>& matrix,
                                              Index block, const BlockTriangularOptions& options)
    : BlockTriangularSolve(
          context, matrix,
          [&] {
              require_argument("block", block >= 1 && block <= max_rows, name,
                               ": blocks have 1 to ", max_rows, " rows");
              check_matrix(name, matrix);
              return uniform_partition(context, matrix.rows, block);
          }(),
          options) {}

template <class T>
BlockTriangularSolve<T>::BlockTriangularSolve(const Context& context, const CsrView<T>& matrix,
                                              const BlockPartition& blocks,
                                              const BlockTriangularOptions& options) {
    check_matrix(name, matrix);
    check_square(name, matrix.rows, matrix.columns);
    check_memory(context, name, matrix);
    require_argument("blocks", blocks.rows == matrix.rows, name, ": the blocks have ", blocks.rows,
                     " rows, the matrix has ", matrix.rows);
    require_argument("blocks", blocks.largest <= max_rows, name, ": blocks have 1 to ", max_rows,
                     " rows");
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const Index bad = first_non_finite_row(context, matrix);
    require_argument("matrix", bad < 0, name, ": row ", bad, " holds NaN or infinity");
    state_ = std::make_unique<State>(context, matrix, blocks, options);
    state_->load(context, matrix);
}

template <class T>
BlockTriangularSolve<T>::~BlockTriangularSolve() = default;

template <class T>
Index BlockTriangularSolve<T>::rows() const {
    return state_->rows;
}

template <class T>
void BlockTriangularSolve<T>::apply(const Context& context, std::span<const T> b,
                                    std::span<T> x) const {
    state_->solve(context, false, b, x);
}

template <class T>
void BlockTriangularSolve<T>::apply_transposed(const Context& context, std::span<const T> b,
                                               std::span<T> x) const {
    state_->solve(context, true, b, x);
}

template <class T>
void BlockTriangularSolve<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix(name, matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    require_argument("matrix", state_->factor.symbolic.has_pattern_of(context, matrix), name,
                     ": update needs the pattern that it was set up with");
    const Index bad = first_non_finite_row(context, matrix);
    require_argument("matrix", bad < 0, name, ": row ", bad, " holds NaN or infinity");
    state_->load(context, matrix);
}

template <class T>
std::string BlockTriangularSolve<T>::describe() const {
    return concat(name, ":", state_->blocks, ",triangle=", options().upper ? "upper" : "lower",
                  ",diagonal=", options().unit_diagonal ? "unit" : "general");
}

template <class T>
Index BlockTriangularSolve<T>::singular_blocks() const {
    return state_->singular;
}

template <class T>
const BlockTriangularOptions& BlockTriangularSolve<T>::options() const {
    return state_->options;
}

template <class T>
PreconditionerReport BlockTriangularSolve<T>::make_report() const {
    const State& state = *state_;
    const incomplete::SymbolicFactor& symbolic = state.factor.symbolic;
    const Index k = symbolic.lists.k, count = symbolic.lists.block_rows;
    PreconditionerReport report;
    report.blocks = count;
    report.largest_block = state.largest;
    report.values = {{name, ReportValues{{"levels", Offset(symbolic.pattern.levels())},
                                         {"stored_blocks", symbolic.lists.blocks + count},
                                         {"bytes", symbolic.bytes}}}};
    if (state.singular == 0) return report;
    const std::vector<Index> info = copy_to_host(state.home, state.info);
    const std::vector<Index> slot_of = copy_to_host(state.home, symbolic.grid.slot_of_column);
    for (Index block = 0; block < count; ++block) {
        if (report.first_singular.size() == 10) break;
        const Index first = state.offsets[std::size_t(block)];
        const Index size = state.offsets[std::size_t(block) + 1] - first;
        // Block rows are numbered by levels.
        const Index pivot = info[std::size_t(slot_of[std::size_t(first)] / k)];
        if (pivot != 0) {
            report.first_singular.push_back({block, first, size, std::min(pivot, size), -1});
        }
    }
    report.unusable = concat(state.singular, " of ", count, " diagonal blocks ",
                             state.singular == 1 ? "is" : "are", " singular, the first in ",
                             rows_of_block(state.offsets, report.first_singular[0].block));
    return report;
}

template class BlockTriangularSolve<float>;
template class BlockTriangularSolve<double>;

}  // namespace tessera
