#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "base/concat.hpp"
#include "base/scratch/scratch.hpp"
#include "krylov/attempts.hpp"
#include "krylov/messages.hpp"
#include "krylov/norms.hpp"
#include "krylov/solver/attempt_engine.hpp"
#include "krylov/solver/vanishing_sums.hpp"
#include "tessera/detail/accurate_residual.hpp"
#include "tessera/detail/equilibrated_errors.hpp"
#include "tessera/detail/largest_element.hpp"
#include "tessera/direct.hpp"
#include "tessera/vector_ops.hpp"

// The part of AttemptEngine that judges solutions.
namespace tessera {

namespace {

std::string residual_text(const SolveReport& report) {
    return message_number(report.true_relative_residual);
}

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

}  // namespace

/// Names the likely cause where a method for symmetric matrices failed.
template <class T>
void AttemptEngine<T>::explain_asymmetry(SolveReport& report) const {
    const Status status = report.status;
    const bool failed = status == Status::breakdown || status == Status::stagnated ||
                        status == Status::accuracy_lost || status == Status::max_iterations;
    if (!failed || facts().rows == 0 || facts().symmetric || !method_.solver->symmetric_only())
        return;
    report.message = Spec(attempts_[attempt_].solver).name() +
                     " needs a symmetric matrix, which this one is not (the relative residual is " +
                     residual_text(report) + "); use bicgstab, idr or gmres.";
}

/// Why the matrix is singular, as exact factors found it, where x is no solution; else empty.
template <class T>
std::string AttemptEngine<T>::singularity_of(const SolveReport& report) const {
    if (is_solved(report.status) || !can_be_judged(report.status)) return {};
    std::string why = system_->report().singular;
    if (!why.empty() && is_reduced()) why = "in the reduced system " + why;
    // 0 = b_i in a row that was left out.
    if (why.empty() && is_reduced() && reduced_->reduction().fixed_are_empty &&
        report.backward_error > 0.99 &&
        std::ranges::binary_search(reduced_->reduction().fixed, Index(report.worst_row))) {
        why = concat("the matrix is singular: row ", report.worst_row,
                     " has no nonzero, but b is not 0 there");
    }
    if (why.empty() && is_exact()) {
        if (const char* const line = what_sums_to_zero(context_, given_matrix_)) {
            why = concat("the matrix is singular: the entries of each ", line, " sum to zero");
        }
    }
    return why;
}

template <class T>
void AttemptEngine<T>::call_singular(SolveReport& report, const std::string& why) {
    report.status = Status::singular;
    report.message = why + "; the relative residual is " + residual_text(report);
    if (report.worst_row >= 0 && report.true_relative_residual <= default_rtol<T>) {
        report.message += concat(", but in row ", report.worst_row, " the residual is ",
                                 message_number(report.backward_error), " of the sum of its terms");
    }
    report.message += ".";
    report.message.front() = char(std::toupper(report.message.front()));
}

/// A solution that is judged, and its errors, which are measured once.
template <class T>
struct AttemptEngine<T>::Look {
    static constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2;
    static constexpr double max_error = 10 * roundoff;  ///< A stable direct solver leaves less.
    static constexpr double max_growth = 1e-3 / roundoff;
    const Context& context;
    const CsrView<T>& matrix;
    std::span<const T> b, x;
    bool is_symmetric;  ///< The matrix, as far as that is known.
    SolutionErrors errors;
    std::optional<EquilibratedErrors> bounds = {}, scaled = {};
    std::optional<bool> has_digits = {};

