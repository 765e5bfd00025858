#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "commands/devices_of_solve.hpp"
#include "commands/singular_blocks.hpp"
#include "commands/solve_notes.hpp"
#include "report/text.hpp"
#include "run/clock.hpp"
#include "run/interrupt.hpp"
#include "run/monitor.hpp"
#include "run/output.hpp"
#include "run/output_failures.hpp"
#include "system/matrix_statistics.hpp"
#include "system/memory.hpp"
#include "system/null_space.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

/// One run of `tessera solve`, step by step.
template <class T>
class SolveCommand : SolveProblem<T> {
    using Problem = SolveProblem<T>;
    using Problem::context_, Problem::host_, Problem::matrix_, Problem::parsed_, Problem::system_;
    using Problem::vectors_, Problem::why_not_cuda_, Problem::x_;

  public:
    /// `group`: devices that solve together; null: that of the arguments does.
    SolveCommand(const SolveArguments& arguments, ParsedSolve parsed, const DeviceGroup* group)
        : Problem(arguments, std::move(parsed)), arguments_(arguments), group_(group) {}

    int operator()() {
        load();
        vectors_ = make_vectors<T>(context_, host_, parsed_.right_hand_side,
                                   CsrOperator<T>(context_, matrix_), system_.load);
        report_.right_hand_sides =
            matrix_.rows == 0 ? 1 : int(vectors_.b.size() / Offset(matrix_.rows));
        const bool is_one = report_.right_hand_sides == 1;
        if (!is_one && !arguments_.start.empty()) {
            throw InvalidArgument("--x0: there are several right-hand sides; a start is for one");
        }
        x_ = arguments_.start.empty()
                 ? Buffer<T>(context_, vectors_.b.size())
                 : copy_to_buffer(context_, read_sized_vector<T>(host_, arguments_.start,
                                                                 matrix_.rows, "the start"));
        if (arguments_.start.empty()) fill(context_, T(0), x_.view());
        if (group_ != nullptr) {
            solve_on_group();
        } else {
            solve_alone();
        }
        if (const int failed = finish(); failed != exit_converged) return failed;
        if (!report_.setup.unusable.empty() && report_.setup.blocks > 0) {
            std::fputs(singular_blocks_message(report_.setup, report_.singular_blocks,
                                               arguments_.command_line)
                           .c_str(),
                       stderr);
        }
        return exit_code_of(report_.solve.status);
    }

  private:
    void solve_alone() {
        context_.reset_phases();
        context_.time_phases();
        Solver<T> solver(context_, parsed_.method);
        solver.use_coordinates(system_.coordinates);
        if (!system_.near_null->values.empty()) solver.use_near_null_space(system_.near_null);
        solver.use_null_space(
            parse_null_space(arguments_.null_space, matrix_.rows, *system_.coordinates));
        solver.on_attempt([&](const AttemptEvent& event) { follow(event, solver); });
        const Clock clock;
        seconds_left_ = setup_within(solver, matrix_, arguments_.max_seconds);
        report_.seconds.setup = clock.seconds();
        run(solver);
        if (std::is_same_v<T, float> && solved_ && !arguments_.quiet) check_rounding(solver);
    }

    /// By devices that get parts of the system from the memory of the host.
    void solve_on_group() {
        if constexpr (std::is_same_v<T, double>) {
            note_method_of_group(parsed_.method, arguments_);
            for (int k = 0; k < group_->size(); ++k) (*group_)[k].time_phases();
            PreconditionerInputs inputs;
            inputs.coordinates = system_.coordinates;
            inputs.near_null = system_.near_null;
            setup_note_.emplace("setting up the solve on " + group_->description());
            SolveOptions options = solve_options(arguments_);
            options.observer = [this](const Progress& progress) {
                if (!monitor_) begin_iterations();
                monitor_->show(progress);
                return !interrupted();
            };
            const DeviceGroupReport found = solve(*group_, parsed_.method, matrix_, right_sides(),
                                                  solutions(), inputs, options);
            end_iterations();
            take(found.solves);
            add_group_report(found, report_);
            print_warnings_of_setup();
            solved_ = true;
        }
    }

