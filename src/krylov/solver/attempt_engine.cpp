#include "krylov/solver/attempt_engine.hpp"

#include <algorithm>
#include <cmath>
#include <new>

#include "base/checks.hpp"
#include "base/concat.hpp"
#include "krylov/at_work.hpp"
#include "krylov/attempts.hpp"
#include "krylov/rules.hpp"
#include "krylov/solver/refinement.hpp"

namespace tessera {

bool was_ended_from_outside() {
    try {
        throw;
    } catch (const Stopped&) {
        return true;
    } catch (const Error&) {
        return false;
    } catch (const std::bad_alloc&) {
        return false;
    } catch (...) {
        return true;
    }
}

template <class T>
void AttemptEngine<T>::check(const CsrView<T>& matrix, const char* function) const {
    const UseTimeLimit none(nullptr);  // A matrix that is not looked at is not kept.
    check_matrix(function, matrix);
    check_memory(context_, function, matrix);
    check_square(function, matrix.rows, matrix.columns);
    Offset end = 0;
    copy_to_host(context_, matrix.row_offsets_span().last(1), std::span<Offset>(&end, 1));
    require_argument("matrix", end == matrix.nonzeros, function, ": the row offsets end at ", end,
                     ", not at the ", matrix.nonzeros, " nonzeros");
}

template <class T>
void AttemptEngine<T>::setup(const CsrView<T>& matrix, const Operator<T>* operator_m) {
    const AtWork guard(at_work_);
    check(matrix, "Solver::setup");
    drop();  // Looking at the matrix may fail.
    given_matrix_ = matrix;
    null_space_of_given_.reset();
    largest_of_given_.reset();
    retries_ = {};
    given_operator_ = nullptr;
    given_preconditioner_ = operator_m;
    stoppable([&] { choose_anew(); });
}

/// Does the work of a setup; where a TimeLimit ends it, the next solve begins it again.
template <class T>
template <class Work>
void AttemptEngine<T>::stoppable(Work&& work) {
    was_stopped_ = false;
    try {
        work();
    } catch (...) {
        if (was_ended_from_outside()) {
            drop();
            forget_attempts();
            was_stopped_ = true;
        }
        throw;
    }
}

template <class T>
void AttemptEngine<T>::forget_attempts() {
    attempts_.clear();
    on_reduced_.clear();
    attempt_ = 0;
}

template <class T>
void AttemptEngine<T>::set_up_if_stopped() {
    if (!was_stopped_) return;
    if (attempts_.empty()) return stoppable([&] { choose_anew(); });
    set_up_attempt();
    was_stopped_ = false;
}

template <class T>
void AttemptEngine<T>::setup(const Operator<T>& matrix, const Operator<T>* operator_m) {
    const AtWork guard(at_work_);
    check_square("Solver::setup", matrix.rows(), matrix.columns());
    drop();
    given_matrix_ = {};
    given_operator_ = &matrix;
    given_preconditioner_ = operator_m;
    was_stopped_ = false;
    forget_facts();
    null_space_ = {};
    left_null_space_ = {};
    use_first_of(choose_attempts(left_));
}

template <class T>
void AttemptEngine<T>::use_first_of(Plan plan) {
    was_updated_ = false;
    attempts_ = std::move(plan.attempts);
    on_reduced_ = std::move(plan.on_reduced);
    attempt_ = 0;
    iterations_ = 0;
    have_factors_failed_ = {};
    has_solved_ = false;
    set_up_attempt();
}

/// Sets up the attempt in use or, where that cannot be set up, the first later one that can; throws
/// the error of the last one.
template <class T>
void AttemptEngine<T>::set_up_attempt() {
    while (true) {
        std::string fault;
        try {
            make_attempt();
            if (system_->report().unusable.empty() || !has_next()) break;
            fault = unsolved_report(system_->report()).message;
        } catch (const Error& error) {
            if (!worth_another(error) || !has_next()) throw;
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
    has_solved_ = false;
    while (attempt_ + 1 < attempts_.size() && is_repeated()) ++attempt_;
}

/// Whether the attempt repeats exact factors that did not solve the system.
template <class T>
bool AttemptEngine<T>::is_repeated() const {
    const Attempt& attempt = attempts_[attempt_];
    return have_factors_failed_[is_reduced() ? 1 : 0] &&
           has_name(attempt.preconditioner, "direct") && !is_by_lu(attempt);
}

template <class T>
void AttemptEngine<T>::make_attempt() {
    drop();
    const Attempt& current = attempts_[attempt_];
    method_ = given_method_.completed(current);
    const CsrView<T> matrix = matrix_in_use();
    const Index rows = given_operator_ != nullptr ? given_operator_->rows() : matrix.rows;
    const MemoryEstimate memory = estimate_memory(rows, matrix.nonzeros, sizeof(T), *method_.solver,
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
        // Coarse levels of meshes do not fill up, whatever they take at first.
        const bool is_amg = has_name(method_.preconditioner_text, "amg");
        const bool has_more = has_rest_ || attempt_ + 1 < attempts_.size();
        const bool may_refuse = has_more && !(is_amg && is_known_mesh(facts()));
        system_.emplace(
            context_, matrix_in_use(), preconditioner_matrix(), format, *method_.preconditioner,
            PreconditionerInputs{format, is_reduced() ? reduced_coordinates_ : coordinates_,
                                 is_reduced() ? reduced_near_null_ : near_null_,
                                 facts().natural_blocks, known_symmetry(), may_refuse, true});
    }
    make_iterative();
}

/// Makes the solver of the attempt in use.
template <class T>
void AttemptEngine<T>::make_iterative() {
    refinement_ = nullptr;
    const bool is_exact = given_operator_ == nullptr && given_preconditioner_ == nullptr &&
                          has_name(method_.solver_text, "richardson") &&
                          has_name(method_.preconditioner_text, "direct");
    if (!is_exact) {
        iterative_ = method_.solver->make(context_, system_->matrix(), system_->preconditioner());
        return;
    }
    auto refinement = std::make_unique<Refinement<T>>(context_, matrix_in_use(), system_->matrix(),
                                                      *system_->preconditioner(), method_.solver);
    refinement_ = refinement.get();
    iterative_ = std::move(refinement);
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

/// Names a number that was not finite before the solve, which leaves such a start as it is. Of a
/// reduced system b may have been finite.
template <class T>
void AttemptEngine<T>::explain_non_finite(std::span<const T> b, std::span<const T> x,
                                          SolveReport& report) const {
    if (is_solved(report.status) || report.status == Status::interrupted) return;
    const auto first_in = [&](std::span<const T> v) {
        std::vector<T> copied(v.size());
        copy_to_host(context_, v, std::span<T>(copied));
        const auto found = std::ranges::find_if(copied, [](T e) { return !std::isfinite(e); });
        return found == copied.end() ? Offset(-1) : Offset(found - copied.begin());
    };
    if (const Offset row = first_in(b); row >= 0) {
        report.status = Status::non_finite;
        report.message = concat("Row ", row, " of the right-hand side is NaN or infinite.");
        return;
    }
    const bool is_non_finite = report.status == Status::non_finite;
    if (const Offset element = is_non_finite ? first_in(x) : -1; element >= 0) {
        report.message = concat("Element ", element, " of the start is NaN or infinite.");
        return;
    }
    // Some methods see nothing of a NaN but a pivot that is none.
    const bool may_be_due_to_nan = is_non_finite || report.status == Status::singular_block ||
                                   report.status == Status::breakdown ||
                                   report.status == Status::singular;
    const bool is_known = system_ && system_->report().first_non_finite_row >= 0;
    if (!may_be_due_to_nan || given_operator_ != nullptr || (is_non_finite && is_known)) return;
    const Index in_matrix = first_non_finite_row(context_, given_matrix_);
    if (in_matrix < 0) return;
    report.status = Status::non_finite;
    report.message = concat("Row ", in_matrix, " of the matrix has a NaN or infinity.");
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
    null_space_of_given_.reset();
    largest_of_given_.reset();
    was_updated_ = true;
    if (was_stopped_) forget_attempts();
    stoppable([&] { update_to(matrix); });
}

template <class T>
void AttemptEngine<T>::update_to(const CsrView<T>& matrix) {
    if (attempts_.empty() || !found_singular_.empty()) return choose_anew();
    have_factors_failed_ = {};
    if (retries_.is_due_after_update()) return choose_anew();
    if (null_space_.vectors() > 0 || (soft_modes_ && !soft_modes_->is_empty())) {
        if (is_automatic()) facts_ = find_facts(context_, matrix, *coordinates_);
        find_null_space();
    }
    if (is_reduced() && !reduce_anew()) {
        retries_.attempt_failed(attempts_[attempt_]);
        return use_first_of(choose_attempts(left_));
    }
    if (reduced_ && !is_reduced()) {
        forget_reduced_attempts(0);
        reduced_.reset();
    }
    try {
        guarded([&] {
            system_->update(context_, matrix_in_use(), preconditioner_matrix());
            if (is_exact()) make_iterative();
            iterative_->operators_changed();
        });
    } catch (const Error& error) {  // Values of another kind may need other attempts.
        if (!is_automatic() || !worth_another(error)) throw;
        if (first_non_finite_row(context_, matrix) >= 0) throw;
        retries_.attempt_failed(attempts_[attempt_]);
        choose_anew();
    }
}

/// Reduces the system with new values; whether the reduced matrix has the pattern that it had.
template <class T>
bool AttemptEngine<T>::reduce_anew() {
    const Reduction before = reduced_->reduction();
    find_facts_and_reduce();
    if (!reduced_) return false;
    const Reduction& now = reduced_->reduction();
    return now.fixed == before.fixed && now.kept == before.kept &&
           now.solves_mean == before.solves_mean &&
           now.preconditions_by_mean == before.preconditions_by_mean;
}

/// Removes the attempts for the reduced matrix from number `from` on, but for that in use.
template <class T>
void AttemptEngine<T>::forget_reduced_attempts(std::size_t from) {
    for (std::size_t k = attempts_.size(); k-- > from;) {
        if (!on_reduced_[k] || k == attempt_) continue;
        attempts_.erase(attempts_.begin() + std::ptrdiff_t(k));
        on_reduced_.erase(on_reduced_.begin() + std::ptrdiff_t(k));
        if (k < attempt_) --attempt_;
    }
}

template class AttemptEngine<float>;
template class AttemptEngine<double>;

}  // namespace tessera