    /// Whether x has not grown, as its rows tell alone.
    bool is_moderate() {
        if (!bounds) {
            bounds = bounds_of_equilibrated_errors<T>(context, matrix, b, x, errors.backward_error);
        }
        return bounds->growth <= max_growth;
    }
    /// Bounds where they are within the limits.
    const EquilibratedErrors& equilibrated() {
        if (!scaled) {
            scaled = is_moderate() && bounds->error <= max_error ? *bounds
                     : is_symmetric ? equilibrated_errors_of_symmetric<T>(context, matrix, b, x)
                                    : equilibrated_errors<T>(context, matrix, b, x);
        }
        return *scaled;
    }
};

/// The soft modes of A where attempts are chosen by its facts, else none.
template <class T>
const SoftModes<T>& AttemptEngine<T>::soft_modes() {
    if (!soft_modes_) {
        const bool may_have = is_automatic() && given_null_->values.empty() && facts_.symmetric;
        soft_modes_ = may_have ? SoftModes<T>::found(context_, given_matrix_, facts_, *coordinates_)
                               : SoftModes<T>();
    }
    return *soft_modes_;
}

/// The report of the solve of a right-hand side, whose status the rows of the solution confirm or
/// change. A solution that is small in norm alone is improved, twice at most. `measured`: its
/// errors, if they are known.
template <class T>
SolveReport AttemptEngine<T>::judged(std::span<const T> b, std::span<T> x,
                                     const SolveOptions& options, SolveReport report,
                                     const std::optional<SolutionErrors>& measured) {
    if (given_operator_ != nullptr || !can_be_judged(report.status)) return report;
    const std::string& solver = attempts_[attempt_].solver;
    const bool is_definite = solver == "cg" || solver == "fcg";  // Else there is no energy.
    for (int tries = 0;; ++tries) {
        // This part may be so large that its rounding errors hide the residual of the rest.
        if (null_space_.vectors() > 0) null_space_.remove_from(context_, x);
        if (is_definite) soft_modes().correct(context_, given_matrix_, b, x);
        const bool is_known = tries == 0 && measured && null_space_.vectors() == 0;
        const double rtol = options.rtol.value_or(default_rtol<T>);
        Look look{context_,
                  given_matrix_,
                  b,
                  x,
                  facts_.symmetric && !was_updated_,
                  is_known ? *measured : solution_errors<T>(context_, given_matrix_, b, x, rtol)};
        const SolutionErrors& errors = look.errors;
        if (errors.right_hand_side == 0 || !std::isfinite(errors.residual)) return report;
        report.backward_error = errors.backward_error;
        report.worst_row = errors.row;
        const double target = std::max(rtol, options.atol / errors.right_hand_side);
        const double residual = errors.residual / errors.right_hand_side;
        const bool is_small = residual <= 1.01 * target;
        if (!is_small || null_space_.vectors() > 0) report.true_relative_residual = residual;
        const bool is_converged = report.status == Status::converged;
        if (is_lost_in_rounding(look)) {
            report.status = Status::accuracy_lost;
            report.message = status_message(report, {}, target, 0);
            return report;
        }
        if (!(is_converged && is_small) && is_at_rounding_limit(look)) {
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
        // As far as the rows need it, if their residuals fall with the norm. Exact factors need no
        // such bound, and rounding errors of large rows may hide the small ones from the norm.
        const double factor = std::min(0.1, 10 * target / errors.backward_error);
        stricter.rtol = is_exact() ? 0 : std::min(target, residual) * (factor > 0 ? factor : 0.1);
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

/// Takes the start back where x is worse in norm and no solution. Exact factors keep an x that is
/// small by rows alone until it is judged.
template <class T>
void AttemptEngine<T>::take_start_back(std::span<const T> b, std::span<const T> start,
                                       std::span<T> x, const SolveOptions& options,
                                       SolveReport& report) const {
    if (is_solved(report.status) || !can_be_judged(report.status)) return;
    const SolutionErrors errors = solution_errors<T>(context_, given_matrix_, b, start);
    const double residual = errors.residual / errors.right_hand_side;
    if (!(residual < report.true_relative_residual)) return;
    copy<T>(context_, start, x);
    report.true_relative_residual = residual;
    report.backward_error = errors.backward_error;
    report.worst_row = errors.row;
    report.message = status_message(report, {}, options.rtol.value_or(default_rtol<T>), 0);
}

/// Whether A x has rounding errors of a share of b and x no digits, as where A is singular for b:
/// no residual, even of 0, then means anything.
template <class T>
bool AttemptEngine<T>::is_lost_in_rounding(Look& look) {
    const std::span<const T> b = look.b, x = look.x;
    constexpr double roundoff = double(std::numeric_limits<T>::epsilon()) / 2, share = 0.1;
    if (!largest_of_given_) {
        const std::span<const T> values(given_matrix_.values, std::size_t(given_matrix_.nonzeros));
        largest_of_given_ = largest_element<T>(context_, values);
    }
    // Sizes first: the growth takes as long as several products.
    const double size = *largest_of_given_ * largest_element<T>(context_, x);
    const double mean_b = look.errors.right_hand_side / std::sqrt(double(b.size()));
    if (size * roundoff < 0.1 * share * mean_b || look.is_moderate()) return false;
    return look.equilibrated().growth >= share / roundoff && !has_digits(look);
}

/// Whether exact factors found columns without a pivot, or with one of some units of roundoff.
/// Larger ones, which are reported as small, may still leave digits of x.
template <class T>
bool AttemptEngine<T>::lacks_pivots() const {
    if (system_->report().singular.empty()) return false;
    const auto* const factors = dynamic_cast<const Direct<T>*>(system_->preconditioner());
    if (factors == nullptr) return true;
    const DirectReport& report = factors->report();
    constexpr double rounding = 16 * double(std::numeric_limits<T>::epsilon());
    return report.null_pivots > 0 || report.structural_rank < factors->rows() ||
           report.smallest_pivot <= rounding;
}

/// Whether no x has a small residual: A z = 0, row by row far below rounding, for a z that inverse
/// iteration and refinement find and b is not orthogonal to, as of potentials that are free by a
/// constant. Up to rounding it is no sign: an optimal power flow with such a z has an x with all
/// digits by LU.
template <class T>
bool AttemptEngine<T>::is_outside_range(const Operator<T>& factors, std::span<const T> b) const {
    const Scratch<T> null(context_, factors.rows()), other(context_, factors.rows());
    const Scratch<T> zeros(context_, factors.rows()), product(context_, 1);
    const std::span<T> z = null.view(), r = other.view();
    fill(context_, T(1), z);
    fill(context_, T(0), zeros.view());
    for (int step = 0; step < 3; ++step) {
        factors.apply(context_, z, r);
        const double size = largest_element<T>(context_, r);
        if (!std::isfinite(size) || size == 0) return false;
        axpby<T>(context_, T(1 / size), std::span<const T>(r), T(0), z);
    }
    const Scratch<T> change(context_, factors.rows());
    for (int step = 0; step < 3; ++step) {
        const double error =
            solution_errors<T>(context_, matrix_in_use(), zeros.view(), z, 0, r).backward_error;
        if (!std::isfinite(error)) return false;
        if (error <= 1e-3 * double(std::numeric_limits<T>::epsilon())) {
            dot<T>(context_, z, b, product.data());
            T found = 0;
            copy_to_host(context_, std::span<const T>(product.view()), std::span<T>(&found, 1));
            const double sizes = norm<T>(context_, std::span<const T>(z)) * norm<T>(context_, b);
            return std::abs(double(found)) > default_rtol<T> * sizes;
        }
        factors.apply(context_, r, change.view());
        axpby<T>(context_, T(1), std::span<const T>(change.view()), T(1), z);
    }
    return false;
}

/// Whether LU may solve what LDL^T found singular, as by its own matching and scaling. Where
/// neither matches rows, both scale by the diagonal: large entries beside a diagonal that is not
/// small do not occur in symmetric matrices. Networks, which it solves, fill up little.
///                                                LDL^T alone  LU as well
///   plat1919, not matched                              6.6 ms   12.3
///   bcsstk33, not matched                            1.3 s     4.2
///   stokes64, matched, 2,500 operations an entry      79 ms    147
template <class T>
bool AttemptEngine<T>::may_be_solved_by_lu(std::span<const T> b) const {
    const auto* const factors = dynamic_cast<const Direct<T>*>(system_->preconditioner());
    if (!is_exact() || system_->report().singular.empty() || factors == nullptr) return false;
    const DirectReport& report = factors->report();
    if (!report.matched || report.flops > 1500 * double(matrix_in_use().nonzeros)) return false;
    const bool has_pivots = report.null_pivots == 0 && report.structural_rank == factors->rows();
    return !has_pivots || is_reduced() || !is_outside_range(*factors, b);
}

/// Whether exact factors leave digits of x: what a further solve adds leaves nearly half of them,
/// or the error of a single solve is small. Steps of a refinement, one more or less, change the
/// former only.
///   bloweybq, circuits and networks  adds 7e-8 and less; a single solve 1e-4
///   mechanisms, but for rounding     adds 4e-7 and more; a single solve 0.03 and more
///   in float: long bodies            adds 8e-6 to 4e-4;  a single solve 0.02
template <class T>
bool AttemptEngine<T>::find_digits(const Look& look) {
    if (!is_exact() || lacks_pivots()) return false;
    constexpr double max_change = sizeof(T) == 8 ? 1.5e-7 : 1e-4;
    constexpr double max_error = sizeof(T) == 8 ? 2e-3 : 0.03;
    const std::span<const T> b = look.b, x = look.x;
    const Scratch<T> r(context_, Offset(b.size())), change(context_, Offset(b.size()));
    copy_from_host(context_, std::span<const T>(accurate_residual(context_, given_matrix_, b, x)),
                   r.view());
    fill(context_, T(0), change.view());
    SolveOptions options;
    options.rtol = 0.1;
    options.max_iterations = 10;
    const SolveReport more = std::move(
        solve_once(one_vector<T>(r.view()), one_vector<T>(change.view()), options).front());
    if (!is_solved(more.status)) return false;
    const double size = norm<T>(context_, x);
    if (norm<T>(context_, change.view()) <= max_change * size) return true;
    fill(context_, T(0), r.view());
    options.rtol = 0;
    options.max_iterations = 1;
    solve_once(one_vector(b), one_vector(r.view()), options);
    axpbypcz<T>(context_, T(1), x, T(1), change.view(), T(-1), r.view());
    return norm<T>(context_, r.view()) <= max_error * size;
}

template <class T>
bool AttemptEngine<T>::has_digits(Look& look) {
    if (!look.has_digits) look.has_digits = find_digits(look);
    return *look.has_digits;
}

/// Whether x is as accurate as a stable direct solver would make it, and A not singular for b, of
/// which x with huge elements would be the sign.
template <class T>
bool AttemptEngine<T>::is_at_rounding_limit(Look& look) {
    const std::span<const T> b = look.b;
    if (!(look.errors.backward_error <= 0.1 * default_rtol<T>)) return false;
    const EquilibratedErrors& scaled = look.equilibrated();
    if (!(scaled.error <= Look::max_error)) return false;
    const auto is_regular = [&] {  // As exact factors found it.
        return is_exact() && what_sums_to_zero(context_, given_matrix_) == nullptr &&
               (system_->report().singular.empty() || has_digits(look));
    };
    const bool has_grown = !(scaled.growth <= Look::max_growth);
    if (has_grown && !is_regular()) return false;
    if (!is_balanced_on_parts(context_, given_matrix_, b)) return false;
    const bool is_hidden = has_grown && look.errors.residual >= 0.1 * look.errors.right_hand_side;
    // Or other factors were singular.
    if ((is_hidden || !found_singular_.empty()) && !has_digits(look)) return false;
    const NullSpace<T>& null_space = null_space_of_given();
    if (null_space.vectors() == 0) return true;
    const Scratch<T> kept(context_, Offset(b.size()));
    copy<T>(context_, b, kept.view());
    const double removed = null_space.remove_from(context_, kept.view());
    return removed <= 1000 * Look::roundoff * norm(context_, b);
}

/// What a method that was named has not looked for: the null space of a symmetric matrix.
template <class T>
const NullSpace<T>& AttemptEngine<T>::null_space_of_given() const {
    if (!null_space_of_given_) {
        const bool is_known = is_automatic() && !was_updated_;
        const MatrixFacts found =
            is_known ? MatrixFacts() : find_facts(context_, given_matrix_, *coordinates_);
        const MatrixFacts& facts = is_known ? facts_ : found;
        null_space_of_given_ =
            facts.symmetric ? NullSpace<T>::found(context_, given_matrix_, facts, *coordinates_)
                            : NullSpace<T>();
    }
    return *null_space_of_given_;
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template void AttemptEngine<T>::explain_asymmetry(SolveReport&) const;                       \
    template std::string AttemptEngine<T>::singularity_of(const SolveReport&) const;             \
    template bool AttemptEngine<T>::may_be_solved_by_lu(std::span<const T>) const;               \
    template void AttemptEngine<T>::call_singular(SolveReport&, const std::string&);             \
    template void AttemptEngine<T>::take_start_back(                                             \
        std::span<const T>, std::span<const T>, std::span<T>, const SolveOptions&, SolveReport&) \
        const;                                                                                   \
    template SolveReport AttemptEngine<T>::judged(std::span<const T>, std::span<T>,              \
                                                  const SolveOptions&, SolveReport,              \
                                                  const std::optional<SolutionErrors>&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera
