#include <algorithm>
#include <iterator>

#include "krylov/rules.hpp"
#include "krylov/solver/attempt_engine.hpp"

// The part of AttemptEngine that chooses attempts.
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

/// The first attempt, where all words are auto and facts of the rows determine it.
template <class T>
std::optional<Attempt> AttemptEngine<T>::choose_by_rows() const {
    const MethodConfig& given = given_method_;
    if (given.solver || given.preconditioner || given.format || given_preconditioner_ != nullptr ||
        left_ || !coordinates_->values.empty())
        return {};
    return attempt_by_rows(facts_);
}

/// Chooses what follows an attempt that was chosen by the rows.
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
    if (has_solved_ || has_changed) retries_.attempt_failed(attempts_[attempt_]);
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

#define TESSERA_INSTANTIATE(T)                                         \
    template auto AttemptEngine<T>::choose_attempts(bool) const->Plan; \
    template void AttemptEngine<T>::choose_anew();                     \
    template void AttemptEngine<T>::forget_facts();                    \
    template void AttemptEngine<T>::choose_rest();                     \
    template bool AttemptEngine<T>::has_next();                        \
    template bool AttemptEngine<T>::choose_anew_if_changed();          \
    template void AttemptEngine<T>::find_null_space();                 \
    template void AttemptEngine<T>::find_facts_and_reduce();
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera
