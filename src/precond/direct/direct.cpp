#include "tessera/direct.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "precond/direct/direct_state.hpp"

namespace tessera {

namespace {

std::string short_text(double number) {
    return number_text(number, std::chars_format::scientific, 1);
}

/// A matrix in host memory: that of the caller, or a copy of one on a GPU.
template <class T>
class HostMatrix {
  public:
    HostMatrix(const Context& context, const CsrView<T>& matrix) : view_(matrix) {
        if (!context.on_gpu()) return;
        copy_ = copy_to_host(context, matrix);
        view_ = copy_.view();
    }
    const CsrView<T>& view() const { return view_; }

  private:
    CsrMatrix<T> copy_;
    CsrView<T> view_;
};

/// PreconditionerReport::singular.
template <class T>
std::string singularity(const DirectReport& report, Index rows) {
    const std::string size = std::to_string(rows);
    if (report.structural_rank < rows) {
        return "the matrix is singular whatever its values: its pattern allows a rank of " +
               std::to_string(report.structural_rank) + " of " + size;
    }
    if (report.null_pivots > 0) {
        return "the matrix is singular: " + std::to_string(report.null_pivots) + " of its " + size +
               (report.null_pivots == 1 ? " columns has no pivot" : " columns have no pivot");
    }
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    const double rounding = 8 * epsilon * std::min(rows, 1000);
    if (report.smallest_pivot_row < 0 || report.smallest_pivot > rounding) return "";
    return concat("the matrix is singular to working precision: the pivot of row ",
                  report.smallest_pivot_row, " is ", short_text(report.smallest_pivot),
                  " of the largest entry after scaling");
}

}  // namespace

/// The kind of the matrix, by the signs of pivots of the latest factors on the host.
template <class T>
direct::MatrixKind Direct<T>::State::kind() const {
    if (!report.symmetric) return direct::MatrixKind::general;
    const bool is_definite = report.positive == Index(row_offsets.size()) - 1;
    return is_definite ? direct::MatrixKind::positive_definite : direct::MatrixKind::symmetric;
}

template <class T>
void Direct<T>::State::make_device(const Context& gpu, const CsrView<T>& matrix,
                                   const CsrView<T>& on_host) {
    using direct::MatrixKind;
    // Pivots are not searched there: large entries must be on the diagonal.
    if (arrangement.matched && kind() == MatrixKind::symmetric) {
        const auto general = direct::arrange(host, on_host, false, options);
        device = direct::DeviceCopy<T>::make(gpu, matrix, on_host, MatrixKind::general, general);
    } else {
        device = direct::DeviceCopy<T>::make(gpu, matrix, on_host, kind(), arrangement);
    }
}

/// Whether the GPU factors the matrix, so that factors on the host are not needed.
template <class T>
bool Direct<T>::State::factor_on_device(const Context& gpu, const CsrView<T>& matrix,
                                        const CsrView<T>& on_host) {
    if (device_fails || !gpu.on_gpu() || report.structural_rank < matrix.rows) return false;
    const double start = now();
    try {
        if (!device) make_device(gpu, matrix, on_host);
        const bool is_factored = device && device->factor(gpu, matrix);
        gpu.synchronize();
        if (!is_factored) {
            // A matrix that is no longer positive definite may be factored as a symmetric one.
            device_fails = !device || !device->is_indefinite();
            device.reset();
            return false;
        }
    } catch (const OutOfMemory&) {
        device_fails = true;
        device.reset();
        return false;
    } catch (...) {
        device.reset();
        throw;
    }
    factor = {};
    memory.set(fronts.bytes());
    report.factor_entries = device->factor_entries();
    report.factor_bytes = 0;
    report.factor_seconds = now() - start;
    is_in_range = is_complete = true;
    return true;
}

template <class T>
bool Direct<T>::State::has_long_rows() const {
    const std::size_t rows = row_offsets.size() - 1;
    Offset longest = 0;
    for (std::size_t i = 0; i < rows; ++i) {
        longest = std::max(longest, row_offsets[i + 1] - row_offsets[i]);
    }
    return double(longest) >
           std::max(10 * std::sqrt(double(rows)), 10 * double(row_offsets.back()) / double(rows));
}

/// Whether the GPU takes over new values on the pattern.
template <class T>
bool Direct<T>::State::is_worth_device(const Context& given) const {
    //   stokes:96, 1.8e8 operations          host  20 ms  cuDSS 6, after an analysis of 90
    //   qpband:150000, 2.5e6, 1.2e6 entries        55           6
    //   kkt_boyd1, rows of 93,279 entries          120          750
    constexpr double min_work = 1e7;
    if (!given.on_gpu() || device_fails || has_long_rows()) return false;
    const double work = report.flops + 50 * double(report.factor_entries);
    return !device && !fronts.first.empty() && work >= min_work;
}

template <class T>
bool Direct<T>::State::update_on_device(const Context& gpu, const CsrView<T>& matrix,
                                        const CsrView<T>& on_host) {
    is_complete = is_on_host = false;
    if (first_non_finite_row(gpu, matrix) >= 0) return false;
    if (report.symmetric && !is_symmetric(gpu, matrix)) return false;
    return factor_on_device(gpu, matrix, on_host);
}

template <class T>
void Direct<T>::State::bring_to_host(const Context& given) {
    if (!device || is_on_host || !is_complete) return;
    const CsrMatrix<T> matrix = copy_to_host(given, device->matrix());
    measure(matrix.view());
    factor_on_host(matrix.view());
    if (!is_on_host) is_complete = is_in_range = true;  // Those on the device are.
}

template <class T>
Direct<T>::Direct(const Context& context, const CsrView<T>& matrix, const DirectOptions& options,
                  std::optional<bool> is_symmetric) {
    require(options.threshold <= 0.5, "direct: threshold must be within 0..0.5");
    check_matrix("direct", matrix);
    check_memory(context, "direct", matrix);
    check_square("direct", matrix.rows, matrix.columns);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    const HostMatrix<T> host(context, matrix);
    const CsrView<T>& view = host.view();
    const auto offsets = view.row_offsets_span();
    const auto columns = view.column_indices_span();
    state_ = std::unique_ptr<State>(
        new State{options,
                  {},
                  context,
                  context.on_gpu() ? Context::cpu(context.threads()) : context,
                  {offsets.begin(), offsets.end()},
                  {columns.begin(), columns.end()}});
    state_->known_symmetric = is_symmetric;
    state_->compute(context, matrix, view);
}

template <class T>
Direct<T>::~Direct() = default;

template <class T>
Index Direct<T>::rows() const {
    return Index(state_->row_offsets.size()) - 1;
}

template <class T>
bool Direct<T>::can_be_captured() const {
    return !state_->context.on_gpu();
}

template <class T>
void Direct<T>::apply(const Context& context, std::span<const T> r, std::span<T> z) const {
    apply_vectors(context, one_vector(r), one_vector(z));
}

template <class T>
void Direct<T>::State::solve(const Context& cpu, bool transposed, Vectors<const T> b,
                             Vectors<T> x) const {
    if (row_plan) return simplicial.solve(arrangement, transposed, b, x);
    const Scratch<T> work(cpu, direct::solve_work(fronts, factor, b.count));
    direct::solve_factors(cpu, arrangement, fronts, factor, transposed, b, x, work.data());
}

template <class T>
void Direct<T>::apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    apply(context, false, r, z);
}

template <class T>
void Direct<T>::apply_transposed(const Context& context, Vectors<const T> r, Vectors<T> z) const {
    apply(context, true, r, z);
}

template <class T>
void Direct<T>::apply(const Context& context, bool transposed, Vectors<const T> r,
                      Vectors<T> z) const {
    check_vectors("direct", "r", r, rows());
    check_vectors("direct", "z", z, rows());
    require(r.count == z.count, "direct: r has ", r.count, " vectors, z has ", z.count);
    State& state = *state_;
    // Applications on a GPU may be changing the report.
    const double entries =
        state.context.on_gpu() ? double(rows()) : double(state.report.factor_entries);
    const Phase phase(context, "apply", entries * sizeof(T) * r.count);
    if (state.context.on_gpu()) {
        if (state.solve_on_device(context, transposed, r, z)) return;
    } else {
        state.require_factors();
    }
    if (!context.on_gpu()) return state.solve(context, transposed, r, z);
    const Context one_thread = Context::cpu(1);
    std::vector<T> values(static_cast<std::size_t>(rows()));
    for (int v = 0; v < r.count; ++v) {
        copy_to_host(context, r[v], std::span<T>(values));
        state.solve(one_thread, transposed, one_vector(std::span<const T>(values)),
                    one_vector(std::span<T>(values)));
        copy_from_host(context, std::span<const T>(values), z[v]);
    }
}

