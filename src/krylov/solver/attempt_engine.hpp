#pragma once

#include <array>
#include <memory>
#include <optional>

#include "base/check_time.hpp"
#include "krylov/reduced_system.hpp"
#include "krylov/soft_modes.hpp"
#include "krylov/solver/prepared_system.hpp"
#include "krylov/solver/refinement.hpp"
#include "krylov/solver/retry_schedule.hpp"
#include "tessera/solution_errors.hpp"
#include "tessera/solver.hpp"

namespace tessera {

/// Whether the exception that is handled now ended a setup that had not failed itself: a TimeLimit,
/// or what that of the caller, or the listener, threw.
bool was_ended_from_outside();

/// Solves a system by one attempt after another until one succeeds: what a Solver does. Attempts
/// are those that the rules of auto choose for the matrix, or the one method that the texts name.
template <class T>
class AttemptEngine {
  public:
    AttemptEngine(const Context& context, MethodConfig method)
        : context_(context), given_method_(std::move(method)) {}

    void use_coordinates(const Shared<NodeCoordinates>& coordinates) { coordinates_ = coordinates; }
    void use_null_space(const Shared<NearNullSpace>& vectors) { given_null_ = vectors; }
    void use_near_null_space(const Shared<NearNullSpace>& vectors) { near_null_ = vectors; }
    void on_attempt(std::function<void(const AttemptEvent&)> listener) {
        listener_ = std::move(listener);
    }
    void setup(const CsrView<T>& matrix, const Operator<T>* preconditioner);
    void setup(const Operator<T>& matrix, const Operator<T>* preconditioner);
    void update(const CsrView<T>& matrix);
    std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x, const SolveOptions& options);

    bool has_matrix() const { return is_ready() || was_stopped_; }
    /// Whether the attempt in use is set up: not where a TimeLimit has ended that.
    bool is_ready() const { return iterative_ != nullptr; }
    /// Throws InvalidArgument, which names the calling function, if there is no matrix.
    void require_matrix(const char* function) const {
        require(has_matrix(), function, ": there is no matrix; call setup first");
    }
    /// The preconditioner whose setup was ended.
    const std::string& stopped_preconditioner() const {
        return attempts_.empty() ? given_method_.preconditioner_text
                                 : attempts_[attempt_].preconditioner;
    }
    // These need an attempt that is set up.
    const PreparedSystem<T>& system() const { return *system_; }
    void operators_changed() { iterative_->operators_changed(); }

    bool is_automatic() const { return given_method_.is_automatic(); }
    const std::vector<Attempt>& attempts() const { return attempts_; }
    std::size_t attempt() const { return attempt_; }
    /// The facts of the matrix that the attempt in use solves with.
    const MatrixFacts& facts() const { return is_reduced() ? reduced_facts_ : facts_; }

