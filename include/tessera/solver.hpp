#pragma once

#include <functional>
#include <optional>

#include "tessera/choice.hpp"
#include "tessera/formats.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"
#include "tessera/time_limit.hpp"

namespace tessera {

/// A solver, a preconditioner and the format of the matrix in products, parsed from texts; each may
/// be auto. Files that a text names are read here, once. Copies share the parsed options.
struct TESSERA_API MethodConfig {
    /// `solver`: as in parse_solver; `preconditioner`: as in parse_preconditioner; `format`: as in
    /// parse_format. Throws InvalidArgument for others.
    explicit MethodConfig(const Spec& solver = "auto", const Spec& preconditioner = "auto",
                          const Spec& format = "auto");

    /// Whether one of the texts is auto.
    bool is_automatic() const { return !solver || !preconditioner || !format; }
    /// This method with the texts of an attempt in place of auto.
    MethodConfig completed(const Attempt& attempt) const;

    std::string solver_text, preconditioner_text, format_text;   ///< Normalised.
    std::shared_ptr<const SolverConfig> solver;                  ///< Null: auto.
    std::shared_ptr<const PreconditionerConfig> preconditioner;  ///< Null: auto.
    std::optional<FormatOptions> format;                         ///< Empty: auto.
};

/// Approximate bytes that a Solver takes in the memory of its Context beside the matrix that it is
/// given; index arrays and fill are not counted.
struct MemoryEstimate {
    Offset matrix = 0;  ///< Its copy in a format other than csr.
    Offset preconditioner = 0;
    Offset vectors = 0;  ///< b and x included.
    Offset total() const { return matrix + preconditioner + vectors; }
};

/// The estimate for a square matrix from its size alone.
TESSERA_API MemoryEstimate estimate_memory(Index rows, Offset nonzeros, Offset bytes_per_value,
                                           const SolverConfig& solver,
                                           const PreconditionerConfig& preconditioner,
                                           const FormatOptions& format);

/// One step of a Solver through its attempts, for its listener.
struct AttemptEvent {
    enum class Kind : std::uint8_t {
        setup,   ///< The setup of the attempt begins.
        ready,   ///< The attempt is set up.
        failed,  ///< The attempt is given up; the next one follows.
    };
    Kind kind;
    const Attempt& attempt;      ///< What was chosen, and why.
    MemoryEstimate memory = {};  ///< With Kind::setup.
    std::string outcome = {};    ///< With Kind::failed: why, half a sentence.
    Offset iterations = 0;       ///< Iterations of this solve so far, in all attempts.
};

/// A matrix, a preconditioner and a solver for many solves, for example in the steps of a
/// simulation. Vectors, plans and graphs are reused: solves after the first one, with the
/// preconditioner on the same side, allocate nothing in the memory of the Context. The observer of
/// a solve must not call the solver (InUse).
template <class T>
class TESSERA_API Solver {
  public:
    explicit Solver(const Context& context, MethodConfig method = MethodConfig());
    /// The method that the texts name; preconditioner and format are not auto by default.
    explicit Solver(const Context& context, const Spec& solver, const Spec& preconditioner = "none",
                    const Spec& format = "csr")
        : Solver(context, MethodConfig(solver, preconditioner, format)) {}
    ~Solver();
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;

    /// Positions of the nodes of the matrix, and near-null vectors (tessera/amg.hpp), for the next
    /// setup of amg.
    void use_coordinates(const Shared<NodeCoordinates>& coordinates);
    void use_near_null_space(const Shared<NearNullSpace>& vectors);
    /// Vectors z with A z = 0 of a symmetric matrix, for the next setup: constants of a problem
    /// without boundary values, rigid motions of a free body. Their part of b is left out
    /// (SolveReport::null_space_part), and x is orthogonal to them. With auto the constant and
    /// rigid motions are found. Setup throws InvalidArgument where A z is not 0.
    void use_null_space(const Shared<NearNullSpace>& vectors);
    /// Calls `listener` from now on with each AttemptEvent. What it throws passes through `setup`
    /// and `solve`, except an OutOfMemory at the setup of an attempt: as from a setup that finds
    /// too little memory, the next attempt follows.
    void on_attempt(std::function<void(const AttemptEvent&)> listener);