template <class T>
bool Direct<T>::State::solve_on_device(const Context& given, bool transposed, Vectors<const T> b,
                                       Vectors<T> x) {
    const std::lock_guard lock(device_mutex);
    require_factors();
    const bool is_here = given.on_gpu() && given.device() == context.device();
    if (device && is_here && (report.symmetric || !transposed)) {
        given.state().require_no_capture("exact factors cannot be applied");
        // Solves on several streams share the work space of the library.
        const bool is_solved = device->solve(given, b, x);
        given.synchronize();
        if (is_solved) return true;
        device_fails = true;
    }
    bring_to_host(is_here ? given : context);
    if (device_fails) {
        device.reset();
        is_complete = is_on_host;
    }
    require(!device || is_on_host, "direct: the scaled matrix leaves the range of its type");
    require_factors();
    return false;
}

template <class T>
void Direct<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("direct", matrix);
    const Phase phase(context, "setup", 0, PhaseStep::setup);
    check_memory(context, "direct", matrix);
    State& state = *state_;
    const char* const other_pattern = "direct: update needs the pattern that it was set up with";
    if (state.device) {
        require(context.on_gpu() && context.device() == state.context.device(),
                "direct: update needs a Context of the GPU of the setup");
        require(state.device->has_pattern_of(context, matrix), other_pattern);
        if (state.update_on_device(context, matrix, {})) return;
    }
    const HostMatrix<T> host(context, matrix);
    require(state.has_pattern_of(host.view()), other_pattern);
    const bool symmetric = state.options.symmetric && is_symmetric(state.host, host.view());
    state.known_symmetric = symmetric;
    if (state.report.symmetric != symmetric || !state.arrangement.suits(host.view())) {
        state.fronts = {};  // Another analysis.
        state.row_plan.reset();
    } else if (state.is_worth_device(context) &&
               state.update_on_device(context, matrix, host.view())) {
        return;
    }
    state.compute(context, matrix, host.view());
}

template <class T>
const DirectOptions& Direct<T>::options() const {
    return state_->options;
}

template <class T>
const DirectReport& Direct<T>::report() const {
    const std::lock_guard lock(state_->device_mutex);
    state_->bring_to_host(state_->context);
    state_->report.on_device = state_->device != nullptr;
    return state_->report;
}

template <class T>
PreconditionerReport Direct<T>::make_report() const {
    const std::lock_guard lock(state_->device_mutex);
    const DirectReport& report = state_->report;
    PreconditionerReport result;
    if (!state_->is_complete) {
        result.unusable = !state_->is_finite     ? "the matrix has a NaN or infinity"
                          : !state_->is_in_range ? "the scaled matrix leaves the range of its type"
                                                 : "the latest factorisation was not completed";
        return result;
    }
    ReportValues values;
    values.reserve(12);
    values.push_back({"factorisation", report.symmetric ? "LDL^T" : "LU"});
    values.push_back({"flops", report.flops});
    values.push_back({"factor_entries", report.factor_entries});
    if (state_->device) {
        values.push_back({"library", "cuDSS"});
        result.values.push_back({"direct", std::move(values)});
        return result;
    }
    values.push_back({"factor_bytes", report.factor_bytes});
    values.push_back({"fronts", Offset(report.fronts)});
    values.push_back({"largest_front", Offset(report.largest_front)});
    values.push_back({"delayed_pivots", report.delayed});
    if (report.matched) values.push_back({"structural_rank", Offset(report.structural_rank)});
    if (report.blocks > 1) values.push_back({"diagonal_blocks", Offset(report.blocks)});
    if (report.symmetric) {
        values.push_back({"positive_pivots", Offset(report.positive)});
        values.push_back({"negative_pivots", Offset(report.negative)});
    }
    values.push_back({"null_pivots", Offset(report.null_pivots)});
    values.push_back({"smallest_pivot", report.smallest_pivot});
    result.values.push_back({"direct", std::move(values)});
    result.singular = singularity<T>(report, rows());
    return result;
}

template class Direct<float>;
template class Direct<double>;

}  // namespace tessera
