#include "tessera/ilu.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/arranged_rows.hpp"
#include "precond/incomplete/ilu/config.hpp"
#include "precond/incomplete/ilu/row_order.hpp"
#include "precond/incomplete/ilu/threshold.hpp"
#include "precond/incomplete/state.hpp"
#include "tessera/detail/vector_steps.hpp"

namespace tessera {

template <class T>
struct Ilu<T>::State : incomplete::State<T> {
    IluOptions requested;
    IluOptions given;  ///< With the block size and matching used.
    Index rows = 0;
    std::unique_ptr<Ilu<float>> single;  ///< With single_precision; then there is no other factor.

    /// Whether the arrangement of the setup serves other values; renews a scaling by the diagonal.
    bool is_arranged_for(const Context& context, const CsrView<T>& matrix) {
        if (given.drop > 0 || single) return false;
        if (requested.single_precision && std::is_same_v<T, double>) return false;
        if (*given.matching) {
            if (this->report.structural_rank < rows) return false;  // Values may have been zero.
            const auto view = [](const Buffer<T>& scale) { return scale.view(); };
            return is_scaled<T>(context, matrix, view(this->row_scale), view(this->column_scale));
        }
        if (!requested.matching && needs_matching(context, matrix)) return false;
        this->row_scale = incomplete::scaling_in<T>(context, diagonal_scaling(context, matrix));
        return true;
    }
};

namespace {

/// The matrix in FP32; its values are in `values`.
CsrView<float> rounded(const Context& context, const CsrView<double>& matrix,
                       Buffer<float>& values) {
    values = Buffer<float>(context, matrix.nonzeros);
    convert<double, float>(context, matrix.values_span(), values.view());
    return {matrix.rows,        matrix.columns,        matrix.nonzeros,
            matrix.row_offsets, matrix.column_indices, values.data()};
}

/// f(r, z) in FP32, on copies of the vectors.
template <class F>
void in_single_precision(const Context& context, std::span<const double> r, std::span<double> z,
                         F&& f) {
    const Scratch<float> in(context, Offset(r.size())), out(context, Offset(z.size()));
    convert<double, float>(context, r, in.view());
    f(std::as_const(in).view(), out.view());
    convert<float, double>(context, std::as_const(out).view(), z);
}

template <class T>
void check_values(const Context& context, const CsrView<T>& matrix) {
    require_argument("matrix", first_non_finite_row(context, matrix) < 0,
                     "ilu: the matrix holds values that are not finite");
}

BlockLdltOptions common_options(const IluOptions& options) {
    BlockLdltOptions common;
    common.block = incomplete::size_of_blocks(options.block);
    common.fill = options.fill;
    common.method = options.method;
    common.sweeps = options.sweeps;
    common.epsilon = options.epsilon;
    common.delta = options.delta;
    common.pivoting = options.pivoting;
    common.outer = options.outer;
    common.outer_threshold = options.outer_threshold;
    common.safeguard = options.safeguard.value_or(options.method == IluStage::jacobi);
    common.solve_sweeps = options.solve_sweeps;
    common.max_growth = options.max_growth;
    return common;
}

}  // namespace

void check_options(const IluOptions& options) {
    require(options.block >= 0 && options.block <= 32, "ilu: blocks have 1 to 32 rows");
    incomplete::check_common_options("ilu", common_options(options));
    require(options.drop >= 0 && options.drop <= 1, "ilu: drop must be within 0..1");
    require(options.max_entries > 0 && options.max_entries <= 1e6,
            "ilu: max must be above 0 and at most 1e6");
    const bool by_rows = options.block <= 1 && options.fill == 0 && !options.outer &&
                         options.method == IluStage::level;
    require(options.max_levels >= 0, "ilu: max_levels must not be negative");
    require(options.drop == 0 || by_rows,
            "ilu: with drop blocks have one row, fill is 0, outer is off and the method is level");
    using batched::Pivoting;
    require(options.pivoting == Pivoting::full || options.pivoting == Pivoting::partial ||
                options.pivoting == Pivoting::fixed,
            "ilu: pivoting must be full, partial or fixed");
}

namespace {

/// The scalings of rows and columns; the latter is empty where they are equal, as row_of_column is
/// without a permutation.
struct Arrangement {
    Buffer<double> row_scaling, column_scaling;
    std::vector<Index> row_of_column;
    Index structural_rank = 0;
};

/// Rows that stay together, and the rows of a block: those given, or the natural ones.
///   H200, convection3d:80  1 row, 4, 8 rows  setup 7.6, 6.3, 6.0 ms  application 0.36, 0.58, 0.29
template <class T>
incomplete::RowOrder choose_blocks(const Context& context, const CsrView<T>& matrix,
                                   const IluOptions& options) {
    incomplete::RowOrder order;
    if (*options.matching || options.drop > 0) {
        order.block = options.block > 0 ? options.block : options.drop > 0 ? 1 : 8;
        return order;
    }
    const Index natural = incomplete::rows_of_natural_blocks(context, matrix);
    const Index rows = context.on_gpu() ? 8 : 4;
    order.block = options.block > 0 ? options.block : std::max(natural, rows / natural * natural);
    if (order.block % natural == 0) order.together = natural;
    return order;
}

/// The order that takes the fewest iterations where it is known that few levels do not cost more:
/// flows are numbered along lines, and a matched matrix has no order.
///   iterations of bicgstab, seconds of setup        natural   rcm         amd
///   convection3d:40,strength=10, fill=1             16, 0.08  15, 0.15    13, 0.87
///   euler2d:100,cfl=10, fill=1                      15, 0.12  13, 0.11    36, 0.17
///   recirculation:150, fill=1                       24, 0.05  24, 0.04   164, 0.07
template <class T>
OrderingMethod default_ordering(const Context& context, const CsrView<T>& matrix,
                                const IluOptions& options) {
    if (options.drop > 0) return OrderingMethod::amd;
    if (*options.matching) return options.fill == 0 ? OrderingMethod::rcm : OrderingMethod::amd;
    return incomplete::is_scattered(context, matrix) ? OrderingMethod::rcm
                                                     : OrderingMethod::natural;
}

template <class T>
Arrangement arrange(const Context& context, const CsrView<T>& matrix, const Context& host,
                    const CsrView<T>& host_matrix, bool matched) {
    if (!matched) return {diagonal_scaling(context, matrix), {}, {}, 0};
    ColumnMatching matching = match_columns(host, host_matrix);
    return {copy_to_buffer(context, matching.row_scaling),
            copy_to_buffer(context, matching.column_scaling), std::move(matching.row_of_column),
            matching.structural_rank};
}

/// The factor by thresholds, in a grid in host memory, as blocks of one row of a pattern, whose
/// grid is that one but for its order.
template <class T>
typename incomplete::State<T>::Taken in_pattern(const incomplete::Grid& grid,
                                                const incomplete::ThresholdFactor& from,
                                                const Context& context,
                                                const incomplete::GridByLevels& arranged) {
    const auto slots = copy_to_host(context, arranged.grid.slots);
    const auto block_rows = copy_to_host(context, arranged.pattern.rows);
    const auto block_columns = copy_to_host(context, arranged.pattern.columns);
    const auto value_at = [](const incomplete::TriangleRows& rows, Index i, Index j) {
        const auto begin = rows.columns.begin() + rows.offsets[i];
        const auto end = rows.columns.begin() + rows.offsets[i + 1];
        const auto found = std::lower_bound(begin, end, j);
        return found == end || *found != j ? T(0) : T(rows.values[found - rows.columns.begin()]);
    };
    const auto slot = [&](Index i) { return grid.slot_of_column.data()[slots[i]]; };
    typename incomplete::State<T>::Taken taken;
    for (std::size_t b = 0; b < block_rows.size(); ++b) {
        const Index i = slot(block_rows[b]), j = slot(block_columns[b]);
        taken.l.push_back(value_at(from.l, i, j));
        taken.u_transposed.push_back(value_at(from.u, j, i));
    }
    for (Index i = 0; i < grid.block_rows; ++i) taken.f.push_back(T(from.d[slot(i)]));
    taken.pivots = {from.smallest_pivot, from.perturbed};
    return taken;
}

}  // namespace

template <class T>
Ilu<T>::Ilu(const Context& context, const CsrView<T>& matrix, const IluOptions& options) {
    check_options(options);
    check_matrix("ilu", matrix);
    check_square("ilu", matrix.rows, matrix.columns);
    check_memory(context, "ilu", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const double start = now();
    check_values(context, matrix);
    if constexpr (std::is_same_v<T, double>) {
        if (options.single_precision && set_up_single(context, matrix, options)) return;
    }
    IluOptions used = options;
    used.single_precision = options.single_precision && std::is_same_v<T, float>;
    if (!used.matching) used.matching = needs_matching(context, matrix);
    const bool matched = *used.matching, by_value = options.drop > 0;
    incomplete::RowOrder order = choose_blocks(context, matrix, used);
    used.block = order.block;
    // The host matches rows and drops entries.
    const Context host = context.on_gpu() ? Context::cpu(context.threads()) : context;
    const bool is_copied = context.on_gpu() && (matched || by_value);
    const CsrMatrix<T> copied = is_copied ? copy_to_host(context, matrix) : CsrMatrix<T>();
    const CsrView<T> host_matrix = is_copied ? copied.view() : matrix;
    Arrangement arrangement = arrange(context, matrix, host, host_matrix, matched);
    order.row_of_column = std::move(arrangement.row_of_column);

    IluReport report;
    report.structural_rank = arrangement.structural_rank;
    order.method = options.ordering.value_or(default_ordering(context, matrix, used));
    report.ordering = order.method;
    const auto pattern = incomplete::group_pattern(context, matrix, order.together);
    const auto grid = incomplete::order_rows(context, pattern, order);
    report.padding = Index(grid.slots.size()) - grid.rows;

    const BlockLdltOptions common = common_options(used);
    state_ = std::make_unique<State>();
    state_->requested = options;
    state_->given = used;
    state_->rows = matrix.rows;
    state_->options = common;
    state_->report = report;
    state_->row_scale = incomplete::scaling_in<T>(context, arrangement.row_scaling);
    if (matched) {
        state_->column_scale = incomplete::scaling_in<T>(context, arrangement.column_scaling);
    }
    state_->plan = plan_spmv(context, matrix);
    if (by_value) {
        const auto row_scaling = copy_to_host(context, arrangement.row_scaling);
        const incomplete::Grid host_grid = incomplete::copy_grid(context, grid, host);
        const auto values = incomplete::threshold_factor(
            host_grid, host_matrix, row_scaling,
            matched ? copy_to_host(context, arrangement.column_scaling) : row_scaling,
            {options.drop, options.max_entries, incomplete::initial_epsilon<T>(common)});
        auto levels = incomplete::arrange_by_levels(
            context, grid, incomplete::copy_to_buffers(context, union_of_triangles(values)),
            options.max_levels);
        set_no_updates(context, levels.pattern);
        state_->taken = in_pattern<T>(host_grid, values, context, levels);
        state_->factor = {
            context,
            incomplete::SymbolicFactor(context, std::move(levels), matrix, false,
                                       incomplete::FactorArrays::of_factor(false, 1, 0)),
            common.pivoting, false};
    } else {
        state_->factor = incomplete::make_factor<T>(context, grid, pattern, matrix, false, common,
                                                    options.max_levels);
    }
    state_->report.symbolic_seconds = now() - start;
    state_->set_up(context, matrix, grid, pattern);
}

/// False where numbers are beyond the range of FP32.
template <class T>
bool Ilu<T>::set_up_single(const Context& context, const CsrView<T>& matrix,
                           const IluOptions& options) {
    if constexpr (std::is_same_v<T, double>) {
        Buffer<float> values;
        const CsrView<float> single = rounded(context, matrix, values);
        if (first_non_finite_row(context, single) >= 0) return false;
        state_ = std::make_unique<State>();
        state_->rows = matrix.rows;
        state_->single = std::make_unique<Ilu<float>>(context, single, options);
        state_->requested = options;
        state_->given = state_->single->options();
        return true;
    }
    return false;
}

template <class T>
Ilu<T>::~Ilu() = default;

template <class T>
Index Ilu<T>::rows() const {
    return state_->rows;
}

template <class T>
void Ilu<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    check_vector("ilu", "r", r, rows());
    check_vector("ilu", "z", z, rows());
    if constexpr (std::is_same_v<T, double>) {
        if (state_->single) {
            return in_single_precision(
                context, r, z, [&](auto in, auto out) { state_->single->apply(context, in, out); });
        }
    }
    const Phase phase(context, "apply", state_->bytes_of_apply());
    state_->apply(context, r.data(), z.data());
}

template <class T>
void Ilu<T>::apply_transposed(const Context& context, std::span<const T> r, std::span<T> z) const {
    check_vector("ilu", "r", r, rows());
    check_vector("ilu", "z", z, rows());
    if constexpr (std::is_same_v<T, double>) {
        if (state_->single) {
            return in_single_precision(context, r, z, [&](auto in, auto out) {
                state_->single->apply_transposed(context, in, out);
            });
        }
    }
    const Phase phase(context, "apply", state_->bytes_of_apply());
    state_->apply(context, r.data(), z.data(), true);
}

template <class T>
void Ilu<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("ilu", matrix);
    require(matrix.rows == rows(), "ilu: update needs a matrix of the size of its setup");
    check_values(context, matrix);
    if constexpr (std::is_same_v<T, double>) {
        if (state_->single) {
            Buffer<float> values;
            const CsrView<float> single = rounded(context, matrix, values);
            if (first_non_finite_row(context, single) < 0) {
                return state_->single->update(context, single);
            }
        }
    }
    if (!state_->single) {
        require(state_->given.drop > 0 || state_->factor.symbolic().has_pattern_of(context, matrix),
                "ilu: update needs the pattern that it was set up with");
    }
    if (state_->is_arranged_for(context, matrix)) {
        const Phase phase(context, "setup", 0, PhaseStep::setup);
        return state_->update(context, matrix);
    }
    Ilu anew(context, matrix, state_->requested);
    state_ = std::move(anew.state_);
}