    /// Converts a square matrix in the memory of the Context and sets up the preconditioner. The
    /// arrays must outlive the solver, or its next setup or update: solutions are judged by them
    /// row by row. With auto the attempts are chosen here; one whose setup fails for this
    /// matrix is skipped. Where solver or preconditioner is auto, an equivalent system that is
    /// smaller or symmetric is solved instead (MatrixFacts::reduction; docs/guide/reductions.md).
    /// Blocks until the work is complete. Invalid arguments change nothing; if it fails later, the
    /// solver has no matrix; one that a TimeLimit ends is begun again by the next solve. Throws
    /// InvalidArgument if an inverse is out of the range of the precision that was requested for
    /// it.
    void setup(const CsrView<T>& matrix);
    void setup(CsrMatrix<T>&&) = delete;  ///< A temporary would not outlive the solver.
    /// Sets up with a preconditioner of the caller in place of that of the text. It must outlive
    /// the solver, or its next setup, and is not updated.
    void setup(const CsrView<T>& matrix, const Operator<T>& preconditioner);
    /// Solves with operators of the caller, which must outlive the solver, or its next setup;
    /// `preconditioner` nullptr: none. A solver auto is gmres:50.
    void setup(const Operator<T>& matrix, const Operator<T>* preconditioner);

    /// New values on the same pattern, which is not compared; otherwise as setup. With auto the
    /// attempts are chosen anew if the one in use cannot be set up for them, or fails and they are
    /// of another kind (symmetry, signs of the diagonal), and again for a later update's values.
    void update(const CsrView<T>& matrix);
    void update(CsrMatrix<T>&&) = delete;
    /// Call it after an operator of the caller has changed.
    void operators_changed();
    bool has_matrix() const;

    /// Solves A x = b as tessera::solve does, and judges x row by row, unless A is an operator of
    /// the caller. Converged is then also that the componentwise backward error is at most 100
    /// times the tolerance (else the status is unbalanced); x at the accuracy of T is solved
    /// (rounding_limit), also where the tolerance is out of reach. If the preconditioner cannot be
    /// used (preconditioner_report().unusable says why), no iteration is done, and the status is
    /// singular_block, or non_finite if the matrix has NaN or infinity. x is written when the solve
    /// ends: after an exception, such as one that the observer throws, x is unchanged and the
    /// solver can be used again, unless the setup of another attempt failed (has_matrix). A
    /// preconditioner that changed during a solve (recoveries of the report) keeps this change
    /// until the next update. Throws InvalidArgument without a matrix.
    SolveReport solve(Input<T> b, WriteVector<T> x, const SolveOptions& options = {});

    /// Solves A x_j = b_j for several right-hand sides, with one report each, as IterativeSolver
    /// does.
    std::vector<SolveReport> solve(Vectors<const T> b, Vectors<T> x,
                                   const SolveOptions& options = {});

    /// The report of the latest setup or update, or of the solve that changed the preconditioner
    /// since.
    const PreconditionerReport& preconditioner_report() const;
    /// The normalised text of the preconditioner in use, or of the one whose setup a TimeLimit
    /// ended, "block_jacobi:24"; "none"; "operator" for one of the caller.
    std::string preconditioner() const;
    /// Operator::singular_blocks of the preconditioner.
    Index singular_blocks() const;
    /// The format of the products, with the size of the blocks that was found: "sbell:2";
    /// "operator" for one of the caller.
    std::string format() const;

    /// With auto the attempts that the latest setup chose, and the index of the one in use: if it
    /// cannot be set up (for the matrix, or for lack of memory) or a solve does not converge with
    /// it, the next one is set up and continues from the best x so far, and stays in use until the
    /// next setup. They are for preconditioning on the side of the latest solve, at first the right
    /// one; a solve on the other side chooses anew. Exact factors of a small matrix that come first
    /// are the only one as long as they do not fail. Empty without auto.
    std::vector<Attempt> attempts() const;
    int attempt() const;
    /// What the attempts were chosen by.
    const MatrixFacts& facts() const;

  private:
    struct State;
    State& state() const;
    std::unique_ptr<State> state_;
};

/// Sets up in at most `seconds`; returns how many are left for the solve. Where none are, that ends
/// as max_seconds without an iteration.
template <class T>
double setup_within(Solver<T>& solver, const CsrView<T>& matrix, double seconds) {
    const TimeLimit limit(seconds);
    try {
        solver.setup(matrix);
    } catch (const Stopped& stopped) {
        if (stopped.interrupted()) throw;
    }
    return limit.seconds_left();
}

/// Solves A x = b by what auto chooses, setup and solve in max_seconds of the options; x holds the
/// initial guess. For one solve: a Solver keeps its setup for more.
template <class T>
SolveReport solve(const Context& context, const CsrView<T>& matrix, Input<T> b, WriteVector<T> x,
                  const SolveOptions& options = {}) {
    Solver<T> solver(context);
    SolveOptions rest = options;
    rest.max_seconds = setup_within(solver, matrix, options.max_seconds);
    return solver.solve(b, x, rest);
}
template <class T>
SolveReport solve(const Context& context, const CsrMatrix<T>& matrix, Input<T> b, WriteVector<T> x,
                  const SolveOptions& options = {}) {
    return solve(context, matrix.view(), b, x, options);
}

}  // namespace tessera
