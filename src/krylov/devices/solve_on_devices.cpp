#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check_time.hpp"
#include "base/checks.hpp"
#include "base/concat.hpp"
#include "base/phases.hpp"
#include "distributed/matrix.hpp"
#include "distributed/partition.hpp"
#include "distributed/preconditioner.hpp"
#include "distributed/sums.hpp"
#include "distributed/thread_group.hpp"
#include "tessera/amg.hpp"
#include "tessera/detail/bsr.hpp"
#include "tessera/detail/floating_point.hpp"
#include "tessera/device_group.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

namespace {

/// The method with fcg and amg in place of auto.
MethodConfig completed(const MethodConfig& method) {
    Attempt attempt;
    attempt.solver = "fcg";
    attempt.preconditioner = "amg";
    attempt.format = "csr";
    return method.completed(attempt);
}

const ConfigOverRanks* over_ranks(const MethodConfig& method) {
    return dynamic_cast<const ConfigOverRanks*>(method.preconditioner.get());
}

/// What a system is dealt out by.
struct Deal {
    int block = 1;                ///< Unknowns of a node.
    PreconditionerInputs inputs;  ///< For the whole matrix.
    NodePartition partition;
    bool by_coordinates = false;
};

/// Throws InvalidArgument for matrices that are not for multigrid over ranks.
Deal deal_out(const Context& cpu, const CsrView<double>& matrix, const ConfigOverRanks& config,
              const PreconditionerInputs& given, int ranks) {
    Deal deal;
    deal.inputs = config.inputs_for(matrix.rows, given);
    const NodeCoordinates& points = *deal.inputs.coordinates;
    const MatrixFacts facts = find_facts(cpu, matrix, points);
    const auto refuse_unless = [](bool condition, const char* what) {
        require_argument("matrix", condition,
                         "over several devices systems are solved whose matrix is symmetric and "
                         "positive definite; this one ",
                         what);
    };
    refuse_unless(facts.symmetric, "is not symmetric");
    refuse_unless(facts.positive_diagonal, "has diagonal entries that are not positive");
    const Offset rows = matrix.rows,
                 nodes = Offset(points.values.size()) / std::max(1, points.dimensions);
    const bool divides = nodes > 0 && rows > 0 && rows % nodes == 0;
    deal.by_coordinates = nodes > 0;
    deal.block = config.unknowns_of_node() > 0 ? config.unknowns_of_node()
                 : divides                     ? int(rows / nodes)
                                               : facts.rows_per_node;
    const char* const complete =
        ": over several devices all nodes must have all of their unknowns, fixed ones identity "
        "rows";
    require_argument("coordinates", points.unknowns.empty(), "some of the ", nodes,
                     " nodes lack unknowns", complete);
    require_argument("coordinates",
                     nodes == 0 || (nodes * deal.block == rows && deal.block <= max_bsr_block),
                     "coordinates of ", nodes, " nodes do not fit ", rows, " rows", complete);
    require_argument("matrix", rows % deal.block == 0, "nodes of ", deal.block,
                     " unknowns do not divide ", rows, " rows", complete);
    for (const double value : points.values) {
        require_argument("coordinates", std::isfinite(value), "a coordinate is not finite");
    }
    const NearNullSpace& vectors = *deal.inputs.near_null;
    require_argument("near_null",
                     vectors.values.empty() ||
                         Offset(vectors.values.size()) == Offset(matrix.rows) * vectors.columns,
                     "near-null vectors must have ", matrix.rows, " rows");
    deal.partition = deal.by_coordinates ? bisect_coordinates(points, ranks)
                                         : cut_ordering(cpu, matrix, deal.block, ranks);
    return deal;
}

/// The inputs of the nodes of a rank.
PreconditionerInputs own_inputs(const Deal& deal, int rank) {
    PreconditionerInputs own;
    const NodeCoordinates& points = *deal.inputs.coordinates;
    if (!points.values.empty()) {
        own.coordinates = NodeCoordinates{
            points.dimensions, items_of_rank({points.values.data(), points.values.size()},
                                             points.dimensions, deal.partition, rank)};
    }
    const NearNullSpace& vectors = *deal.inputs.near_null;
    if (!vectors.values.empty()) {
        own.near_null = NearNullSpace{
            vectors.columns,
            items_of_rank(vectors.values, deal.block * vectors.columns, deal.partition, rank)};
    }
    return own;
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

/// A solve over devices: what all ranks read, and what they report.
class GroupSolve {
  public:
    GroupSolve(const DeviceGroup& group, const MethodConfig& method, const CsrView<double>& matrix,
               Vectors<const double> b, Vectors<const double> start, const SolveOptions& options)
        : group_(group),
          method_(completed(method)),
          matrix_(matrix),
          b_(b),
          start_(start),
          options_(options),
          x_(std::size_t(b.size) * std::size_t(b.count)),
          limit_(options.max_seconds) {}

    DeviceGroupReport run(const PreconditionerInputs& inputs) {
        report_.solver = method_.solver_text;
        report_.preconditioner = method_.preconditioner_text;
        report_.devices.resize(std::size_t(group_.size()));
        const double start = now();
        try {
            const Context cpu = group_[0].on_gpu() ? Context::cpu(group_[0].threads())
                                                   : Context::cpu(all_threads());
            deal_ = deal_out(cpu, matrix_, *over_ranks(method_), inputs, group_.size());
            report_.partition = deal_.by_coordinates ? "coordinates" : "ordering";
            report_.partition_seconds = now() - start;
            begin_setup_ = now();
            run_ranks(group_.size(),
                      [this](const Communicator& communicator) { on_rank(communicator); });
        } catch (const Stopped& stopped) {
            // Limits of the caller end the call.
            if (stopped.interrupted() || limit_.seconds_left() > 0) throw;
            SolveReport late;
            late.status = Status::max_seconds;
            late.message = "the time was over before the first iteration";
            late.relative_residual = late.true_relative_residual =
                std::numeric_limits<double>::quiet_NaN();
            report_.setup_seconds = now() - start - report_.partition_seconds;
            report_.solves.assign(std::size_t(b_.count), late);
            for (int j = 0; j < b_.count; ++j) {
                std::ranges::copy(start_[j], x_.begin() + Offset(j) * b_.size);
            }
        }
        return std::move(report_);
    }

    std::span<const double> x(int j) const {
        return std::span(x_).subspan(std::size_t(j * b_.size), std::size_t(b_.size));
    }

  private:
    int all_threads() const {
        int all = 0;
        for (int k = 0; k < group_.size(); ++k) all += group_[k].threads();
        return all;
    }

    void on_rank(const Communicator& communicator) {
        const int rank = communicator.rank();
        const Context& own = group_[rank];
        DeviceShare& share = report_.devices[std::size_t(rank)];
        double before = now();
        CsrMatrix<double> rows;
        {
            const Context cpu =
                own.on_gpu() ? Context::cpu(std::max(1, own.threads() / group_.size())) : own;
            rows = rows_of_rank(cpu, matrix_, deal_.block, deal_.partition, rank);
            if (own.on_gpu()) rows = copy_to(own, rows);
        }
        share.device = own.description();
        share.rows = rows.rows();
        share.nonzeros = rows.nonzeros();
        OwnRows dealt =
            own_rows(own, communicator, deal_.partition.starts, rows.view(), deal_.block);
        rows = {};
        const std::shared_ptr<const Halo> halo = dealt.halo;
        share.neighbours = halo->neighbours();
        share.received_bytes = Offset(halo->ghosts()) * deal_.block * Offset(sizeof(double));
        own.synchronize();
        share.deal_seconds = now() - std::exchange(before, now());
        const DistributedMatrix<double> a(own, dealt.rows.view(), halo.get(), ValueFormat::working);
        PreconditionerOverRanks made =
            over_ranks(method_)->make_over_ranks(own, std::move(dealt), own_inputs(deal_, rank));
        own.synchronize();
        share.setup_seconds = now() - before;
        if (rank == 0) {
            report_.preconditioner = made.text;
            report_.format = concat("sbell:", deal_.block);
            report_.setup_seconds = now() - begin_setup_;
        }
        solve_all(communicator, own, a, *made.m);
        if (rank == 0) report_.setup = std::move(made.report);
        share.peak_memory_bytes = own.peak_memory_bytes();
        share.wait_seconds = communicator.seconds_waited();
    }

    void solve_all(const Communicator& communicator, const Context& own,
                   const DistributedMatrix<double>& a, const Operator<double>& m) {
        const int rank = communicator.rank();
        const UseTimeLimit no_longer_that_of_setup(outer_limit_);
        const WithoutPhases untimed(own);
        const SumsOver sums(communicator);
        const UseRankSums use(own, &sums);
        const auto solver = method_.solver->make(own, a, &m);
        const auto part = [&](std::span<const double> whole) {
            return copy_to_buffer(own, items_of_rank(whole, deal_.block, deal_.partition, rank));
        };
        for (int j = 0; j < b_.count; ++j) {
            const Buffer<double> b = part(b_[j]);
            Buffer<double> x = part(start_[j]);
            const SolveReport report = solver->solve(b.view(), x.view(), options_of(rank, j));
            put_items_of_rank(
                copy_to_host(own, x), deal_.block, deal_.partition, rank,
                std::span(x_).subspan(std::size_t(j * b_.size), std::size_t(b_.size)));
            if (rank == 0) report_.solves.push_back(report);
        }
    }

    /// All ranks have an observer, as they vote on its answer; that of the first asks the caller's.
    SolveOptions options_of(int rank, int j) const {
        SolveOptions options = options_;
        options.max_seconds = limit_.seconds_left();
        if (!options_.observer) return options;
        options.observer = [this, rank, j](const Progress& progress) {
            if (rank > 0) return true;
            Progress shown = progress;
            shown.vector = j;
            shown.copy_x = {};
            return options_.observer(shown);
        };
        return options;
    }

    const DeviceGroup& group_;
    const MethodConfig method_;
    const CsrView<double> matrix_;
    const Vectors<const double> b_, start_;
    const SolveOptions& options_;
    std::vector<double> x_;
    TimeLimit::State* const outer_limit_ = time_limit_in_use;  ///< The caller's.
    const TimeLimit limit_;
    Deal deal_;
    double begin_setup_ = 0;
    DeviceGroupReport report_;
};

}  // namespace

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
    const detail::DefaultFloatingPoint environment;
    check_method_over_devices(method, options);
    check_matrix("solve", matrix);
    check_square("solve", matrix.rows, matrix.columns);
    check_memory(Context::cpu(1), "solve", matrix);
    check_vectors("solve", "b", b, matrix.rows);
    check_vectors("solve", "x", x, matrix.rows);
    require(b.count == x.count, "solve: b has ", b.count, " vectors, x has ", x.count);
    GroupSolve work(group, method, matrix, b, x, options);
    DeviceGroupReport report = work.run(inputs);
    for (int j = 0; j < x.count; ++j) std::ranges::copy(work.x(j), x[j].begin());
    return report;
}

}  // namespace tessera
