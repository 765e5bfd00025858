#include <algorithm>
#include <cctype>
#include <limits>

#include "base/concat.hpp"
#include "base/phases.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/at_work.hpp"
#include "krylov/attempts.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "krylov/reduced_solve.hpp"
#include "krylov/rules.hpp"
#include "krylov/solver/attempt_engine.hpp"

// The solving half of AttemptEngine.
namespace tessera {

namespace {

/// Ends the solves of right-hand sides that fail Attempt::trial, and marks these.
std::function<bool(const Progress&)> on_trial(std::function<bool(const Progress&)> observer,
                                              const Attempt& attempt, std::vector<bool>& failed) {
    const Offset trial = attempt.trial;
    // In long trials, of elastic bodies, the residual grows at first:
    //   cantilever3d:10,length=2  4.3 after 40, 0.8 after 60, 132 iterations in all
    // Others of cg, the largest of the first 5, and after 10 iterations:
    //   ex13, bcsstk24, mhd3200b   100 to 1500      exact factors; above 30 after the first
    //   shell:60                   3.8, 3.3         116 iterations
    //   poisson2d:300              9.8, 9.3         exact factors
    //   diffusion3d:16             0.9, 0.3         39
    const Offset first_check = trial >= 120 ? 60 : attempt.solver == "cg" ? 1 : 10;
    struct State {
        double smallest = 1;
        bool has_passed = false;
    };
    std::vector<State> states(failed.size());
    return [observer = std::move(observer), trial, first_check, &failed,
            states](const Progress& progress) mutable {
        if (observer && !observer(progress)) return false;
        const auto v = std::size_t(progress.vector);
        State& state = states[v];
        const double residual = progress.relative_residual;
        state.smallest = std::min(state.smallest, residual);
        if (state.has_passed || progress.iterations < first_check) return true;
        const bool is_over = progress.iterations >= trial;
        const double max_growth = progress.iterations < 10 ? 15 : 4;
        failed[v] = is_over ? residual > 0.01 : residual > max_growth && state.smallest > 0.99;
        state.has_passed = is_over && !failed[v];
        return !failed[v];
    };
}

/// Whether a solve failed, and not for NaN in b or by the limits of the caller.
bool may_be_due_to_matrix(Status status) {
    return !is_solved(status) && status != Status::non_finite && status != Status::interrupted &&
           status != Status::max_seconds;
}

}  // namespace

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve_once(Vectors<const T> b, Vectors<T> x,
                                                      const SolveOptions& options) {
    if (!system_->report().unusable.empty()) {
        check(b, x, options);
        return std::vector<SolveReport>(std::size_t(b.count), unsolved_report(system_->report()));
    }
    std::vector<SolveReport> solved =
        is_reduced() ? solve_by_reduction(b, x, options) : iterative_->solve(b, x, options);
    const auto changed = [](const SolveReport& one) { return one.recoveries > 0; };
    // Exact factors on a GPU may have failed, and those of the host have another report.
    const bool may_change = is_exact() && context_.on_gpu();
    if (may_change || std::ranges::any_of(solved, changed)) system_->take_report();
    for (SolveReport& report : solved) explain_asymmetry(report);
    return solved;
}

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve_by_reduction(Vectors<const T> b, Vectors<T> x,
                                                              const SolveOptions& options) {
    std::vector<SolveReport> solved;
    for (int j = 0; j < b.count; ++j) {
        SolveOptions of_one = options;
        if (options.observer) {
            of_one.observer = [&, j](Progress progress) {
                progress.vector = j;
                return options.observer(progress);
            };
        }
        solved.push_back(solve_reduced<T>(context_, *reduced_, *iterative_, b[j], x[j], of_one));
    }
    return solved;
}

template <class T>
void AttemptEngine<T>::check(Vectors<const T> b, Vectors<T> x, const SolveOptions& options) const {
    if (!is_ready()) {
        return check_solve<T>(context_, CsrOperator<T>(context_, given_matrix_), b, x, options);
    }
    const Operator<T>& matrix = is_reduced() ? reduced_->given() : system_->matrix();
    check_solve<T>(context_, matrix, b, x, options);
}

/// Does the work of a setup within a solve, in at most `seconds` and under the limits of the
/// caller. Where these end it, the next solve goes on with it.
template <class T>
template <class Work>
auto AttemptEngine<T>::set_up_within(double seconds, Work&& work) -> SetupInSolve {
    const double start = now();
    const UseTimeLimit of_caller(time_limit_);
    const TimeLimit limit(seconds);
    try {
        work();
        return {now() - start, {}};
    } catch (const Stopped& stopped) {
        drop();
        was_stopped_ = true;
        return {now() - start, stopped.interrupted() ? Status::interrupted : Status::max_seconds};
    } catch (...) {
        if (was_ended_from_outside()) {
            drop();
            was_stopped_ = true;
        }
        throw;
    }
}

/// The report of a right-hand side whose solve ended in a setup.
template <class T>
void AttemptEngine<T>::end_in_setup(SolveReport& report, Status status, std::span<const T> b,
                                    std::span<const T> x, const SolveOptions& options) const {
    if (report.operator_applications == 0 && given_operator_ == nullptr) {
        const SolutionErrors errors = solution_errors<T>(context_, given_matrix_, b, x);
        report.true_relative_residual =
            errors.residual > 0 ? errors.residual / errors.right_hand_side : 0;
    }
    report.status = status;
    report.message = status_message(report, {}, options.rtol.value_or(default_rtol<T>), 0);
}

/// Chooses anew for solves on the other side; nothing is set up where the attempts are the same.
template <class T>
void AttemptEngine<T>::change_side() {
    choose_rest();
    left_ = !left_;
    Plan chosen = choose_attempts(left_);
    if (!std::ranges::equal(chosen.attempts, attempts_, have_same_words)) {
        use_first_of(std::move(chosen));
    }
}

/// Where residuals are small in norm alone, exact factors are next: they are refined row by row.
///   contact with friction, 40,000 rows  after all others 5.3 s  next 0.4 s
template <class T>
void AttemptEngine<T>::bring_exact_factors_next() {
    const auto next = std::ptrdiff_t(attempt_ + 1);
    const auto is_exact = [](const Attempt& attempt) {
        return has_name(attempt.preconditioner, "direct");
    };
    const auto found = std::find_if(attempts_.begin() + next, attempts_.end(), is_exact);
    if (found == attempts_.end()) return;
    const auto end = found - attempts_.begin() + 1;
    std::rotate(attempts_.begin() + next, found, found + 1);
    std::rotate(on_reduced_.begin() + next, on_reduced_.begin() + end - 1,
                on_reduced_.begin() + end);
}

/// Where cg broke down with the preconditioner that was named, a solver for indefinite matrices
/// follows.
template <class T>
void AttemptEngine<T>::add_solver_for_indefinite() {
    const MethodConfig& given = given_method_;
    const std::string& solver = attempts_[attempt_].solver;
    const bool is_definite = solver == "cg" || solver == "fcg";
    if (!given.preconditioner || given.solver || !is_definite || has_next()) return;
    MatrixFacts indefinite = facts();
    indefinite.positive_diagonal = false;
    Attempt attempt =
        choose(indefinite, given.solver_text, given.preconditioner_text, given.format_text, left_)
            .front();
    attempt.reason = "the matrix is not positive definite";
    attempts_.push_back(std::move(attempt));
    on_reduced_.push_back(is_reduced());
}

/// Sets up the next attempt, if there is one that can be set up; else the message of each report
/// says why not, and the attempt in use stays.
template <class T>
bool AttemptEngine<T>::set_up_next_attempt(const SolveReport& failed,
                                           std::vector<SolveReport>& total) {
    if (failed.status == Status::breakdown) add_solver_for_indefinite();
    if (!has_next()) return false;
    if (failed.status == Status::unbalanced) bring_exact_factors_next();
    const std::size_t before = attempt_;
    try {
        leave_attempt(outcome_of(failed));
        set_up_attempt();
        return true;
    } catch (const Error& error) {  // Values of an update may fit no later attempt.
        if (!worth_another(error)) throw;
        attempt_ = before;
        make_attempt();
        notify({AttemptEvent::Kind::ready, attempts_[attempt_]});
        for (SolveReport& report : total) {
            if (is_solved(report.status)) continue;
            report.message += std::string(" No other way can be set up: ") + error.what() + ".";
        }
        return false;
    }
}

/// Whether corrections by a nearly symmetric matrix do not reach the tolerance, though others may;
/// then the other attempts with it are left out.
template <class T>
bool AttemptEngine<T>::is_too_far(const SolveReport& report) {
    if (!is_reduced() || report.status != Status::accuracy_lost ||
        !reduced_->reduction().solves_mean)
        return false;
    forget_reduced_attempts(attempt_ + 1);
    return attempt_ + 1 < attempts_.size();
}

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve(Vectors<const T> b, Vectors<T> x,
                                                 const SolveOptions& options) {
    const AtWork guard(at_work_);
    require_matrix("Solver::solve");
    // Iterations end by the options; only setups look at the limits of the caller.
    const UseTimeLimit none(nullptr);
    time_limit_ = none.before();
    const double start = now();
    check(b, x, options);
    const SetupInSolve setup = set_up_within(options.max_seconds, [&] {
        set_up_if_stopped();
        if (is_automatic() && options.left_preconditioning != left_) change_side();
    });
    std::vector<SolveReport> reports(std::size_t(b.count));
    if (setup.stopped_by) {
        for (int j = 0; j < b.count; ++j) {
            end_in_setup(reports[std::size_t(j)], *setup.stopped_by, b[j], x[j], options);
        }
    } else {
        SolveOptions rest = options;
        rest.max_seconds = std::max(options.max_seconds - setup.seconds, 0.0);
        reports = null_space_.vectors() == 0 ? solve_by_attempts(b, x, rest)
                                             : solve_projected(b, x, rest);
    }
    for (int j = 0; j < b.count; ++j) {
        reports[std::size_t(j)].setup_seconds += setup.seconds;
        explain_non_finite(b[j], x[j], reports[std::size_t(j)]);
    }
    // Judging the solution takes time, too.
    if (b.count == 1) reports[0].seconds = now() - start - reports[0].setup_seconds;
    return reports;
}

/// Solves without the part of b in the null space.
template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve_projected(Vectors<const T> b, Vectors<T> x,
                                                           const SolveOptions& options) {
    constexpr double epsilon = double(std::numeric_limits<T>::epsilon());
    const Scratch<T> kept(context_, b.size * b.count);
    const Vectors<T> right(kept.data(), b.size, b.count, b.size);
    std::vector<double> parts;
    const NullSpace<T>& left = left_null_space_.vectors() > 0 ? left_null_space_ : null_space_;
    for (int j = 0; j < b.count; ++j) {
        copy<T>(context_, b[j], right[j]);
        const double size = norm(context_, b[j]);
        null_space_.remove_from(context_, x[j]);
        const double removed = left.remove_from(context_, right[j]);
        parts.push_back(size > 0 ? removed / size : 0);
        // What remains of a b in the null space is rounding error, and so is what is removed of one
        // outside, but more than that in rows that are small.
        if (norm(context_, std::span<const T>(right[j])) <= 100 * epsilon * size) {
            fill(context_, T(0), right[j]);
        } else if (removed <= 100 * epsilon * size) {
            copy<T>(context_, b[j], right[j]);
        }
    }
    std::vector<SolveReport> reports = solve_by_attempts(right, x, options);
    for (int j = 0; j < b.count; ++j) {
        SolveReport& report = reports[std::size_t(j)];
        null_space_.remove_from(context_, x[j]);
        report.null_space_part = parts[std::size_t(j)];
        const bool was_named = !given_null_->values.empty();
        if (was_named || report.null_space_part <= 1e-3 || !is_solved(report.status)) continue;
        report.status = Status::least_squares;
        report.true_relative_residual = report.null_space_part;
        report.message = status_message(report, {}, 0, 0);
    }
    return reports;
}

/// Whether another attempt may solve with a symmetric matrix that exact factors found singular:
/// minres has a solution if there is one, and LU has other scalings and pivots.
template <class T>
bool AttemptEngine<T>::has_attempt_for_singular() {
    const bool chooses_both = !given_method_.solver && !given_method_.preconditioner;
    if (!is_automatic() || !chooses_both || !facts().symmetric) return false;
    if (std::ranges::any_of(attempts_, is_by_lu)) return false;
    const std::size_t next = attempt_ + 1;
    if (is_exact() && has_next() && attempts_[next].solver == "minres") return true;
    if (!may_lu_solve_) return false;
    attempts_.insert(attempts_.begin() + std::ptrdiff_t(next), lu_of_symmetric(facts()));
    on_reduced_.insert(on_reduced_.begin() + std::ptrdiff_t(next), is_reduced());
    return true;
}

/// Whether exact factors follow a trial: they need no x that is judged and corrected.
template <class T>
bool AttemptEngine<T>::is_trial_before_factors() const {
    return attempts_[attempt_].trial > 0 && attempt_ + 1 < attempts_.size() && !is_reduced() &&
           has_name(attempts_[attempt_ + 1].preconditioner, "direct");
}

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve_by_attempts(Vectors<const T> b, Vectors<T> x,
                                                             const SolveOptions& options) {
    iterations_ = 0;
    std::vector<SolveReport> total(std::size_t(b.count));
    SolveReport longest;  // That with the most iterations.
    while (true) {
        const Attempt current = attempts_[attempt_];
        SolveOptions remaining = attempt_options(options, current, longest);
        std::vector<bool> failed_trial(total.size(), false);
        if (current.trial > 0) {
            remaining.observer = on_trial(remaining.observer, current, failed_trial);
        }
        const bool may_rise = is_exact() || is_reduced(), is_trial = is_trial_before_factors();
        const Scratch<T> starts(context_, may_rise || is_trial ? x.size * x.count : 0);
        const Vectors<T> start(starts.data(), x.size, x.count, x.size);
        for (int j = 0; (may_rise || is_trial) && j < x.count; ++j) {
            copy(context_, std::span<const T>(x[j]), start[j]);
        }
        auto solved = solve_once(b, x, remaining);
        // Judging may solve again.
        std::vector<std::optional<SolutionErrors>> measured(total.size());
        if (refinement_ != nullptr && !is_reduced()) measured = refinement_->errors();
        measured.resize(total.size());
        const SolveReport *failed = nullptr, *singular = nullptr;
        for (std::size_t j = 0; j < total.size(); ++j) {
            if (failed_trial[j]) solved[j].status = Status::stagnated;
            if (failed_trial[j] && is_trial) {
                const SolveReport& report = solved[j];
                if (!(report.true_relative_residual < report.residuals.front())) {
                    copy(context_, std::span<const T>(start[int(j)]), x[int(j)]);
                }
            } else {
                solved[j] =
                    judged(b[int(j)], x[int(j)], remaining, std::move(solved[j]), measured[j]);
            }
            if (may_rise) {
                take_start_back(b[int(j)], start[int(j)], x[int(j)], remaining, solved[j]);
            }
            if (std::string why = singularity_of(solved[j]); !why.empty()) {
                found_singular_ = std::move(why);
                may_lu_solve_ = may_be_solved_by_lu(b[int(j)]);
            }
            if (!found_singular_.empty() && may_be_due_to_matrix(solved[j].status)) {
                call_singular(solved[j], found_singular_);
                singular = &solved[j];
            }
            if (worth_another(solved[j], current.max_iterations) || is_too_far(solved[j])) {
                failed = &solved[j];
            }
            total[j] = joined(total[j], solved[j]);
            if (total[j].iterations >= longest.iterations) longest = total[j];
        }
        if (singular != nullptr && has_attempt_for_singular()) {
            failed = singular;
            for (int j = 0; may_rise && j < x.count; ++j) {
                if (solved[std::size_t(j)].status != Status::singular) continue;
                copy(context_, std::span<const T>(start[j]), x[j]);
            }
        }
        const bool are_all_solved = std::ranges::all_of(
            total, [](const SolveReport& report) { return is_solved(report.status); });
        if (are_all_solved) {
            has_solved_ = true;
            retries_.solved_by(current);
            if (is_by_lu(current)) found_singular_.clear();
        }
        if (is_exact() && !are_all_solved) have_factors_failed_[is_reduced() ? 1 : 0] = true;
        iterations_ = longest.iterations;
        const double seconds = options.max_seconds - longest.seconds - longest.setup_seconds;
        const bool has_more = iterations_ < options.max_iterations && seconds > 0;
        if (failed == nullptr || !has_more) return total;
        bool goes_on = true;
        const SetupInSolve setup = set_up_within(seconds, [&] {
            goes_on = choose_anew_if_changed() || set_up_next_attempt(*failed, total);
        });
        for (int j = 0; j < b.count; ++j) {
            SolveReport& report = total[std::size_t(j)];
            report.setup_seconds += setup.seconds;
            if (!setup.stopped_by || is_solved(report.status)) continue;
            end_in_setup(report, *setup.stopped_by, b[j], x[j], options);
        }
        if (setup.stopped_by || !goes_on) return total;
        longest.setup_seconds = total[0].setup_seconds;
    }
}

template std::vector<SolveReport> AttemptEngine<float>::solve(Vectors<const float>, Vectors<float>,
                                                              const SolveOptions&);
template std::vector<SolveReport> AttemptEngine<double>::solve(Vectors<const double>,
                                                               Vectors<double>,
                                                               const SolveOptions&);

}  // namespace tessera
