#include "krylov/solver/attempt_engine.hpp"

#include <algorithm>
#include <new>

#include "base/checks.hpp"
#include "krylov/at_work.hpp"
#include "krylov/attempts.hpp"
#include "krylov/rules.hpp"
#include "krylov/solver/refinement.hpp"

namespace tessera {

namespace {

/// Replaces solvers for symmetric matrices.
void take_nonsymmetric_solvers(std::vector<Attempt>& attempts) {
    for (Attempt& attempt : attempts) {
        if (!parse_solver(attempt.solver)->symmetric_only()) continue;
        const bool is_definite = attempt.solver == "cg" || attempt.solver == "fcg";
        attempt.solver = is_definite ? "bicgstab" : "idr:8,smoothing";
    }
}

}  // namespace

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

/// The attempts for the matrix or operators that were given, and for the reduced matrix.
template <class T>
auto AttemptEngine<T>::choose_attempts(bool on_the_left) const -> Plan {
    const MethodConfig& given = given_method_;
    if (!is_automatic()) {
        const bool has_operators = given_operator_ != nullptr || given_preconditioner_ != nullptr;
        return {{{given.solver_text, has_operators ? "none" : given.preconditioner_text,
                  given.format_text, 0, ""}},
                {false}};
    }
    Plan plan;
    const auto add = [&](std::vector<Attempt> attempts, bool on_reduced) {
        for (Attempt& attempt : attempts) {
            plan.attempts.push_back(std::move(attempt));
            plan.on_reduced.push_back(on_reduced);
        }
    };
    // A reduced matrix that is as symmetric as A takes the place of A.
    if (!reduced_ || reduced_->reduction().is_symmetric != facts_.symmetric) {
        add(choose_for(facts_, on_the_left), false);
    }
    if (!reduced_) return plan;
    const Reduction& reduction = reduced_->reduction();
    std::vector<Attempt> attempts = choose_for(reduced_facts_, on_the_left);
    if (reduction.preconditions_by_mean && !given.solver) take_nonsymmetric_solvers(attempts);
    attempts.front().reason = reduction.reason + "; " + attempts.front().reason;
    const auto place = std::ptrdiff_t(reduction.is_second ? 1 : 0);
    plan.on_reduced.insert(plan.on_reduced.begin() + place, attempts.size(), true);
    plan.attempts.insert(plan.attempts.begin() + place, attempts.begin(), attempts.end());
    return plan;
}

template <class T>
std::vector<Attempt> AttemptEngine<T>::choose_for(const MatrixFacts& facts,
                                                  bool on_the_left) const {
    const MethodConfig& given = given_method_;
    if (given_operator_ == nullptr && given_preconditioner_ == nullptr) {
        return choose(facts, given.solver_text, given.preconditioner_text, given.format_text,
                      on_the_left);
    }
    Attempt attempt = attempt_for_callers_operators(facts, on_the_left);
    keep_words(attempt, given.solver_text, "none", given.format_text);
    return {attempt};
}

template <class T>
void AttemptEngine<T>::setup(const CsrView<T>& matrix, const Operator<T>* operator_m) {
    const AtWork guard(at_work_);
    check(matrix, "Solver::setup");
    drop();  // Looking at the matrix may fail.
    given_matrix_ = matrix;
    null_space_of_given_.reset();
    largest_of_given_.reset();
    way_back_ = {};
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

/// Looks at the matrix and chooses attempts for it.
template <class T>
void AttemptEngine<T>::choose_anew() {
    found_singular_.clear();
    forget_facts();
    if (is_automatic()) facts_ = find_row_facts(context_, given_matrix_);
    if (std::optional<Attempt> first = choose_by_rows()) {
        has_rest_ = true;
        find_null_space();
        return use_first_of({{std::move(*first)}, {false}});
    }
    add_facts_and_reduce();
    find_null_space();
    use_first_of(choose_attempts(left_));
}

template <class T>
void AttemptEngine<T>::forget_facts() {
    facts_ = reduced_facts_ = {};
    reduced_.reset();
    has_rest_ = false;
}

/// The first attempt, where all words are auto and the rows of the matrix tell it.
template <class T>
std::optional<Attempt> AttemptEngine<T>::choose_by_rows() const {
    const MethodConfig& given = given_method_;
    if (given.solver || given.preconditioner || given.format || given_preconditioner_ != nullptr ||
        left_ || !coordinates_->values.empty())
        return {};
    return attempt_by_rows(facts_);
}

/// Chooses what follows an attempt that the rows told.
template <class T>
void AttemptEngine<T>::choose_rest() {
    if (!has_rest_) return;
    find_facts_and_reduce();
    find_null_space();
    Plan rest = choose_attempts(left_);
    // Exact factors of a matrix that is scaled, or in another order, would fail again.
    if (have_same_words(rest.attempts.front(), attempts_.front())) {
        rest.attempts.erase(rest.attempts.begin());
        rest.on_reduced.erase(rest.on_reduced.begin());
    }
    std::ranges::move(rest.attempts, std::back_inserter(attempts_));
    on_reduced_.insert(on_reduced_.end(), rest.on_reduced.begin(), rest.on_reduced.end());
}

template <class T>
bool AttemptEngine<T>::has_next() {
    choose_rest();
    return attempt_ + 1 < attempts_.size();
}

/// Chooses anew if the values of an update are no longer symmetric, or their diagonal no longer
/// positive, or the other way round.
template <class T>
bool AttemptEngine<T>::choose_anew_if_changed() {
    if (!is_automatic() || !was_updated_) return false;
    was_updated_ = false;
    const MatrixFacts now = find_facts(context_, given_matrix_, *coordinates_);
    const bool has_changed =
        now.symmetric != facts_.symmetric || now.positive_diagonal != facts_.positive_diagonal;
    if (has_solved_ || has_changed) way_back_.left(attempts_[attempt_]);
    if (has_changed) choose_anew();
    return has_changed;
}

/// The null space that a caller named, or that is found where auto looks at the matrix.
template <class T>
void AttemptEngine<T>::find_null_space() {
    null_space_ = {};
    left_null_space_ = {};
    soft_modes_.reset();
    if (!given_null_->values.empty()) {
        null_space_ = NullSpace<T>(context_, given_matrix_, *given_null_);
        return;
    }
    if (!is_automatic()) return;
    if (facts_.symmetric) {
        null_space_ = NullSpace<T>::found(context_, given_matrix_, facts_, *coordinates_);
    } else if (reduced_ && reduced_->reduction().is_symmetric &&
               reduced_->rows() == given_matrix_.rows && !reduced_->reduction().is_reordered) {
        null_space_ = NullSpace<T>::found(context_, given_matrix_, facts_, *coordinates_);
        // R A C is symmetric: A^T R C^-1 z = 0 where A z = 0.
        std::vector<double> factors = reduced_->reduction().row_factors;
        for (std::size_t k = 0; k < factors.size(); ++k) {
            factors[k] /= reduced_->reduction().column_factors[k];
        }
        left_null_space_ = null_space_.times(context_, factors);
    }
}

/// Looks at the matrix, if attempts are chosen by its facts, and reduces the system where that
/// helps. The words of a caller who names a solver and a preconditioner are for A as it is.
template <class T>
void AttemptEngine<T>::find_facts_and_reduce() {
    forget_facts();
    if (is_automatic()) facts_ = find_row_facts(context_, given_matrix_);
    add_facts_and_reduce();
}

template <class T>
void AttemptEngine<T>::add_facts_and_reduce() {
    if (!is_automatic()) return;
    add_node_facts(context_, given_matrix_, *coordinates_, facts_);
    const bool names_both = given_method_.solver && given_method_.preconditioner;
    if (names_both || given_preconditioner_ != nullptr) return;
    std::optional<Reduction> reduction =
        find_reduction(context_, given_matrix_, facts_, *coordinates_);
    if (!reduction) return;
    reduced_.emplace(context_, given_matrix_, std::move(*reduction));
    const Reduction& found = reduced_->reduction();
    reduced_coordinates_ = reduced_coordinates(*coordinates_, given_matrix_.rows, found);
    reduced_near_null_ = reduced_near_null(*near_null_, found);
    reduced_facts_ = find_facts(context_, reduced_->preconditioner_matrix(), *reduced_coordinates_);
    reduced_facts_.reduction = found.reason;
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

/// Whether the attempt is one by exact factors, which have not solved the system before.
template <class T>
bool AttemptEngine<T>::is_repeated() const {
    const Attempt& attempt = attempts_[attempt_];
    return have_factors_failed_[is_reduced() ? 1 : 0] &&
           Spec(attempt.preconditioner).name() == "direct" && !is_by_lu(attempt);
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
        const bool is_amg = Spec(method_.preconditioner_text).name() == "amg";
        const bool has_more = has_rest_ || attempt_ + 1 < attempts_.size();
        const bool may_refuse = has_more && !(is_amg && is_known_mesh(facts()));
        system_.emplace(
            context_, matrix_in_use(), preconditioner_matrix(), format, *method_.preconditioner,
            PreconditionerInputs{format, is_reduced() ? reduced_coordinates_ : coordinates_,
                                 is_reduced() ? reduced_near_null_ : near_null_,
                                 facts().natural_blocks, known_symmetry(), may_refuse});
    }
    make_iterative();
}

/// Makes the solver of the attempt in use.
template <class T>
void AttemptEngine<T>::make_iterative() {
    refinement_ = nullptr;
    iterative_ = method_.solver->make(context_, system_->matrix(), system_->preconditioner());
    const bool is_exact = given_operator_ == nullptr && given_preconditioner_ == nullptr &&
                          Spec(method_.solver_text).name() == "richardson" &&
                          Spec(method_.preconditioner_text).name() == "direct";
    if (!is_exact) return;
    auto refinement =
        std::make_unique<Refinement<T>>(context_, matrix_in_use(), system_->matrix(),
                                        *system_->preconditioner(), std::move(iterative_));
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
    if (way_back_.is_due_after_update()) return choose_anew();
    if (null_space_.vectors() > 0 || (soft_modes_ && !soft_modes_->is_empty())) {
        if (is_automatic()) facts_ = find_facts(context_, matrix, *coordinates_);
        find_null_space();
    }
    if (is_reduced() && !reduce_anew()) {
        way_back_.left(attempts_[attempt_]);
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
        way_back_.left(attempts_[attempt_]);
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
