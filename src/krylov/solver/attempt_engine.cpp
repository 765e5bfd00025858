#include "krylov/solver/attempt_engine.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <new>

#include "base/checks.hpp"
#include "krylov/at_work.hpp"
#include "krylov/messages.hpp"
#include "krylov/rules.hpp"
#include "krylov/solver/attempts.hpp"

namespace tessera {

namespace {

/// Whether a method ended with an x that may be better or worse than it knows.
bool can_be_judged(Status status) {
    switch (status) {
        case Status::converged:
        case Status::max_iterations:
        case Status::accuracy_lost:
        case Status::stagnated:
        case Status::breakdown:
            return true;
        default:
            return false;
    }
}

/// The report of a solve that is not started because a preconditioner cannot be used.
SolveReport unsolved_report(const PreconditionerReport& setup) {
    const double unknown = std::numeric_limits<double>::quiet_NaN();
    SolveReport report;
    report.relative_residual = unknown;
    report.true_relative_residual = unknown;
    if (setup.first_non_finite_row >= 0) {
        report.status = Status::non_finite;
        report.message = "row " + std::to_string(setup.first_non_finite_row) +
                         " of the matrix has a NaN or infinity, so the solve was not started";
        return report;
    }
    report.status = Status::singular_block;
    report.message =
        setup.unusable + (setup.blocks > 0
                              ? ", so the solve was not started; use singular=shift"
                              : " and the solve was not started; use the solver idr with the "
                                "preconditioner block_jacobi");
    return report;
}

}  // namespace

template <class T>
void AttemptEngine<T>::check(const CsrView<T>& matrix, const char* function) const {
    check_matrix(function, matrix);
    check_memory(context_, function, matrix);
    check_square(function, matrix.rows, matrix.columns);
    Offset end = 0;
    copy_to_host(context_, matrix.row_offsets_span().last(1), std::span<Offset>(&end, 1));
    require_argument("matrix", end == matrix.nonzeros, function, ": the row offsets end at ", end,
                     ", not at the ", matrix.nonzeros, " nonzeros");
}

/// The attempts for the matrix or operators that were given.
template <class T>
std::vector<Attempt> AttemptEngine<T>::choose_attempts(bool on_the_left) const {
    const MethodConfig& given = given_method_;
    const bool has_operators = given_operator_ != nullptr || given_preconditioner_ != nullptr;
    const std::string& preconditioner = has_operators ? "none" : given.preconditioner_text;
    if (!is_automatic()) return {{given.solver_text, preconditioner, given.format_text, 0, ""}};
    if (!has_operators) {
        return choose(facts_, given.solver_text, preconditioner, given.format_text, on_the_left);
    }
    Attempt attempt = attempt_for_callers_operators(facts_, on_the_left);
    keep_words(attempt, given.solver_text, preconditioner, given.format_text);
    return {attempt};
}

template <class T>
void AttemptEngine<T>::setup(const CsrView<T>& matrix, const Operator<T>* operator_m) {
    const AtWork guard(at_work_);
    check(matrix, "Solver::setup");
    drop();  // Looking at the matrix may fail.
    given_matrix_ = matrix;
    given_operator_ = nullptr;
    given_preconditioner_ = operator_m;
    facts_ = {};
    if (is_automatic()) facts_ = find_facts(context_, matrix, *coordinates_);
    use_first_of(choose_attempts(left_));
}

template <class T>
void AttemptEngine<T>::setup(const Operator<T>& matrix, const Operator<T>* operator_m) {
    const AtWork guard(at_work_);
    check_square("Solver::setup", matrix.rows(), matrix.columns());
    drop();
    given_matrix_ = {};
    given_operator_ = &matrix;
    given_preconditioner_ = operator_m;
    facts_ = {};
    use_first_of(choose_attempts(left_));
}

template <class T>
void AttemptEngine<T>::use_first_of(std::vector<Attempt> chosen) {
    attempts_ = std::move(chosen);
    attempt_ = 0;
    iterations_ = 0;
    set_up_attempt();
}

/// Sets up the attempt in use or, where that cannot be set up, the first later one that can; throws
/// the error of the last one.
template <class T>
void AttemptEngine<T>::set_up_attempt() {
    while (true) {
        const bool is_last = attempt_ + 1 == attempts_.size();
        std::string fault;
        try {
            make_attempt();
            if (is_last || system_->report().unusable.empty()) break;
            fault = unsolved_report(system_->report()).message;
        } catch (const Error& error) {
            if (is_last || !worth_another(error)) throw;
            fault = error.what();
        }
        leave_attempt(fault);
        attempts_[attempt_].reason =
            attempts_[attempt_ - 1].preconditioner + " cannot be set up (" + fault + ")";
    }
    notify({AttemptEvent::Kind::ready, attempts_[attempt_]});
}

template <class T>
void AttemptEngine<T>::leave_attempt(const std::string& outcome) {
    notify({AttemptEvent::Kind::failed, attempts_[attempt_], {}, outcome, iterations_});
    ++attempt_;
}

template <class T>
void AttemptEngine<T>::make_attempt() {
    drop();
    const Attempt& current = attempts_[attempt_];
    method_ = given_method_.completed(current);
    const Index rows = given_operator_ != nullptr ? given_operator_->rows() : given_matrix_.rows;
    const MemoryEstimate memory =
        estimate_memory(rows, given_matrix_.nonzeros, sizeof(T), *method_.solver,
                        *method_.preconditioner, *method_.format);
    notify({AttemptEvent::Kind::setup, current, memory, "", iterations_});
    guarded([&] { make_system(); });
}

template <class T>
void AttemptEngine<T>::make_system() {
    const FormatOptions& format = *method_.format;
    if (given_operator_ != nullptr) {
        system_.emplace(*given_operator_, given_preconditioner_);
    } else if (given_preconditioner_ != nullptr) {
        system_.emplace(context_, given_matrix_, format, *given_preconditioner_);
    } else {
        system_.emplace(
            context_, given_matrix_, format, *method_.preconditioner,
            PreconditionerInputs{format, coordinates_, near_null_, facts_.natural_blocks});
    }
    iterative_ = method_.solver->make(context_, system_->matrix(), system_->preconditioner());
}

/// Does the work of a setup or update; where it fails there is no matrix.
template <class T>
template <class Work>
void AttemptEngine<T>::guarded(Work&& work) {
    try {
        work();
        context_.synchronize();
    } catch (const std::bad_alloc&) {
        drop();
        throw OutOfMemory("out of memory of the host");
    } catch (const InvalidArgument& error) {
        drop();
        Index row = -1;
        try {
            row = first_non_finite_row(context_, given_matrix_);
        } catch (const std::exception&) {  // The first error says more.
        }
        if (row < 0) throw;
        throw InvalidArgument(
            "row " + std::to_string(row) + " of the matrix has a NaN or infinity: " + error.what(),
            "matrix");
    } catch (...) {
        drop();
        throw;
    }
}

template <class T>
void AttemptEngine<T>::update(const CsrView<T>& matrix) {
    const AtWork guard(at_work_);
    require_matrix("Solver::update");
    check(matrix, "Solver::update");
    require(given_operator_ == nullptr,
            "Solver::update: the matrix is an operator of the caller: call operators_changed");
    require(matrix.rows == given_matrix_.rows && matrix.nonzeros == given_matrix_.nonzeros,
            "Solver::update: the matrix must have the pattern of that in setup");
    given_matrix_ = matrix;
    guarded([&] {
        system_->update(context_, matrix);
        iterative_->operators_changed();
    });
}

/// Names the likely cause where a method for symmetric matrices failed.
template <class T>
void AttemptEngine<T>::explain_asymmetry(SolveReport& report) const {
    const Status status = report.status;
    const bool failed = status == Status::breakdown || status == Status::stagnated ||
                        status == Status::accuracy_lost || status == Status::max_iterations;
    if (!failed || facts_.rows == 0 || facts_.symmetric || !method_.solver->symmetric_only())
        return;
    char residual[16];
    std::snprintf(residual, sizeof residual, "%.2e", report.true_relative_residual);
    report.message = Spec(attempts_[attempt_].solver).name() +
                     " needs a symmetric matrix, which this one is not (the relative residual is " +
                     residual + "); use bicgstab, idr or gmres.";
}

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve_once(Vectors<const T> b, Vectors<T> x,
                                                      const SolveOptions& options) {
    if (!system_->report().unusable.empty()) {
        check_solve<T>(context_, system_->matrix(), b, x, options);
        return std::vector<SolveReport>(std::size_t(b.count), unsolved_report(system_->report()));
    }
    std::vector<SolveReport> solved = iterative_->solve(b, x, options);
    const auto changed = [](const SolveReport& one) { return one.recoveries > 0; };
    if (std::ranges::any_of(solved, changed)) system_->take_report();
    for (SolveReport& report : solved) explain_asymmetry(report);
    return solved;
}

/// The report of a solve, whose status the rows of the solution confirm or change. A solution that
/// is small in norm alone is improved, twice at most.
template <class T>
SolveReport AttemptEngine<T>::judged(std::span<const T> b, std::span<T> x,
                                     const SolveOptions& options, SolveReport report) {
    if (given_operator_ != nullptr || !can_be_judged(report.status)) return report;
    for (int tries = 0;; ++tries) {
        const SolutionErrors errors = solution_errors<T>(context_, given_matrix_, b, x);
        if (errors.right_hand_side == 0 || !std::isfinite(errors.residual)) return report;
        report.backward_error = errors.backward_error;
        report.worst_row = errors.row;
        const double target =
            std::max(options.rtol.value_or(default_rtol<T>), options.atol / errors.right_hand_side);
        const double residual = errors.residual / errors.right_hand_side;
        const bool is_small = residual <= 1.01 * target;
        if (!is_small) report.true_relative_residual = residual;
        const bool is_converged = report.status == Status::converged;
        if (!(is_converged && is_small) && is_at_rounding_limit(errors, b, std::span<const T>(x))) {
            report.status = Status::rounding_limit;
            report.message = status_message(report, {}, target, 0);
            return report;
        }
        if (!is_converged) return report;
        // Also if the error is NaN. A tolerance of 1 % and more asks for nothing.
        constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2;
        const bool is_balanced =
            errors.backward_error <= std::max(100 * target, 10 * roundoff) || target >= 0.01;
        if (is_small && is_balanced) return report;
        SolveOptions stricter = options;
        // As far as the rows need it, if their residuals fall with the norm.
        const double factor = std::min(0.1, 10 * target / errors.backward_error);
        stricter.rtol = std::min(target, residual) * (factor > 0 ? factor : 0.1);
        stricter.atol = 0;
        stricter = attempt_options(stricter, Attempt{}, report);
        if (tries == 2 || stricter.max_iterations == 0 || stricter.max_seconds == 0) {
            report.status = is_small ? Status::unbalanced : Status::accuracy_lost;
            report.message = status_message(report, {}, target, 0);
            return report;
        }
        const SolveReport more =
            std::move(solve_once(one_vector(b), one_vector(x), stricter).front());
        report = joined(report, more);
        if (more.status == Status::interrupted || more.status == Status::max_seconds) return report;
        if (more.status != Status::converged) tries = 1;  // The last look.
        report.status = Status::converged;
        report.message.clear();
    }
}

/// Whether x is as accurate as a stable direct solver would make it, and A not singular for b, of
/// which x with huge elements would be the sign.
template <class T>
bool AttemptEngine<T>::is_at_rounding_limit(const SolutionErrors& errors, std::span<const T> b,
                                            std::span<const T> x) const {
    constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2;
    if (!(errors.backward_error <= 0.1 * default_rtol<T>)) return false;
    const EquilibratedErrors scaled = equilibrated_errors<T>(context_, given_matrix_, b, x);
    return scaled.error <= 10 * roundoff && scaled.growth <= 1e-3 / roundoff;
}

/// Chooses anew for solves on the other side; nothing is set up where the attempts are the same.
template <class T>
void AttemptEngine<T>::change_side() {
    std::vector<Attempt> chosen = choose_attempts(!left_);
    if (!std::ranges::equal(chosen, attempts_, have_same_words)) use_first_of(std::move(chosen));
    left_ = !left_;
}

/// Sets up the next attempt, if there is one that can be set up; else the message of each report
/// says why not, and the attempt in use stays.
template <class T>
bool AttemptEngine<T>::set_up_next_attempt(const SolveReport& failed,
                                           std::vector<SolveReport>& total) {
    if (attempt_ + 1 == attempts_.size()) return false;
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

template <class T>
std::vector<SolveReport> AttemptEngine<T>::solve(Vectors<const T> b, Vectors<T> x,
                                                 const SolveOptions& options) {
    const AtWork guard(at_work_);
    require_matrix("Solver::solve");
    if (is_automatic() && options.left_preconditioning != left_) {
        check_solve<T>(context_, system_->matrix(), b, x, options);
        change_side();
    }
    iterations_ = 0;
    std::vector<SolveReport> total(std::size_t(b.count));
    SolveReport longest;  // That with the most iterations.
    while (true) {
        const Attempt current = attempts_[attempt_];
        const SolveOptions remaining = attempt_options(options, current, longest);
        auto solved = solve_once(b, x, remaining);
        const SolveReport* failed = nullptr;
        for (std::size_t j = 0; j < total.size(); ++j) {
            solved[j] = judged(b[int(j)], x[int(j)], remaining, std::move(solved[j]));
            if (worth_another(solved[j], current.max_iterations)) failed = &solved[j];
            total[j] = joined(total[j], solved[j]);
            if (total[j].iterations >= longest.iterations) longest = total[j];
        }
        iterations_ = longest.iterations;
        const bool has_more =
            iterations_ < options.max_iterations && longest.seconds < options.max_seconds;
        if (failed == nullptr || !has_more || !set_up_next_attempt(*failed, total)) return total;
    }
}

template class AttemptEngine<float>;
template class AttemptEngine<double>;

}  // namespace tessera
