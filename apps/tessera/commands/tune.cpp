#include <algorithm>
#include <cstdio>
#include <optional>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "report/text.hpp"
#include "report/tune_report.hpp"
#include "run/clock.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "run/output_failures.hpp"
#include "run/saved_options.hpp"
#include "system/memory.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

/// One run of `tessera tune`, step by step.
template <class T>
class Tuning : SolveProblem<T> {
    using Problem = SolveProblem<T>;
    using Problem::context_, Problem::host_, Problem::matrix_, Problem::parsed_, Problem::system_;
    using Problem::vectors_, Problem::why_not_cuda_, Problem::x_;

  public:
    Tuning(const TuneArguments& arguments, ParsedSolve parsed)
        : Problem(arguments.solve, std::move(parsed)),
          arguments_(arguments),
          given_(arguments.solve) {}

    int operator()() {
        Problem::read_system(given_);
        take_first_case();
        Problem::upload_matrix();
        vectors_ = make_vectors<T>(context_, host_, parsed_.right_hand_side,
                                   CsrOperator<T>(context_, matrix_), system_.load);
        if (vectors_.b.size() != matrix_.rows) {
            throw InvalidArgument("tune measures one right-hand side; the file has several");
        }
        x_ = Buffer<T>(context_, matrix_.rows);
        note_fallback(why_not_cuda_, given_.quiet);
        guard_.emplace();
        guard_->announce("interrupted before the first trial; the results so far follow");
        clock_ = Clock();
        if (!given_.quiet) {
            print_note(
                format("this takes at most about %.3g s; Ctrl-C ends it with the results so "
                       "far",
                       arguments_.seconds));
        }
        run_trials();
        return finish();
    }

  private:
    /// Load cases have one matrix: the fastest way for one is that for all.
    void take_first_case() {
        if (!system_.structure || system_.structure->cases.size() < 2) return;
        const std::vector<LoadCase>& cases = system_.structure->cases;
        system_.load.resize(system_.load.size() / cases.size());
        if (!given_.quiet) print_note("trials solve the first load case, '" + cases[0].name + "'");
    }

    double left() const { return arguments_.seconds - clock_.seconds(); }
    bool must_stop() const { return left() <= 0 || interrupted(); }

    /// The fastest trial that converged; nullptr: none.
    const Trial* fastest() const {
        const Trial* best = best_of(trials_);
        return best != nullptr && best->converged() ? best : nullptr;
    }

    /// Every way to solve the system: what auto does, then the others, as far as time allows.
    void run_trials() {
        const std::string &solver = given_.solver, &preconditioner = given_.preconditioner;
        if (solver == "auto" || preconditioner == "auto" || given_.format == "auto") {
            Trial choice({solver, preconditioner, given_.format, 0, ""});
            choice.is_auto = true;
            run_trial(std::move(choice));
        }
        MatrixFacts facts = find_facts(context_, matrix_, *system_.coordinates);
        const auto run_all = [&] {
            for (Attempt& way : candidates(facts, solver, preconditioner, given_.format)) {
                run_trial(Trial(std::move(way)));
            }
        };
        run_all();
        if (facts.symmetric && facts.positive_diagonal && fastest() == nullptr && !must_stop()) {
            facts.positive_diagonal = false;  // It may be indefinite all the same.
            run_all();
        }
        repeat_fastest();
    }

    /// Runs a trial once, a short one twice: the first run loads kernels and grows memory pools.
    void run_trial(Trial trial) {
        if (must_stop()) {
            untried_.push_back(std::move(trial));
            return;
        }
        try {
            run(trial);
        } catch (const OutOfMemory&) {
            trial.failure = "does not fit in memory";
        } catch (const InvalidArgument& error) {  // For example sqmr with --side left.
            trial.failure = error.what();
        }
        if (trial.converged() && trial.seconds() < 0.05 && !must_stop()) run_again(trial);
        print_trial(trial);
        trials_.push_back(std::move(trial));
    }

    /// Time limit of the next run, its setup included. A run that is stopped early is not repeated,
    /// so the limit exceeds the fastest time by more than the noise of some milliseconds.
    double time_limit(const Trial& trial) const {
        const Trial* best = fastest();
        if (best != nullptr && !trial.is_auto) {
            return std::min(left(), 1.35 * best->seconds() + 0.01);
        }
        return left() / 2;  // Leaves time for others.
    }

    /// The setup, in at most `seconds` and until Ctrl-C; returns how many are left.
    double set_up(Solver<T>& solver, double seconds) {
        const TimeLimit limit(seconds, interrupted);
        try {
            solver.setup(matrix_);
        } catch (const Stopped&) {
        }
        return interrupted() ? 0 : limit.seconds_left();
    }