  private:
    void check(const CsrView<T>& matrix, const char* function) const;
    void check(Vectors<const T> b, Vectors<T> x, const SolveOptions& options) const;
    void forget_facts();
    void find_facts_and_reduce();
    void add_facts_and_reduce();
    void find_null_space();
    void choose_anew();
    std::optional<Attempt> choose_by_rows() const;
    void choose_rest();
    /// Whether another attempt follows the one in use.
    bool has_next();
    template <class Work>
    void stoppable(Work&& work);
    void forget_attempts();
    void set_up_if_stopped();
    struct SetupInSolve {
        double seconds;
        std::optional<Status> stopped_by;  ///< What the solve ends with, if it ended the setup.
    };
    template <class Work>
    SetupInSolve set_up_within(double seconds, Work&& work);
    void end_in_setup(SolveReport& report, Status status, std::span<const T> b,
                      std::span<const T> x, const SolveOptions& options) const;
    std::vector<SolveReport> solve_projected(Vectors<const T> b, Vectors<T> x,
                                             const SolveOptions& options);
    bool choose_anew_if_changed();
    void update_to(const CsrView<T>& matrix);
    bool reduce_anew();
    void forget_reduced_attempts(std::size_t from);
    std::vector<Attempt> choose_for(const MatrixFacts& facts, bool on_the_left) const;
    /// Whether the attempt in use solves with the reduced matrix.
    bool is_reduced() const {
        return reduced_ && attempt_ < on_reduced_.size() && on_reduced_[attempt_];
    }
    CsrView<T> matrix_in_use() const { return is_reduced() ? reduced_->matrix() : given_matrix_; }
    CsrView<T> preconditioner_matrix() const {
        return is_reduced() ? reduced_->preconditioner_matrix() : given_matrix_;
    }
    /// Whether preconditioner_matrix() is symmetric, if that is known.
    std::optional<bool> known_symmetry() const {
        if (facts().rows == 0 || was_updated_) return {};
        return facts().symmetric;
    }
    struct Plan {
        std::vector<Attempt> attempts;
        std::vector<bool> on_reduced;  ///< Which of them solve with the reduced matrix.
    };
    Plan choose_attempts(bool on_the_left) const;
    /// Sets up the first of these attempts that can be.
    void use_first_of(Plan plan);
    void set_up_attempt();
    void make_attempt();
    void make_system();
    void make_iterative();
    /// Whether the attempt in use is iterative refinement with exact factors.
    bool is_exact() const { return refinement_ != nullptr; }
    template <class Work>
    void guarded(Work&& work);
    /// Tells the listener that the attempt in use failed, and goes to the next one.
    void leave_attempt(const std::string& outcome);
    bool is_repeated() const;
    void add_solver_for_indefinite();
    void bring_exact_factors_next();
    bool set_up_next_attempt(const SolveReport& failed, std::vector<SolveReport>& total);
    /// Preconditions from the other side, by other attempts where these suit it.
    void change_side();
    void explain_asymmetry(SolveReport& report) const;
    void explain_non_finite(std::span<const T> b, std::span<const T> x, SolveReport& report) const;
    std::string singularity_of(const SolveReport& report) const;
    static void call_singular(SolveReport& report, const std::string& why);
    bool has_attempt_for_singular();
    bool is_trial_before_factors() const;
    std::vector<SolveReport> solve_by_attempts(Vectors<const T> b, Vectors<T> x,
                                               const SolveOptions& options);
    std::vector<SolveReport> solve_once(Vectors<const T> b, Vectors<T> x,
                                        const SolveOptions& options);
    std::vector<SolveReport> solve_by_reduction(Vectors<const T> b, Vectors<T> x,
                                                const SolveOptions& options);
    bool is_too_far(const SolveReport& report);
    SolveReport judged(std::span<const T> b, std::span<T> x, const SolveOptions& options,
                       SolveReport report, const std::optional<SolutionErrors>& measured);
    void take_start_back(std::span<const T> b, std::span<const T> start, std::span<T> x,
                         const SolveOptions& options, SolveReport& report) const;
    const NullSpace<T>& null_space_of_given() const;
    struct Look;
    const SoftModes<T>& soft_modes();
    bool is_lost_in_rounding(Look& look);
    bool lacks_pivots() const;
    bool is_outside_range(const Operator<T>& factors, std::span<const T> b) const;
    bool may_be_solved_by_lu(std::span<const T> b) const;
    bool find_digits(const Look& look);
    bool has_digits(Look& look);
    bool is_at_rounding_limit(Look& look);
    void notify(const AttemptEvent& event) const {
        if (listener_) listener_(event);
    }
    void drop() {
        refinement_ = nullptr;
        iterative_.reset();
        system_.reset();
    }

    const Context context_;
    const MethodConfig given_method_;
    Shared<NodeCoordinates> coordinates_;
    Shared<NearNullSpace> near_null_, given_null_;
    std::function<void(const AttemptEvent&)> listener_;

    CsrView<T> given_matrix_;  ///< The matrix of the latest setup or update, if it is no operator.
    const Operator<T>* given_operator_ = nullptr;
    const Operator<T>* given_preconditioner_ = nullptr;  ///< Null: that of the method.
    MatrixFacts facts_;  ///< Facts of the matrix that was given; filled only if a text is auto.
    NullSpace<T> null_space_, left_null_space_;  ///< The left one is empty where both are equal.
    std::optional<SoftModes<T>> soft_modes_;     ///< Looked for where they are needed.
    mutable std::optional<NullSpace<T>> null_space_of_given_;  ///< Looked for where it is asked.
    /// Why the matrix is singular, as exact factors found it before minres.
    std::string found_singular_;
    bool may_lu_solve_ = false;               ///< A matrix that was found singular.
    std::optional<double> largest_of_given_;  ///< max |a_ij|; likewise.
    std::optional<ReducedSystem<T>> reduced_;
    MatrixFacts reduced_facts_;
    Shared<NodeCoordinates> reduced_coordinates_;
    Shared<NearNullSpace> reduced_near_null_;
    bool left_ = false;              ///< The side of the latest solve.
    std::vector<Attempt> attempts_;  ///< Without auto one, of the texts that were given.
    /// The only attempt was chosen by the rows: others are where it fails (choose_rest).
    bool has_rest_ = false;
    std::vector<bool> on_reduced_;  ///< Whether an attempt solves with the reduced matrix.
    std::size_t attempt_ = 0;       ///< Index of the one in use.
    Offset iterations_ = 0;         ///< In all attempts of the solve at work so far.
    bool at_work_ = false;
    bool was_stopped_ = false;  ///< A TimeLimit ended a setup, which is to be done again.
    TimeLimit::State* time_limit_ = nullptr;  ///< Set by the caller of the solve at work.
    bool was_updated_ = false;  ///< The values are others than those that attempts were chosen for.
    /// Exact factors of the given and of the reduced matrix did not solve it.
    std::array<bool, 2> have_factors_failed_ = {};
    bool has_solved_ = false;  ///< The attempt in use.
    RetrySchedule retries_;

    // The attempt in use: its options, its operators, its solver.
    MethodConfig method_;
    std::optional<PreparedSystem<T>> system_;
    std::unique_ptr<IterativeSolver<T>> iterative_;  ///< Null: there is no matrix.
    const Refinement<T>* refinement_ = nullptr;      ///< iterative_, if it is a Refinement.
};

}  // namespace tessera