template <class T>
const IluOptions& Ilu<T>::options() const {
    return state_->given;
}

template <class T>
const IluReport& Ilu<T>::report() const {
    return state_->single ? state_->single->report() : state_->report;
}

template <class T>
IluFactor<T> Ilu<T>::factor(const Context& context) const {
    if (state_->single) {
        const IluFactor<float> f = state_->single->factor(context);
        const auto widened = [](const std::vector<float>& from) {
            return std::vector<T>(from.begin(), from.end());
        };
        return {f.row_of_slot, f.column_of_slot, widened(f.row_scaling), widened(f.column_scaling),
                f.rows,        f.columns,        widened(f.l),           widened(f.u_transposed),
                widened(f.f)};
    }
    if (state_->stage == IluStage::none) return {};
    const auto& factor = state_->factor;
    const incomplete::BlockPattern& pattern = factor.symbolic().pattern;
    return {copy_to_host(context, factor.grid().rows_in_slots()),
            copy_to_host(context, factor.grid().slots),
            copy_to_host(context, state_->row_scale),
            copy_to_host(context,
                         state_->column_scale.empty() ? state_->row_scale : state_->column_scale),
            copy_to_host(context, pattern.rows),
            copy_to_host(context, pattern.columns),
            copy_to_host(context, factor.v(incomplete::lower)),
            copy_to_host(context, factor.v(incomplete::upper)),
            incomplete::diagonal_blocks(context, factor)};
}

template class Ilu<float>;
template class Ilu<double>;

}  // namespace tessera