    /// Setup and solve.
    void run(Trial& trial) {
        const Attempt& way = trial.way;
        const std::string report = "; the results so far follow";
        guard_->announce("interrupted while setting up " + way.preconditioner + report);
        fill(context_, T(0), x_.view());
        context_.synchronize();
        const bool has_fastest = fastest() != nullptr;
        const double before = left(), most = time_limit(trial);
        const Clock clock;
        Solver<T> solver(context_, trial.is_auto ? parsed_.method : parsed_.method.completed(way));
        solver.use_coordinates(system_.coordinates);
        if (!system_.near_null->values.empty()) solver.use_near_null_space(system_.near_null);
        solver.on_attempt([&](const AttemptEvent& event) {
            if (event.kind != AttemptEvent::Kind::setup) return;
            check_memory(event.memory, context_.free_memory(), context_.on_gpu());
        });
        const double left_for_solve = set_up(solver, most);
        const double setup = clock.seconds();
        guard_->announce("interrupted while solving with " + way.preconditioner + report);
        SolveOptions options = solve_options(given_);
        options.max_seconds = left_for_solve;
        trial.solve = solver.solve(std::as_const(vectors_.b).view(), x_.view(), options);
        const double total = clock.seconds();
        const std::vector<Attempt> attempts = solver.attempts();  // None without time to choose.
        if (trial.is_auto && !attempts.empty()) {
            trial.way = attempts[std::size_t(solver.attempt())];
        }
        if (trial.totals.empty() || total < trial.seconds()) trial.setup = setup;
        trial.totals.push_back(total);
        trial.cut_short = trial.solve.status == Status::max_seconds && has_fastest && most < before;
    }

    void run_again(Trial& trial) {
        Trial again = trial;
        run(again);
        if (again.converged()) trial = std::move(again);
    }

    /// Repeats the two fastest trials and auto in turns, so that a disturbance of the machine does
    /// not decide: at least three runs of each, at most twenty or 0.3 seconds. The fastest of
    /// several runs is near the time on an idle machine.
    void repeat_fastest() {
        for (std::size_t runs = 2; runs <= 20; ++runs) {
            for (Trial* trial : best_two_and_auto()) {
                if (must_stop()) return;
                const auto done = trial->totals.size();
                if (done < runs && (done < 3 || double(done) * trial->seconds() < 0.3)) {
                    run_again(*trial);
                }
            }
        }
    }

    std::vector<Trial*> best_two_and_auto() {
        std::vector<Trial*> all;
        for (Trial& trial : trials_) {
            if (trial.converged()) all.push_back(&trial);
        }
        std::ranges::stable_sort(all, {}, [](const Trial* trial) { return trial->seconds(); });
        std::vector<Trial*> result;
        for (Trial* trial : all) {
            if (result.size() < 2 || trial->is_auto) result.push_back(trial);
        }
        return result;
    }

    void print_trial(const Trial& trial) const {
        if (given_.quiet) return;
        std::string sentence = (trial.is_auto ? "auto: " : "") + trial.way.solver + " with " +
                               trial.way.preconditioner + ", format " + trial.way.format + ": " +
                               outcome_text(trial);
        if (!trial.totals.empty()) {
            sentence +=
                format(", %.4f s, ", trial.seconds()) + plural(trial.solve.iterations, "iteration");
        }
        print_note(sentence);
    }

    int finish() {
        guard_.reset();
        const InterruptNote note("writing the results");
        const TuneReport result{given_,
                                system_.name,
                                matrix_.rows,
                                matrix_.nonzeros,
                                context_.description(),
                                arguments_.seconds,
                                clock_.seconds(),
                                trials_,
                                untried_,
                                interrupted()};
        const Trial* best = fastest();
        Failures failures;
        failures.attempt(!given_.json.empty(), [&] { write_text(given_.json, to_json(result)); });
        failures.attempt(!given_.quiet && given_.json != "-",
                         [&] { write_text("-", to_table(result)); });
        failures.attempt(best != nullptr && !arguments_.save.empty(), [&] {
            save_options(arguments_.save,
                         {best->given.solver, best->given.preconditioner, best->given.format,
                          given_.side, system_.name, context_.on_gpu() ? "cuda" : "cpu"});
        });
        const int failed = failures.report();
        if (interrupted()) return exit_interrupted;
        if (failed != exit_converged) return failed;
        return best != nullptr ? exit_converged : exit_not_converged;
    }

    const TuneArguments& arguments_;
    const SolveArguments& given_;
    std::optional<InterruptGuard> guard_;  ///< Set from the first trial on.
    Clock clock_;
    std::vector<Trial> trials_;
    std::vector<Trial> untried_;
};

}  // namespace

int tune(const TuneArguments& arguments) {
    const InterruptNote note("preparing to tune " + arguments.solve.matrix);
    ParsedSolve parsed = check_arguments(
        arguments.solve, arguments.save.empty() ? "" : new_saved_options_file(arguments.save));
    return arguments.solve.precision == "f32" ? Tuning<float>(arguments, std::move(parsed))()
                                              : Tuning<double>(arguments, std::move(parsed))();
}

}  // namespace tessera::cli
