#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>

#include "commands/checks.hpp"
#include "commands/commands.hpp"
#include "report/text.hpp"
#include "report/tune_report.hpp"
#include "run/clock.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "system/matrix_statistics.hpp"
#include "system/memory.hpp"
#include "system/right_hand_side.hpp"
#include "system/system.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

std::string text_of_bound(int bound) {
    return bound == 1 ? "jacobi" : "block_jacobi:" + std::to_string(bound);
}

bool is_ldlt(const Trial& trial) { return trial.preconditioner.starts_with("block_ldlt"); }

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
        load();
        const CsrOperator<T> matrix(context_, matrix_);
        matrix_operator_ = &matrix;
        vectors_ = make_vectors<T>(context_, host_, parsed_.right_hand_side, matrix, system_.load);
        x_ = Buffer<T>(context_, matrix_.rows);
        note_fallback(why_not_cuda_, given_.quiet);
        guard_.emplace();
        clock_ = Clock();
        run_trials();
        report();
        if (interrupted()) return exit_interrupted;
        return fastest() != nullptr ? exit_converged : exit_not_converged;
    }

  private:
    void load() {
        Problem::read_system(given_);
        const MatrixFacts facts = find_facts(host_, matrix_);
        symmetric_ = facts.symmetric;
        positive_diagonal_ = facts.positive_diagonal;
        chooses_solver_ = !parsed_.config;
        if (chooses_solver_) {
            parsed_.use(symmetric_ && positive_diagonal_ ? "cg" : "idr:4", "none", given_.format);
        }
        solver_ = parsed_.solver.normalised();
        check_memory(need(Trial("jacobi", solver_)), context_.free_memory(), context_.on_gpu());
        rows_ = matrix_.rows;
        nonzeros_ = matrix_.nonzeros;
        Problem::upload_matrix();
        matrix_is_loaded_ = true;
    }

    MemoryEstimate need(const Trial& trial) const {
        MemoryEstimate memory = estimate_memory(matrix_.rows, matrix_.nonzeros, sizeof(T),
                                                *trial.solver_config, *trial.preconditioner_config);
        if (matrix_is_loaded_ || !context_.on_gpu()) memory.matrix = 0;
        return memory;
    }

    double left() const { return arguments_.seconds - clock_.seconds(); }
    bool must_stop() const { return left() <= 0 || interrupted(); }

    /// The fastest trial that converged; nullptr: none.
    const Trial* fastest() const {
        const Trial* best = best_of(trials_);
        return best != nullptr && best->converged() ? best : nullptr;
    }

    /// Time limit of the next run, its setup included. A run that is stopped early is not repeated,
    /// so the limit exceeds the fastest time by more than the noise of some milliseconds.
    double time_limit_of(const Trial& trial) const {
        const Trial* best = fastest();
        if (best != nullptr) return std::min(left(), 1.35 * best->seconds() + 0.01);
        // Leaves time for other trials; block_ldlt has many.
        return left() / (is_ldlt(trial) ? 4 : 2);
    }

    SolveOptions options(double seconds) const {
        SolveOptions options = solve_options(given_);
        options.max_seconds = seconds;
        return options;
    }

    SolveReport solve(const Trial& trial, const Preconditioner<T>* preconditioner,
                      const SolveOptions& options) {
        fill(context_, T(0), x_.view());
        return trial.solver_config->make(context_, *matrix_operator_, preconditioner)
            ->solve(std::as_const(vectors_.b).view(), x_.view(), options);
    }

    std::unique_ptr<Preconditioner<T>> set_up(const Trial& trial) {
        const std::string report = "; the results so far follow";
        guard_->announce("interrupted while setting up " + trial.preconditioner + report +
                         " after this setup (Ctrl-C again ends at once, without results)");
        const auto config = parse_preconditioner(trial.preconditioner);
        config->use_coordinates(system_.coordinates);
        auto preconditioner = config->make(context_, matrix_);
        context_.synchronize();
        guard_->announce("interrupted while solving with " + trial.preconditioner + report);
        return preconditioner;
    }

    /// Loads kernels and grows the memory pool, without the long setup of block_ldlt.
    void warm_up(const Trial& trial) {
        const auto first = set_up(is_ldlt(trial) ? Trial("none", trial.solver) : trial);
        solve(trial, first.get(), options(std::clamp(left() / 20, 0.0, 0.1)));
    }

    /// Runs setup and solve.
    void run(Trial& trial) {
        const double before = left();
        const bool has_fastest = fastest() != nullptr;
        const double most = time_limit_of(trial);
        const Clock clock;
        const auto preconditioner = set_up(trial);
        const double setup = clock.seconds();
        if (trial.totals.empty()) {
            trial.setup = setup;
            const PreconditionerReport setup_report = preconditioner->report();
            trial.blocks = setup_report.blocks;
            trial.largest_block = setup_report.largest_block;
            if (setup_report.partition != nullptr) {
                trial.block_offsets = copy_to_host(context_, setup_report.partition->block_offsets);
            }
            if (find_same(trial)) return;
            if (!setup_report.unusable.empty()) {
                trial.solve.status = Status::singular_block;
                return;
            }
        }
        trial.setup = std::min(trial.setup, setup);
        const double seconds = std::max(most - setup, 0.0);
        trial.solve = solve(trial, preconditioner.get(), options(seconds));
        trial.cut_short = trial.solve.status == Status::max_seconds && has_fastest && most < before;
        trial.totals.push_back(setup + trial.solve.seconds);
    }

    /// Whether an earlier trial has the same blocks in the same precision.
    bool find_same(Trial& trial) const {
        const auto same = [&](const Trial& other) {
            return !other.totals.empty() && !trial.block_offsets.empty() &&
                   other.block_offsets == trial.block_offsets && other.storage == trial.storage;
        };
        const auto earlier = std::ranges::find_if(trials_, same);
        if (earlier == trials_.end()) return false;
        trial.same_as = earlier->preconditioner;
        return true;
    }

    /// `storage`: storage options of the inverses of equal blocks.
    void run_trial(const std::string& preconditioner, const std::string& solver,
                   const std::string& storage = "") {
        Trial trial(preconditioner + storage, solver);
        trial.storage = storage;
        if (must_stop() || setup_is_too_long(trial)) {
            untried_.push_back(trial);
            return;
        }
        if (need(trial).total() > context_.free_memory()) {
            trial.does_not_fit = true;
            trials_.push_back(trial);
            return;
        }
        if (trials_.empty()) warm_up(trial);
        try {
            run(trial);
        } catch (const OutOfMemory&) {  // The memory of block_ldlt is known late.
            trial.does_not_fit = true;
        }
        const bool again = trial.solve.status == Status::singular_block;
        trials_.push_back(std::move(trial));
        if (trials_.back().converged() && trials_.back().seconds() < 0.05 && !must_stop()) {
            run_again(trials_.back());
        }
        print_trial(trials_.back());
        if (again) run_trial(preconditioner, solver, storage + ",singular=shift");
    }

    /// A setup cannot be interrupted, and that of block_ldlt may take as long as many solves.
    bool setup_is_too_long(const Trial& trial) const {
        if (!is_ldlt(trial)) return false;
        return std::ranges::any_of(
            trials_, [&](const Trial& other) { return is_ldlt(other) && other.setup > left(); });
    }

    /// Block LDL^T without fill and with a small fill, by exact factorisation and by sweeps.
    void run_ldlt_trials() {
        tried_ldlt_ = true;
        const auto with_all = [&](const std::string& solver) {
            const std::string definite =
                parsed_.solver.name() == "minres" ? ",positive_definite" : "";
            for (const char* fill : {"", ",fill=1"}) {
                for (const char* block : {"8", "16"}) {
                    for (const char* method : {"", ",method=level"}) {
                        run_trial(std::string("block_ldlt:") + block + fill + method + definite,
                                  solver);
                    }
                }
            }
        };
        if (!chooses_solver_) return with_all(solver_);
        // sqmr needs the fewest products and vectors, but supports no left side and may break
        // down.
        if (given_.side == "right") with_all("sqmr");
        const Trial* best = fastest();
        if (best == nullptr) return with_all("gmres:25");
        if (is_ldlt(*best)) run_trial(std::string(best->preconditioner), "gmres:25");
    }

    /// Whether no trial converged, and not for lack of time alone, which says nothing about the
    /// matrix.
    bool block_jacobi_failed() const {
        const auto failed = [](const Trial& t) { return t.solve.status != Status::max_seconds; };
        return fastest() == nullptr && std::ranges::any_of(trials_, failed);
    }

    void run_trials() {
        if (symmetric_ && !positive_diagonal_) run_ldlt_trials();
        for (const int bound : arguments_.bounds) {
            run_trial(text_of_bound(bound), solver_);
            if (symmetric_ && block_jacobi_failed() && !tried_ldlt_) run_ldlt_trials();
        }
        std::vector<Trial> ranked = trials_;
        std::erase_if(ranked,
                      [](const Trial& t) { return t.block_offsets.empty() || t.totals.empty(); });
        std::ranges::stable_sort(ranked, {}, [](const Trial& trial) {
            return trial.converged() ? trial.seconds() : std::numeric_limits<double>::infinity();
        });
        // Rounded inverses may be faster for every bound.
        for (const Trial& trial : ranked) {
            run_trial(trial.preconditioner, solver_, ",precision=adaptive");
        }
        rerun_fastest();
    }

    /// Repeats the trials that may be the fastest, in turns: up to fifty runs or half a second
    /// each. The fastest of many runs is near the time on an idle machine.
    void rerun_fastest() {
        for (std::size_t runs = 2; runs <= 50; ++runs) {
            for (Trial& trial : trials_) {
                const Trial* best = fastest();
                if (best == nullptr || must_stop()) return;
                const double bar = (1.05 + 0.6 / double(runs)) * best->seconds();
                const auto done = trial.totals.size();
                if (trial.converged() && trial.seconds() <= bar && done < runs &&
                    double(done) * trial.seconds() < 0.5) {
                    run_again(trial);
                }
            }
        }
    }

    void run_again(Trial& trial) {
        Trial again = trial;
        run(again);
        if (again.converged()) trial = std::move(again);
    }

    void print_trial(const Trial& trial) const {
        if (given_.quiet) return;
        std::string sentence =
            trial.preconditioner + " with " + trial.solver + ": " + outcome_text(trial);
        if (!trial.totals.empty()) {
            sentence += format(", %.3f s, %lld iterations", trial.seconds(),
                               static_cast<long long>(trial.solve.iterations));
        }
        print_note(sentence);
    }

    void report() {
        guard_.reset();
        const InterruptNote note("writing the results");
        TuneReport result{given_,
                          system_.name,
                          rows_,
                          nonzeros_,
                          context_.description(),
                          arguments_.seconds,
                          clock_.seconds(),
                          trials_,
                          untried_,
                          interrupted()};
        if (!given_.json.empty()) write_text(given_.json, to_json(result));
        if (!given_.quiet && given_.json != "-") write_text("-", to_table(result));
    }

    const TuneArguments& arguments_;
    const SolveArguments& given_;
    const Operator<T>* matrix_operator_ = nullptr;
    Index rows_ = 0;
    Offset nonzeros_ = 0;
    bool matrix_is_loaded_ = false;
    bool symmetric_ = false;
    bool positive_diagonal_ = false;
    bool chooses_solver_ = false;
    bool tried_ldlt_ = false;
    std::string solver_;                   ///< Solver for block Jacobi; normalised.
    std::optional<InterruptGuard> guard_;  ///< Set from the first trial on.
    Clock clock_;
    std::vector<Trial> trials_;
    std::vector<Trial> untried_;
};

}  // namespace

int tune(const TuneArguments& arguments) {
    const InterruptNote note("preparing to tune " + arguments.solve.matrix);
    ParsedSolve parsed = check_arguments(arguments.solve);
    if (parsed.refinement) {
        throw InvalidArgument(
            "tune does not try --solver refinement: give another solver or leave it out");
    }
    return arguments.solve.precision == "f32" ? Tuning<float>(arguments, std::move(parsed))()
                                              : Tuning<double>(arguments, std::move(parsed))();
}

}  // namespace tessera::cli
