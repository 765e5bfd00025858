#include <cstdio>
#include <functional>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "commands/singular_blocks.hpp"
#include "report/text.hpp"
#include "run/clock.hpp"
#include "run/interrupt.hpp"
#include "run/monitor.hpp"
#include "system/matrix_statistics.hpp"
#include "system/memory.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

/// Why a singular system was not solved.
std::string singular_system_message(const SolveReport& solve, bool knows_solution) {
    return "The matrix is singular (the relative residual is " +
           format("%.2e", solve.true_relative_residual) + "); " +
           (knows_solution ? "b is in its range only up to rounding: take a larger --rtol"
                           : "most right-hand sides have no solution, one made by "
                             "--rhs solution:random has") +
           ".";
}

/// Prints what the x of a solve that did not converge is, and where it was written.
void note_unconverged_solution(const SolveArguments& arguments) {
    const std::string& vtu = arguments.mesh.vtu;
    std::fprintf(
        stderr,
        "tessera: x is the better one of the last iterate and the start of the last restart; "
        "%s%s\n",
        arguments.out.empty() ? "it was not written (--out FILE)"
                              : ("it was written to " + arguments.out).c_str(),
        vtu.empty() ? "" : ("; " + vtu + " was not written").c_str());
}

/// One run of `tessera solve`, step by step.
template <class T>
class Run {
  public:
    Run(const SolveArguments& arguments, ParsedSolve parsed)
        : arguments_(arguments), problem_(arguments, std::move(parsed)) {
        report_.device = problem_.context.description();
        report_.threads = problem_.context.threads();
    }

    int operator()() {
        load();
        const auto matrix = make_product();
        problem_.vectors =
            make_vectors<T>(problem_.context, problem_.host, problem_.parsed.right_hand_side,
                            *matrix, problem_.system.load);
        problem_.x = arguments_.start.empty()
                         ? Buffer<T>(problem_.context, problem_.matrix.rows)
                         : copy_to_buffer(problem_.context,
                                          read_sized_vector<T>(problem_.host, arguments_.start,
                                                               problem_.matrix.rows, "the start"));
        if (arguments_.start.empty()) fill(problem_.context, T(0), problem_.x.view());
        problem_.context.reset_phases();
        problem_.context.time_phases();
        if (problem_.parsed.refinement) {
            refine(*matrix);
        } else {
            iterate(*matrix);
        }
        finish();
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
        problem_.load(arguments_);
        report_.seconds.read = clock.seconds();
        const FormatOptions& format = problem_.parsed.format;
        report_.matrix = {problem_.system.name, problem_.matrix.rows, problem_.matrix.nonzeros,
                          to_string(format)};
        if (!problem_.parsed.config && !problem_.parsed.refinement) {
            problem_.parsed.resolve_solver(
                automatic_solver(looks_positive_definite(problem_.host, problem_.matrix)));
        }
        report_.solver = problem_.parsed.solver.normalised();
        const auto& refined = problem_.parsed.refinement;
        MemoryEstimate need = estimate_memory(
            problem_.matrix.rows, problem_.matrix.nonzeros, sizeof(T),
            refined ? *refined->inner : *problem_.parsed.config, *problem_.parsed.preconditioner);
        if (!problem_.context.on_gpu()) need.matrix = 0;  // It is in memory already.
        if (refined) {
            need.matrix += 8 * (Offset(problem_.matrix.rows) + 1 + problem_.matrix.nonzeros);
        }
        if (format.format != MatrixFormat::csr) {
            need.matrix += format_statistics(problem_.host, problem_.matrix, format).bytes;
        }
        check_memory(need, problem_.context.free_memory(), problem_.context.on_gpu());
        problem_.upload();
    }

    std::unique_ptr<Operator<T>> make_product() {
        FormatOptions format = problem_.parsed.format;
        if (format.format == MatrixFormat::csr) {
            return make_operator<T>(problem_.context, problem_.matrix, format);
        }
        auto sliced = SlicedMatrix<T>::from_csr(problem_.context, problem_.matrix, format);
        format.block = sliced.options().block;
        report_.matrix.format = to_string(format);
        return std::make_unique<SlicedMatrix<T>>(std::move(sliced));
    }

    void iterate(const Operator<T>& matrix) {
        precondition<T>(problem_.matrix, [&](const Operator<T>* preconditioner) {
            run([&](const SolveOptions& options) {
                return problem_.parsed.config->solve(problem_.context, matrix, preconditioner,
                                                     std::as_const(problem_.vectors.b).view(),
                                                     problem_.x.view(), options);
            });
        });
    }

    /// With a preconditioner of the matrix in float.
    void refine([[maybe_unused]] const Operator<T>& matrix) {
        if constexpr (std::is_same_v<T, double>) {
            const CsrMatrix<float> low = rounded_to_float(problem_.context, problem_.matrix);
            const auto product =
                make_operator<float>(problem_.context, low.view(), problem_.parsed.format);
            precondition<float>(low.view(), [&](const Operator<float>* preconditioner) {
                run([&](const SolveOptions& options) {
                    return refinement(problem_.context, matrix, *product, preconditioner,
                                      std::as_const(problem_.vectors.b).view(), problem_.x.view(),
                                      *problem_.parsed.refinement, options);
                });
            });
        }
    }