    void load() {
        const Clock clock;
        Problem::read_system(arguments_);
        report_.device = group_ == nullptr ? context_.description() : group_->description();
        report_.threads = context_.threads();
        report_.seconds.read = clock.seconds();
        report_.matrix = {system_.name, matrix_.rows, matrix_.nonzeros};
        const std::string device = first_device().on_gpu() ? "cuda" : "cpu";
        if (!arguments_.config.empty() && arguments_.config_device != device && !arguments_.quiet) {
            print_note("the options of --config " + arguments_.config + " were found on " +
                       arguments_.config_device + ", not on " + device);
        }
        Problem::upload_matrix();
    }

    /// Reports and checks a step of the solver.
    void follow(const AttemptEvent& event, const Solver<T>& solver) {
        switch (event.kind) {
            case AttemptEvent::Kind::setup:
                return begin_setup(event, solver);
            case AttemptEvent::Kind::ready:
                return end_setup(solver);
            case AttemptEvent::Kind::failed:
                return leave(event, solver);
        }
    }

    void begin_setup(const AttemptEvent& event, const Solver<T>& solver) {
        const bool is_first = !std::exchange(has_begun_, true);
        const std::string& reduction = solver.facts().reduction;
        if (is_first && !reduction.empty() && !arguments_.quiet) print_note(reduction);
        if (is_first && arguments_.explain && !solver.attempts().empty()) {
            for (const std::string& line : explained(solver.facts(), solver.attempts())) {
                print_note(line);
            }
        }
        report_.solver = Spec(event.attempt.solver).normalised();
        report_.preconditioner = event.attempt.preconditioner;
        report_.matrix.format = event.attempt.format;
        check_memory(event.memory, context_.free_memory(), context_.on_gpu());
        setup_note_.emplace("setting up " + event.attempt.preconditioner);
    }

    void end_setup(const Solver<T>& solver) {
        setup_note_.reset();
        describe(solver);
        // All arguments and files are valid from here on.
        if (!std::exchange(was_set_up_, true)) note_fallback(why_not_cuda_, arguments_.quiet);
        if (is_solving_) begin_iterations();
        print_warnings_of_setup();
    }

    void print_warnings_of_setup() const {
        if (arguments_.quiet) return;
        for (const std::string& warning : report_.setup.warnings) {
            std::fprintf(stderr, "tessera: %s\n", io::printable(warning).c_str());
        }
    }

    void leave(const AttemptEvent& event, const Solver<T>& solver) {
        setup_note_.reset();
        end_iterations();
        record_attempt(event.attempt, event.iterations);
        if (arguments_.quiet || !arguments_.explain) return;
        const Attempt next = solver.attempts()[std::size_t(solver.attempt()) + 1];
        print_note(event.attempt.solver + " with " + event.attempt.preconditioner +
                   " does not solve it (" + event.outcome + "); going on with " + next.solver +
                   " and " + next.preconditioner);
    }

    void record_attempt(const Attempt& attempt, Offset iterations) {
        report_.attempts.push_back({report_.solver, report_.preconditioner, report_.matrix.format,
                                    attempt.reason, iterations});
    }

    void describe(const Solver<T>& solver) {
        report_.matrix.format = solver.format();
        report_.preconditioner = solver.preconditioner();
        report_.setup = solver.preconditioner_report();
        report_.setup.partition = nullptr;  // The preconditioner is destroyed before the report.
        report_.singular_blocks = solver.singular_blocks();
    }

    void begin_iterations() {
        setup_note_.reset();  // The time may be over in a setup.
        monitor_.emplace(arguments_.quiet ? "none" : arguments_.monitor);
        guard_.emplace();
    }
    void end_iterations() {
        setup_note_.reset();
        if (monitor_) monitor_->finish();
        monitor_.reset();
        guard_.reset();
    }

    void run(Solver<T>& solver) {
        SolveOptions options = solve_options(arguments_);
        options.max_seconds = seconds_left_;
        options.observer = [this](const Progress& progress) {
            monitor_->show(progress);
            return !interrupted();
        };
        is_solving_ = true;
        begin_iterations();
        take(solver.solve(right_sides(), solutions(), options));
        end_iterations();
        describe(solver);
        solved_ = report_.setup.unusable.empty();
        const std::vector<Attempt> attempts = solver.attempts();
        if (!attempts.empty()) {
            record_attempt(attempts[std::size_t(solver.attempt())], report_.solve.iterations);
        }
        if (!arguments_.quiet) note_null_space_part(report_.solve.null_space_part);
        const Status status = report_.solve.status;
        const bool may_be_singular = status == Status::breakdown || status == Status::stagnated ||
                                     status == Status::accuracy_lost ||
                                     status == Status::max_iterations;
        if (system_.known_singular && may_be_singular) {
            report_.solve.message = singular_system_message(
                report_.solve, parsed_.right_hand_side.has_known_solution());
        }
    }

