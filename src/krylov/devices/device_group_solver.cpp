#include <algorithm>
#include <limits>
#include <utility>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "distributed/matrix.hpp"
#include "distributed/sums.hpp"
#include "distributed/thread_group.hpp"
#include "krylov/at_work.hpp"
#include "krylov/devices/deal.hpp"
#include "krylov/messages.hpp"
#include "tessera/detail/floating_point.hpp"
#include "tessera/device_group.hpp"

namespace tessera {

namespace {

const ConfigOverRanks* over_ranks(const MethodConfig& method) {
    return dynamic_cast<const ConfigOverRanks*>(method.preconditioner.get());
}

/// The method with fcg and amg in place of auto.
MethodConfig completed(const MethodConfig& method) {
    check_method_over_devices(method, {});
    Attempt attempt;
    attempt.solver = "fcg";
    attempt.preconditioner = "amg";
    attempt.format = "csr";
    return method.completed(attempt);
}

/// While it exists, phases on a GPU are not timed: iterations over ranks are no graphs, and would
/// take longer by the times of their many short calls.
class WithoutPhases {
  public:
    explicit WithoutPhases(const Context& context)
        : context_(context), was_timed_(context.state().timed) {
        if (context.on_gpu()) context.time_phases(false);
    }
    ~WithoutPhases() { context_.state().timed = was_timed_; }
    WithoutPhases(const WithoutPhases&) = delete;
    WithoutPhases& operator=(const WithoutPhases&) = delete;

  private:
    const Context& context_;
    const bool was_timed_;
};

/// Threads of the host that work for all devices.
Context host_of(const DeviceGroup& group) {
    if (group[0].on_gpu()) return Context::cpu(group[0].threads());
    int all = 0;
    for (int k = 0; k < group.size(); ++k) all += group[k].threads();
    return Context::cpu(all);
}

/// Threads of the host that work for one of them.
Context host_of(const DeviceGroup& group, int rank) {
    const Context& own = group[rank];
    return own.on_gpu() ? Context::cpu(std::max(1, own.threads() / group.size())) : own;
}

/// A solve of several systems: what ranks read, and what they report.
struct GroupSolve {
    Vectors<const double> b;
    Vectors<const double> start;
    const SolveOptions& options;
    std::vector<double> x;
    std::vector<SolveReport> reports;
    std::exception_ptr error;  ///< Thrown by the observer.

    std::span<double> x_of(int j) {
        return std::span(x).subspan(std::size_t(j * b.size), std::size_t(b.size));
    }
    /// All ranks have an observer, as they vote on its answer; that of the first asks the caller's.
    SolveOptions options_of(int rank, int j) {
        SolveOptions own = options;
        if (!options.observer) return own;
        own.observer = [this, rank, j](const Progress& progress) {
            if (rank > 0) return true;
            Progress shown = progress;
            shown.vector = j;
            shown.copy_x = {};
            try {
                return options.observer(shown);
            } catch (...) {
                error = std::current_exception();
                return false;
            }
        };
        return own;
    }
};

}  // namespace

struct DeviceGroupSolver::State {
    /// What a rank keeps.
    struct Part {
        std::shared_ptr<const Halo> halo;
        std::unique_ptr<DistributedMatrix<double>> a;
        std::unique_ptr<PreconditionerOverRanks> m;
        std::unique_ptr<IterativeSolver<double>> solver;
    };

    State(DeviceGroup devices, const MethodConfig& chosen)
        : group(std::move(devices)),
          method(completed(chosen)),
          threads(group.size()),
          parts(std::size_t(group.size())) {}

    void setup(const CsrView<double>& matrix, const PreconditionerInputs& inputs);
    void update(const CsrView<double>& matrix);
    void solve(GroupSolve& work);
    /// Runs f(communicator, Context and Part of the rank) on all. If it throws, there is no matrix;
    /// without an agreement on the error none can be updated either.
    template <class F>
    void run(F&& f);
    CsrMatrix<double> deal_rows(const CsrView<double>& matrix, int rank) const;
    void set_up_part(const Communicator& communicator, const CsrView<double>& matrix, Part& part);
    void update_part(const Communicator& communicator, const CsrView<double>& matrix, Part& part);
    void solve_part(const Communicator& communicator, GroupSolve& work, Part& part);
    void report_setup();

    const DeviceGroup group;
    const MethodConfig method;
    ThreadGroup threads;
    std::vector<Part> parts;  ///< Empty ones: there was no setup.
    Deal deal;
    Index rows = 0;
    Offset nonzeros = 0;
    bool has_matrix = false;
    bool was_stopped = false;  ///< The time of the latest setup or update was over.
    bool in_use = false;
    DeviceGroupReport report;
};

namespace {

SolveReport late_report() {
    SolveReport late;
    late.status = Status::max_seconds;
    late.message = "the time was over before the first iteration";
    late.relative_residual = late.true_relative_residual = std::numeric_limits<double>::quiet_NaN();
    return late;
}

}  // namespace

template <class F>
void DeviceGroupSolver::State::run(F&& f) {
    const auto reset = [&] {
        has_matrix = false;
        if (threads.is_consistent()) return;
        for (Part& part : parts) part = {};
    };
    try {
        threads.run([&](const Communicator& communicator) {
            const int rank = communicator.rank();
            DeviceShare& share = report.devices[std::size_t(rank)];
            f(communicator, parts[std::size_t(rank)]);
            share.peak_memory_bytes = group[rank].peak_memory_bytes();
            share.wait_seconds = communicator.seconds_waited();
        });
    } catch (...) {
        reset();
        throw;
    }
}

void DeviceGroupSolver::State::setup(const CsrView<double>& matrix,
                                     const PreconditionerInputs& inputs) {
    has_matrix = false;
    for (Part& part : parts) part = {};
    report = {};
    report.solver = method.solver_text;
    report.preconditioner = method.preconditioner_text;
    report.devices.resize(parts.size());
    double before = now();
    rows = matrix.rows;
    nonzeros = matrix.nonzeros;
    deal = deal_out(host_of(group), matrix, *over_ranks(method), inputs, group.size());
    report.partition = deal.by_coordinates ? "coordinates" : "ordering";
    report.partition_seconds = now() - std::exchange(before, now());
    try {
        run([&](const Communicator& communicator, Part& part) {
            set_up_part(communicator, matrix, part);
        });
    } catch (...) {  // Other ranks may have ended well.
        for (Part& part : parts) part = {};
        throw;
    }
    report.setup_seconds = now() - before;
    report.format = concat("sbell:", deal.block);
    report_setup();
    deal.inputs = {};
}

void DeviceGroupSolver::State::update(const CsrView<double>& matrix) {
    require(parts.front().m != nullptr,
            "DeviceGroupSolver::update: there is no matrix; call setup");
    require(matrix.rows == rows && matrix.nonzeros == nonzeros,
            "DeviceGroupSolver: update needs a matrix of the pattern that it was set up with");
    double before = now();
    require_definite(host_of(group), matrix);
    report.solves.clear();
    report.partition_seconds = now() - std::exchange(before, now());
    run([&](const Communicator& communicator, Part& part) {
        update_part(communicator, matrix, part);
    });
    report.setup_seconds = now() - before;
    report_setup();
}

void DeviceGroupSolver::State::report_setup() {
    report.preconditioner = parts.front().m->describe();
    report.setup = parts.front().m->make_report();
    has_matrix = true;
}

/// The rows of a rank, in the memory of its Context.
CsrMatrix<double> DeviceGroupSolver::State::deal_rows(const CsrView<double>& matrix,
                                                      int rank) const {
    const Context& own = group[rank];
    CsrMatrix<double> dealt =
        rows_of_rank(host_of(group, rank), matrix, deal.block, deal.partition, rank);
    return own.on_gpu() ? copy_to(own, dealt) : std::move(dealt);
}

void DeviceGroupSolver::State::set_up_part(const Communicator& communicator,
                                           const CsrView<double>& matrix, Part& part) {
    const int rank = communicator.rank();
    const Context& own = group[rank];
    DeviceShare& share = report.devices[std::size_t(rank)];
    double before = now();
    CsrMatrix<double> dealt = deal_rows(matrix, rank);
    share.device = own.description();
    share.rows = dealt.rows();
    share.nonzeros = dealt.nonzeros();
    OwnRows own_part = own_rows(own, communicator, deal.partition.starts, dealt.view(), deal.block);
    dealt = {};
    part.halo = own_part.halo;
    share.neighbours = part.halo->neighbours();
    share.received_bytes = Offset(part.halo->ghosts()) * deal.block * Offset(sizeof(double));
    const PreconditionerInputs inputs = own_inputs(host_of(group, rank), deal, rank);
    own.synchronize();
    share.deal_seconds = now() - std::exchange(before, now());
    part.a = std::make_unique<DistributedMatrix<double>>(own, own_part.rows.view(), part.halo.get(),
                                                         ValueFormat::working);
    part.m = over_ranks(method)->make_over_ranks(own, std::move(own_part), inputs);
    part.solver = method.solver->make(own, *part.a, part.m.get());
    own.synchronize();
    share.setup_seconds = now() - before;
}

void DeviceGroupSolver::State::update_part(const Communicator& communicator,
                                           const CsrView<double>& matrix, Part& part) {
    const int rank = communicator.rank();
    const Context& own = group[rank];
    DeviceShare& share = report.devices[std::size_t(rank)];
    double before = now();
    BsrMatrix<double> values =
        own_rows(own, *part.halo, deal_rows(matrix, rank).view(), deal.block);
    own.synchronize();
    share.deal_seconds = now() - std::exchange(before, now());
    require(part.m->has_pattern(own, values.view()),
            "DeviceGroupSolver: update needs a matrix of the pattern that it was set up with");
    on_all_ranks(communicator, [&] { part.a->update(own, values.view()); });
    part.m->update(own, std::move(values));
    part.solver->operators_changed();
    own.synchronize();
    share.setup_seconds = now() - before;
}

void DeviceGroupSolver::State::solve(GroupSolve& work) {
    const AtWork at_work(in_use);
    if (was_stopped) {
        for (int j = 0; j < work.b.count; ++j)
            std::ranges::copy(work.start[j], work.x_of(j).begin());
        report.solves.assign(std::size_t(work.b.count), late_report());
        work.reports = report.solves;
        return;
    }
    require(has_matrix, "DeviceGroupSolver::solve: there is no matrix; call setup");
    run([&](const Communicator& communicator, Part& part) {
        solve_part(communicator, work, part);
    });
    if (work.error) std::rethrow_exception(work.error);
    report.setup = parts.front().m->make_report();
    report.solves = work.reports;
}

void DeviceGroupSolver::State::solve_part(const Communicator& communicator, GroupSolve& work,
                                          Part& part) {
    const int rank = communicator.rank();
    const Context &own = group[rank], cpu = host_of(group, rank);
    const WithoutPhases untimed(own);
    const SumsOver sums(communicator);
    const UseRankSums use(own, &sums);
    const double begin = now();
    const auto part_of = [&](std::span<const double> whole) {
        return copy_to_buffer(own, items_of_rank(cpu, whole, deal.block, deal.partition, rank));
    };
    for (int j = 0; j < work.b.count; ++j) {
        const Buffer<double> b = part_of(work.b[j]);
        Buffer<double> x = part_of(work.start[j]);
        SolveOptions options = work.options_of(rank, j);
        options.max_seconds = std::max(0.0, options.max_seconds - (now() - begin));
        const SolveReport solved = part.solver->solve(b.view(), x.view(), options);
        put_items_of_rank(cpu, copy_to_host(own, x), deal.block, deal.partition, rank,
                          work.x_of(j));
        if (rank == 0) work.reports.push_back(solved);
        communicator.agree(nullptr);  // After it all know whether the observer has failed.
        if (work.error) return;
    }
}

DeviceGroupSolver::DeviceGroupSolver(DeviceGroup group, const MethodConfig& method) {
    const detail::DefaultFloatingPoint environment;  // Threads inherit it.
    state_ = std::make_unique<State>(std::move(group), method);
}
DeviceGroupSolver::~DeviceGroupSolver() = default;
DeviceGroupSolver::DeviceGroupSolver(DeviceGroupSolver&&) noexcept = default;
DeviceGroupSolver& DeviceGroupSolver::operator=(DeviceGroupSolver&&) noexcept = default;

DeviceGroupSolver::State& DeviceGroupSolver::state() const {
    require(state_ != nullptr, "DeviceGroupSolver: used after it was moved from");
    return *state_;
}

namespace {

void check_host_matrix(const CsrView<double>& matrix) {
    check_matrix("solve", matrix);
    check_square("solve", matrix.rows, matrix.columns);
    check_memory(Context::cpu(1), "solve", matrix);
}

void check_systems(Index rows, Vectors<const double> b, Vectors<const double> x) {
    check_vectors("solve", "b", b, rows);
    check_vectors("solve", "x", x, rows);
    require(b.count == x.count, "solve: b has ", b.count, " vectors, x has ", x.count);
    check_apart<double>(b, x);
}

/// f(), after which `was_stopped` says whether the time was over.
template <class F>
void note_stop(bool& was_stopped, F&& f) {
    was_stopped = false;
    try {
        f();
    } catch (const Stopped& stopped) {
        was_stopped = !stopped.interrupted();
        throw;
    }
}

}  // namespace

void DeviceGroupSolver::setup(const CsrView<double>& matrix, const PreconditionerInputs& inputs) {
    const detail::DefaultFloatingPoint environment;
    check_host_matrix(matrix);
    const AtWork at_work(state().in_use);
    note_stop(state_->was_stopped, [&] { state_->setup(matrix, inputs); });
}

void DeviceGroupSolver::update(const CsrView<double>& matrix) {
    const detail::DefaultFloatingPoint environment;
    check_host_matrix(matrix);
    const AtWork at_work(state().in_use);
    note_stop(state_->was_stopped, [&] { state_->update(matrix); });
}

bool DeviceGroupSolver::has_matrix() const { return state().has_matrix; }

std::vector<SolveReport> DeviceGroupSolver::solve(Vectors<const double> b, Vectors<double> x,
                                                  const SolveOptions& options) {
    const detail::DefaultFloatingPoint environment;
    check_method_over_devices(MethodConfig(), options);
    check_systems(state().rows, b, x);
    GroupSolve work{b,       x,
                    options, std::vector<double>(std::size_t(b.size) * std::size_t(b.count)),
                    {},      nullptr};
    state_->solve(work);
    for (int j = 0; j < x.count; ++j) std::ranges::copy(work.x_of(j), x[j].begin());
    return std::move(work.reports);
}

const DeviceGroupReport& DeviceGroupSolver::report() const { return state().report; }

const DeviceGroup& DeviceGroupSolver::group() const { return state().group; }

void check_method_over_devices(const MethodConfig& method, const SolveOptions& options) {
    const std::string solver = Spec(method.solver_text).name();
    require_argument("solver", !method.solver || solver == "cg" || solver == "fcg",
                     "over several devices the solver is fcg or cg, not ", solver);
    require_argument("preconditioner", !method.preconditioner || over_ranks(method) != nullptr,
                     "over several devices the preconditioner is amg, not ",
                     Spec(method.preconditioner_text).name());
    require_argument("format", !method.format,
                     "over several devices products have a format of their own: leave out format ",
                     method.format_text);
    require_argument("left_preconditioning", !options.left_preconditioning,
                     "over several devices the preconditioner is on the right");
}

DeviceGroupReport solve(const DeviceGroup& group, const MethodConfig& method,
                        const CsrView<double>& matrix, Vectors<const double> b, Vectors<double> x,
                        const PreconditionerInputs& inputs, const SolveOptions& options) {
    check_method_over_devices(method, options);
    check_host_matrix(matrix);
    check_systems(matrix.rows, b, x);
    DeviceGroupSolver solver(group, method);
    SolveOptions rest = options;
    {
        const TimeLimit limit(options.max_seconds);
        try {
            solver.setup(matrix, inputs);
        } catch (const Stopped& stopped) {
            // Limits of the caller end the call.
            if (stopped.interrupted() || limit.seconds_left() > 0) throw;
        }
        rest.max_seconds = limit.seconds_left();
    }
    solver.solve(b, x, rest);
    return solver.report();
}

}  // namespace tessera