    /// Sets up the preconditioner of a matrix and calls `use` with it; if it cannot be used, the
    /// report says why.
    template <class P>
    void precondition(const CsrView<P>& matrix,
                      const std::function<void(const Operator<P>*)>& use) {
        std::unique_ptr<Preconditioner<P>> preconditioner;
        {
            const InterruptNote note("setting up " + arguments_.preconditioner);
            preconditioner = problem_.parsed.preconditioner->make(problem_.context, matrix);
        }
        report_.preconditioner = preconditioner ? preconditioner->describe() : "none";
        if (preconditioner) describe(*preconditioner);
        if (report_.setup.overflow) {
            throw InvalidArgument(
                "the inverse of a block has a value outside the range of the precision in which "
                "it is stored; take precision=adaptive, or scale the system");
        }
        // All arguments and files are valid from here on.
        note_fallback(problem_.why_not_cuda, arguments_.quiet);
        if (!report_.setup.unusable.empty()) {
            report_.solve = unsolved_report(report_.setup);
            return;
        }
        use(preconditioner.get());
        if (report_.solve.recoveries > 0) describe(*preconditioner);
    }

    template <class P>
    void describe(const Preconditioner<P>& preconditioner) {
        report_.setup = preconditioner.report();
        report_.setup.partition = nullptr;  // The preconditioner is destroyed before the report.
        report_.singular_blocks = preconditioner.singular_blocks();
    }

    void run(const std::function<SolveReport(const SolveOptions&)>& solve) {
        Monitor monitor(arguments_.quiet ? "none" : arguments_.monitor);
        const InterruptGuard guard;
        SolveOptions options = solve_options(arguments_);
        options.observer = [&monitor](const Progress& progress) {
            monitor.show(progress);
            return !interrupted();
        };
        report_.solve = solve(options);
        monitor.finish();
        solved_ = true;
        const Status status = report_.solve.status;
        const bool ended_by_itself = status == Status::breakdown || status == Status::stagnated ||
                                     status == Status::accuracy_lost ||
                                     status == Status::max_iterations;
        if (problem_.system.known_singular && ended_by_itself) {
            report_.solve.message = singular_system_message(
                report_.solve, problem_.parsed.right_hand_side.knows_solution());
        }
    }

    /// Completes the report and writes all requested output.
    void finish() {
        const InterruptNote note("writing the results");
        report_.seconds.solve = report_.solve.seconds;
        report_.phases = problem_.context.phases();
        for (const PhaseRecord& phase : report_.phases) {
            if (phase.name == "find_blocks") report_.seconds.find_blocks += phase.seconds;
            if (phase.name == "setup" || phase.name == "bounds")
                report_.seconds.setup += phase.seconds;
        }
        report_.peak_memory_bytes = problem_.context.peak_memory_bytes();
        const bool wants_report = !arguments_.quiet || !arguments_.json.empty();
        std::vector<T> x;
        if (solved_ && (problem_.parsed.right_hand_side.knows_solution() ||
                        !arguments_.out.empty() || problem_.system.structure)) {
            x = copy_to_host(problem_.context, problem_.x);
        }
        if (solved_ && problem_.parsed.right_hand_side.knows_solution()) {
            report_.forward_error =
                forward_error(x, copy_to_host(problem_.context, problem_.vectors.solution));
        }
        if (wants_report) measure_copy_bandwidth();
        std::string failures;
        if (report_.solve.status == Status::converged && problem_.system.structure) {
            add_structure_results(x, failures);
        }
        write_results(x, failures);
        if (solved_ && report_.solve.status != Status::converged && !arguments_.quiet) {
            note_unconverged_solution(arguments_);
        }
    }

    /// Adds displacements and stresses to the report and writes the VTU file; a full disk is
    /// reported with the other failures.
    void add_structure_results(const std::vector<T>& x, std::string& failures) {
        const std::vector<double> solution(x.begin(), x.end());
        const Structure& structure = *problem_.system.structure;
        try {
            report_.structure =
                structure_results(problem_.host, structure, solution, arguments_.mesh.vtu);
        } catch (const Error& error) {
            report_.structure = structure_results(problem_.host, structure, solution, "");
            failures = error.what();
        }
    }

    /// 0 (unknown) if its buffers do not fit into memory beside the system.
    void measure_copy_bandwidth() {
        try {
            report_.copy_bandwidth = problem_.context.copy_bandwidth();
        } catch (const OutOfMemory&) {
            report_.copy_bandwidth = 0;
        }
    }

    /// Writes all that can be written, then throws if something could not, so that one full disk
    /// does not cost results that took long to compute.
    void write_results(const std::vector<T>& x, std::string failures) const {
        const auto attempt = [&failures](bool wanted, const std::function<void()>& write) {
            if (!wanted) return;
            try {
                write();
            } catch (const Error& error) {
                failures += (failures.empty() ? "" : "; ") + std::string(error.what());
            }
        };
        attempt(!arguments_.json.empty(), [&] { write_text(arguments_.json, to_json(report_)); });
        attempt(!arguments_.quiet && arguments_.json != "-",
                [&] { write_text("-", to_table(report_)); });
        attempt(solved_ && !arguments_.out.empty(), [&] {
            const WritingNote note(arguments_.out);
            io::write_vector<T>(problem_.host, arguments_.out, x);
        });
        if (!failures.empty()) throw InvalidArgument(failures);
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
    SolveProblem<T> problem_;
    bool solved_ = false;
    RunReport report_;
};

}  // namespace

int solve(const SolveArguments& arguments) {
    const InterruptNote note("preparing to solve " + arguments.matrix);
    ParsedSolve parsed = check_arguments(arguments);
    return arguments.precision == "f32" ? Run<float>(arguments, std::move(parsed))()
                                        : Run<double>(arguments, std::move(parsed))();
}

}  // namespace tessera::cli