    tessera::Vectors<const T> right_sides() const {
        return {vectors_.b.data(), matrix_.rows, report_.right_hand_sides, matrix_.rows};
    }
    tessera::Vectors<T> solutions() {
        return {x_.data(), matrix_.rows, report_.right_hand_sides, matrix_.rows};
    }

    /// The report is that of the right-hand side that ended worst.
    void take(const std::vector<SolveReport>& reports) {
        report_.solve = *std::ranges::max_element(reports, {}, [](const SolveReport& each) {
            return std::pair(!is_solved(each.status), each.iterations);
        });
        report_.solved_right_hand_sides = int(std::ranges::count_if(
            reports, [](const SolveReport& each) { return is_solved(each.status); }));
    }

    /// Says where rounding to float spoils a structure: where a step of iterative refinement, with
    /// the residual in double precision, changes it, unless memory does not suffice for that.
    void check_rounding(Solver<T>& solver) try {
        if (!system_.structure || replaces_load(arguments_) || matrix_.rows == 0) return;
        const std::vector<T> x = copy_to_host(context_, x_);
        const std::vector<double> residuals =
            structure_residuals(host_, *system_.structure, {x.begin(), x.end()});
        const Buffer<T> b =
            copy_to_buffer(context_, std::vector<T>(residuals.begin(), residuals.end()));
        Buffer<T> change(context_, b.size());
        fill(context_, T(0), change.view());
        SolveOptions options = solve_options(arguments_);
        options.max_seconds = seconds_left_;
        const int count = report_.right_hand_sides;
        solver.solve(tessera::Vectors<const T>(b.data(), matrix_.rows, count, matrix_.rows),
                     tessera::Vectors<T>(change.data(), matrix_.rows, count, matrix_.rows),
                     options);
        const std::vector<T> changes = copy_to_host(context_, change);
        double largest = 0;
        for (std::size_t first = 0; first < x.size(); first += std::size_t(matrix_.rows)) {
            double moved = 0, changed = 0;
            for (std::size_t k = first; k < first + std::size_t(matrix_.rows); ++k) {
                moved = std::max(moved, std::abs(double(x[k])));
                changed = std::max(changed, std::abs(double(changes[k])));
            }
            largest = std::max(largest, moved > 0 ? changed / moved : 0);
        }
        note_rounding_error(largest);
    } catch (const OutOfMemory&) {
        return;
    }

    /// Completes the report and writes all requested output; returns the exit code of failures.
    int finish() {
        const InterruptNote note("writing the results");
        report_.seconds.solve = report_.solve.seconds;
        report_.seconds.setup += report_.solve.setup_seconds;
        report_.phases = first_device().phases();
        for (const PhaseRecord& phase : report_.phases) {
            if (phase.step == PhaseStep::find_blocks) report_.seconds.find_blocks += phase.seconds;
        }
        // Finding blocks is a part of the setup.
        report_.seconds.setup = std::max(report_.seconds.setup - report_.seconds.find_blocks, 0.0);
        report_.peak_memory_bytes += context_.peak_memory_bytes();
        const bool wants_report = !arguments_.quiet || !arguments_.json.empty();
        std::vector<T> x;
        if (solved_ && (parsed_.right_hand_side.has_known_solution() || !arguments_.out.empty() ||
                        system_.structure)) {
            x = copy_to_host(context_, x_);
        }
        if (solved_ && parsed_.right_hand_side.has_known_solution()) {
            report_.forward_error = forward_error(x, copy_to_host(context_, vectors_.solution));
        }
        if (wants_report) report_.copy_bandwidth = copy_bandwidth_if_known(first_device());
        Failures failures;
        const bool is_drawn = is_solved(report_.solve.status) || narrowly_missed();
        if (is_drawn && system_.structure) add_structure_results(x, failures);
        write_results(x, failures);
        if (const int failed = failures.report(); failed != exit_converged) return failed;
        if (solved_ && !is_solved(report_.solve.status) && !arguments_.quiet) {
            note_unconverged_solution(arguments_, is_drawn && system_.structure);
        }
        return exit_converged;
    }

