#include <cstdio>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "commands/singular_blocks.hpp"
#include "commands/solve_notes.hpp"
#include "report/text.hpp"
#include "run/clock.hpp"
#include "run/interrupt.hpp"
#include "run/monitor.hpp"
#include "run/output.hpp"
#include "run/output_failures.hpp"
#include "run/saved_options.hpp"
#include "system/matrix_statistics.hpp"
#include "system/memory.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

/// The arguments with the saved options of --config in place of words that are not given.
SolveArguments with_saved_options(SolveArguments arguments) {
    if (arguments.config.empty()) return arguments;
    const SavedOptions saved = read_saved_options(arguments.config);
    const auto use = [](std::string& word, const std::string& usual, const std::string& other) {
        if (word == usual) word = other;
    };
    const SolveArguments usual;
    use(arguments.solver, usual.solver, saved.solver);
    use(arguments.preconditioner, usual.preconditioner, saved.preconditioner);
    use(arguments.format, usual.format, saved.format);
    use(arguments.side, usual.side, saved.side);
    arguments.config_device = saved.device;
    return arguments;
}

/// Whether a solver, by its name, is for symmetric matrices alone.
bool needs_symmetry(const std::string& solver) {
    return solver == "cg" || solver == "fcg" || solver == "minres" || solver == "sqmr";
}

/// One run of `tessera solve`, step by step.
template <class T>
class SolveCommand : SolveProblem<T> {
    using Problem = SolveProblem<T>;
    using Problem::context_, Problem::host_, Problem::matrix_, Problem::parsed_, Problem::system_;
    using Problem::vectors_, Problem::why_not_cuda_, Problem::x_, Problem::is_uploaded_;

  public:
    SolveCommand(const SolveArguments& arguments, ParsedSolve parsed)
        : Problem(arguments, std::move(parsed)), arguments_(arguments) {
        report_.device = context_.description();
        report_.threads = context_.threads();
    }

    int operator()() {
        load();
        vectors_ = make_vectors<T>(context_, host_, parsed_.right_hand_side,
                                   CsrOperator<T>(context_, matrix_), system_.load);
        x_ = arguments_.start.empty()
                 ? Buffer<T>(context_, matrix_.rows)
                 : copy_to_buffer(context_, read_sized_vector<T>(host_, arguments_.start,
                                                                 matrix_.rows, "the start"));
        if (arguments_.start.empty()) fill(context_, T(0), x_.view());
        context_.reset_phases();
        context_.time_phases();
        while (try_attempt()) ++attempt_;
        if (const int failed = finish(); failed != exit_converged) return failed;
        if (!report_.setup.unusable.empty() && report_.setup.blocks > 0) {
            std::fputs(singular_blocks_message(report_.setup, report_.singular_blocks,
                                               arguments_.command_line)
                           .c_str(),
                       stderr);
        }
        return exit_code();
    }

  private:
    void load() {
        const Clock clock;
        Problem::read_system(arguments_);
        report_.seconds.read = clock.seconds();
        report_.matrix = {system_.name, matrix_.rows, matrix_.nonzeros};
        if (parsed_.refinement) check_corrections();
        const std::string device = context_.on_gpu() ? "cuda" : "cpu";
        if (!arguments_.config.empty() && arguments_.config_device != device && !arguments_.quiet) {
            print_note("the options of --config " + arguments_.config + " were found on " +
                       arguments_.config_device + ", not on " + device);
        }
        if (is_automatic()) {
            choose_attempts();
        } else {
            attempts_ = {{arguments_.solver, arguments_.preconditioner, arguments_.format, 0, ""}};
        }
        if (!is_automatic()) use_attempt();
        Problem::upload_matrix();
    }

    bool is_automatic() const {
        return arguments_.solver == "auto" || arguments_.preconditioner == "auto" ||
               arguments_.format == "auto";
    }

    void choose_attempts() {
        Problem::upload_matrix();  // A GPU looks at it faster.
        const MatrixFacts facts = find_facts(context_, matrix_, *system_.coordinates);
        not_symmetric_ = !facts.symmetric;
        attempts_ = choose(facts, arguments_.solver, arguments_.preconditioner, arguments_.format,
                           arguments_.side == "left");
        if (!arguments_.explain) return;
        for (const std::string& line : explained(facts, attempts_)) print_note(line);
    }