    /// Whether x is of use in spite of the tolerance.
    bool narrowly_missed() const {
        const double residual = report_.solve.true_relative_residual;
        return solved_ &&
               residual <= std::min(1e-3, 100 * arguments_.rtol.value_or(default_rtol<T>));
    }

    /// Adds displacements and stresses of each case, or of each of several right-hand sides, to the
    /// report and writes the VTU file.
    void add_structure_results(const std::vector<T>& x, Failures& failures) {
        Structure& structure = *system_.structure;
        std::vector<StructureResults> results(
            std::max(std::size_t(report_.right_hand_sides), structure.cases.size()));
        const bool is_found = failures.attempt(true, [&] {
            for (std::size_t k = 0; k < results.size(); ++k) {
                if (!structure.cases.empty()) structure.select(structure.cases[k]);
                const auto first = x.begin() + std::ptrdiff_t(k) * matrix_.rows;
                results[k] = find_structure_results(host_, structure, {first, first + matrix_.rows},
                                                    !replaces_load(arguments_));
                results[k].summary.load_case = name_of_case(k);
            }
        });
        double largest_error = 0;
        for (std::size_t k = 0; k < results.size(); ++k) {
            report_.structures.push_back(results[k].summary);
            largest_error = std::max(largest_error, results[k].summary.error_estimate);
        }
        report_.structures.front().defaults =
            default_values(arguments_.mesh, structure.model.mesh.dimensions);
        failures.attempt(is_found && !arguments_.mesh.vtu.empty(),
                         [&] { write_structure(host_, structure, results, arguments_.mesh.vtu); });
        if (!arguments_.quiet) note_error_estimate(largest_error);
    }

    /// Empty where there is one right-hand side alone; those of --rhs are counted from 1.
    std::string name_of_case(std::size_t k) const {
        const std::vector<LoadCase>& cases = system_.structure->cases;
        if (!cases.empty()) return cases[k].name;
        return report_.right_hand_sides > 1 ? std::to_string(k + 1) : "";
    }

    void write_results(const std::vector<T>& x, Failures& failures) const {
        failures.attempt(!arguments_.json.empty(),
                         [&] { write_text(arguments_.json, to_json(report_)); });
        failures.attempt(!arguments_.quiet && arguments_.json != "-",
                         [&] { write_text("-", to_table(report_)); });
        failures.attempt(solved_ && !arguments_.out.empty(), [&] {
            write_output(arguments_.out, [&] {
                io::write_vectors<T>(host_, arguments_.out, std::span<const T>(x),
                                     report_.right_hand_sides);
            });
        });
    }

    const Context& first_device() const { return group_ == nullptr ? context_ : (*group_)[0]; }

    const SolveArguments& arguments_;
    const DeviceGroup* const group_;
    std::optional<InterruptNote> setup_note_;  ///< During a setup.
    std::optional<InterruptGuard> guard_;  ///< During the iterations of an attempt; so is monitor_.
    std::optional<Monitor> monitor_;
    double seconds_left_ = 0;  ///< For the solve, after the setup.
    bool has_begun_ = false;   ///< The first setup has begun.
    bool was_set_up_ = false;  ///< An attempt could be set up.
    bool is_solving_ = false;
    bool solved_ = false;
    RunReport report_;
};

}  // namespace

int solve(const SolveArguments& given) {
    const InterruptNote note("preparing to solve " + given.matrix);
    SolveArguments arguments = with_saved_options(given);
    ParsedSolve parsed = check_arguments(arguments);
    const std::optional<DeviceGroup> group = open_devices(arguments, parsed.method);
    const DeviceGroup* const several = group ? &*group : nullptr;
    if (arguments.precision == "f32") {
        return SolveCommand<float>(arguments, std::move(parsed), several)();
    }
    return SolveCommand<double>(arguments, std::move(parsed), several)();
}

}  // namespace tessera::cli