    /// Parses the texts of the attempt and checks that the memory suffices.
    void use_attempt() {
        const Attempt& attempt = attempts_[attempt_];
        parsed_.use(attempt.solver, attempt.preconditioner, attempt.format);
        report_.solver = parsed_.solver.normalised();
        report_.matrix.format = to_string(parsed_.format);
        const auto& refined = parsed_.refinement;
        MemoryEstimate need =
            estimate_memory(matrix_.rows, matrix_.nonzeros, sizeof(T),
                            refined ? *refined->inner : *parsed_.config, *parsed_.preconditioner);
        if (!context_.on_gpu() || is_uploaded_) need.matrix = 0;  // It is in memory already.
        if (refined) need.matrix += 8 * (Offset(matrix_.rows) + 1 + matrix_.nonzeros);
        // A lower bound: without indices, and without fill, which is known once it is made.
        if (parsed_.format.format != MatrixFormat::csr) {
            const ValueFormat values = parsed_.format.values;
            need.matrix += matrix_.nonzeros * Offset(values == ValueFormat::working ? sizeof(T)
                                                     : values == ValueFormat::f32   ? 4
                                                                                    : 2);
        }
        check_memory(need, context_.free_memory(), context_.on_gpu());
    }

    /// Solves by one attempt; true: the next one may do better.
    bool try_attempt() {
        const Attempt& attempt = attempts_[attempt_];
        const bool is_last = attempt_ + 1 == attempts_.size();
        const SolveReport before = std::move(report_.solve);
        report_.solve = {};
        report_.preconditioner = attempt.preconditioner;
        try {
            if (is_automatic()) use_attempt();
            Solver<T> solver(context_, attempt.solver, attempt.preconditioner, attempt.format);
            set_up(solver);
            run(solver, before);
        } catch (const Error& error) {
            if (is_last || !worth_another(error)) throw;
            report_.solve.status = Status::breakdown;
            report_.solve.message = error.what();
            attempts_[attempt_ + 1].reason = attempt.preconditioner + " cannot be set up";
        }
        const bool goes_badly = worth_another(report_.solve, attempt.max_iterations);
        const std::string outcome = outcome_of(report_.solve);
        report_.solve = joined(before, std::move(report_.solve));
        const bool goes_on = goes_badly && !is_last &&
                             report_.solve.iterations < arguments_.max_iterations &&
                             report_.solve.seconds < arguments_.max_seconds;
        record_attempt(goes_on, outcome);
        if (goes_on && report_.solve.status == Status::non_finite) {
            fill(context_, T(0), x_.view());  // Infinity may be where no product shows it.
        }
        return goes_on;
    }

    void record_attempt(bool goes_on, const std::string& outcome) {
        const Attempt& attempt = attempts_[attempt_];
        if (!is_automatic()) return;
        report_.attempts.push_back({report_.solver, report_.preconditioner, report_.matrix.format,
                                    attempt.reason, report_.solve.iterations});
        if (!goes_on || arguments_.quiet) return;
        const Attempt& next = attempts_[attempt_ + 1];
        print_note(attempt.solver + " with " + attempt.preconditioner + " does not solve it (" +
                   outcome + "); going on with " + next.solver + " and " + next.preconditioner);
    }

    /// The corrections of refinement are solved with the matrix in single precision.
    void check_corrections() const {
        if constexpr (std::is_same_v<T, double>) {
            const std::string fault = float_range_fault(matrix_);
            if (fault.empty()) return;
            throw InvalidArgument(
                "'" + system_.name + "': " + fault +
                ", which refinement needs: use another --solver, or scale the system");
        }
    }

    void set_up(Solver<T>& solver) {
        solver.use_coordinates(system_.coordinates);
        {
            const InterruptNote note("setting up " + attempts_[attempt_].preconditioner);
            solver.setup(matrix_);
        }
        describe(solver);
        // All arguments and files are valid from here on.
        if (attempt_ == 0) note_fallback(why_not_cuda_, arguments_.quiet);
        if (arguments_.quiet) return;
        for (const std::string& warning : report_.setup.warnings) {
            std::fprintf(stderr, "tessera: %s\n", io::printable(warning).c_str());
        }
    }

    void describe(const Solver<T>& solver) {
        report_.matrix.format = solver.format();
        report_.preconditioner = solver.preconditioner();
        report_.setup = solver.preconditioner_report();
        report_.setup.partition = nullptr;  // The preconditioner is destroyed before the report.
        report_.singular_blocks = solver.singular_blocks();
    }

    void run(Solver<T>& solver, const SolveReport& before) {
        const std::span<const T> b = std::as_const(vectors_.b).view();
        if (!report_.setup.unusable.empty()) {
            report_.solve = solver.solve(b, x_.view());  // Says why.
            return;
        }
        Monitor monitor(arguments_.quiet ? "none" : arguments_.monitor);
        const InterruptGuard guard;
        SolveOptions options = solve_options(arguments_);
        options.observer = [&monitor](const Progress& progress) {
            monitor.show(progress);
            return !interrupted();
        };
        options = attempt_options(options, attempts_[attempt_], before);
        report_.solve = solver.solve(b, x_.view(), options);
        monitor.finish();
        solved_ = true;
        if (report_.solve.recoveries > 0) describe(solver);
        const Status status = report_.solve.status;
        const bool failed_to_converge =
            status == Status::breakdown || status == Status::stagnated ||
            status == Status::accuracy_lost || status == Status::max_iterations;
        const std::string& name = parsed_.solver.name();
        if (not_symmetric_ && failed_to_converge && needs_symmetry(name)) {
            report_.solve.message = format(
                "%s needs a symmetric matrix, which this one is not (the relative residual is "
                "%.2e); use bicgstab, idr or gmres.",
                name.c_str(), report_.solve.true_relative_residual);
        }
        if (system_.known_singular && failed_to_converge) {
            report_.solve.message = singular_system_message(
                report_.solve, parsed_.right_hand_side.has_known_solution());
        }
    }

    /// Completes the report and writes all requested output; returns the exit code of failures.
    int finish() {
        const InterruptNote note("writing the results");
        report_.seconds.solve = report_.solve.seconds;
        report_.phases = context_.phases();
        for (const PhaseRecord& phase : report_.phases) {
            if (phase.name == "find_blocks") report_.seconds.find_blocks += phase.seconds;
            if (phase.name.starts_with("setup") || phase.name == "bounds") {
                report_.seconds.setup += phase.seconds;
            }
        }
        report_.peak_memory_bytes = context_.peak_memory_bytes();
        const bool wants_report = !arguments_.quiet || !arguments_.json.empty();
        std::vector<T> x;
        if (solved_ && (parsed_.right_hand_side.has_known_solution() || !arguments_.out.empty() ||
                        system_.structure)) {
            x = copy_to_host(context_, x_);
        }
        if (solved_ && parsed_.right_hand_side.has_known_solution()) {
            report_.forward_error = forward_error(x, copy_to_host(context_, vectors_.solution));
        }
        if (wants_report) measure_copy_bandwidth();
        Failures failures;
        if (report_.solve.status == Status::converged && system_.structure) {
            add_structure_results(x, failures);
        }
        write_results(x, failures);
        if (const int failed = failures.report(); failed != exit_converged) return failed;
        if (solved_ && report_.solve.status != Status::converged && !arguments_.quiet) {
            note_unconverged_solution(arguments_);
        }
        return exit_converged;
    }

    /// Adds displacements and stresses to the report and writes the VTU file.
    void add_structure_results(const std::vector<T>& x, Failures& failures) {
        const std::vector<double> solution(x.begin(), x.end());
        const Structure& structure = *system_.structure;
        const auto evaluate = [&](const std::string& vtu) {
            report_.structure = structure_results(host_, structure, solution, vtu);
        };
        if (!failures.attempt(true, [&] { evaluate(arguments_.mesh.vtu); })) evaluate("");
        report_.structure.defaults =
            default_values(arguments_.mesh, structure.model.mesh.dimensions);
    }

    /// Measures the copy bandwidth; 0 (unknown) if its buffers do not fit into memory beside the
    /// system.
    void measure_copy_bandwidth() {
        try {
            report_.copy_bandwidth = context_.copy_bandwidth();
        } catch (const OutOfMemory&) {
            report_.copy_bandwidth = 0;
        }
    }

    void write_results(const std::vector<T>& x, Failures& failures) const {
        failures.attempt(!arguments_.json.empty(),
                         [&] { write_text(arguments_.json, to_json(report_)); });
        failures.attempt(!arguments_.quiet && arguments_.json != "-",
                         [&] { write_text("-", to_table(report_)); });
        failures.attempt(solved_ && !arguments_.out.empty(), [&] {
            write_output(arguments_.out, [&] { io::write_vector<T>(host_, arguments_.out, x); });
        });
    }

    int exit_code() const {
        switch (report_.solve.status) {
            case Status::converged:
                return exit_converged;
            case Status::breakdown:
            case Status::non_finite:
            case Status::singular_block:
                return exit_breakdown;
            case Status::interrupted:
                return exit_interrupted;
            case Status::max_iterations:
            case Status::max_seconds:
            case Status::accuracy_lost:
            case Status::stagnated:
                return exit_not_converged;
        }
        return exit_internal;
    }

    const SolveArguments& arguments_;
    std::vector<Attempt> attempts_;
    std::size_t attempt_ = 0;
    bool solved_ = false;
    bool not_symmetric_ = false;  ///< Known where a word is auto.
    RunReport report_;
};

}  // namespace

int solve(const SolveArguments& given) {
    const InterruptNote note("preparing to solve " + given.matrix);
    const SolveArguments arguments = with_saved_options(given);
    ParsedSolve parsed = check_arguments(arguments);
    return arguments.precision == "f32" ? SolveCommand<float>(arguments, std::move(parsed))()
                                        : SolveCommand<double>(arguments, std::move(parsed))();
}

}  // namespace tessera::cli
