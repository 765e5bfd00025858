#pragma once

#include "tessera/choice.hpp"
#include "tessera/formats.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// A matrix, a preconditioner and a solver, named by texts, for many solves, for example in the
/// steps of a simulation. Vectors, plans and graphs are reused: solves after the first one, with
/// the preconditioner on the same side, allocate nothing in the memory of the Context. The observer
/// of a solve must not call the solver (InvalidArgument).
template <class T>
class TESSERA_API Solver {
  public:
    /// `solver`: as in tessera::solve, or refinement[:SOLVER][,rtol=1e-3] for T = double;
    /// `preconditioner`: as in make_preconditioner, or none; `format`: as in parse_format, of the
    /// products with the matrix; each may be auto (choose). Throws InvalidArgument for others.
    explicit Solver(const Context& context, const Spec& solver, const Spec& preconditioner = "none",
                    const Spec& format = "csr");
    ~Solver();
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;

    /// Positions of the nodes of the matrix, for the next setup of amg.
    void use_coordinates(const Shared<NodeCoordinates>& coordinates);
    /// Converts a square matrix in the memory of the Context and sets up the preconditioner. With
    /// format csr, or if one of the texts is auto, the arrays must outlive the solver, or its next
    /// setup or update. With auto the attempts are chosen here; one whose setup fails for this
    /// matrix is skipped. Blocks until the work is complete. Invalid arguments change nothing; if
    /// it fails later, the solver has no matrix. Throws InvalidArgument if an inverse is out of the
    /// range of the precision that was requested for it. With refinement on the CPU, values must be
    /// in the range of float.
    void setup(const CsrView<T>& matrix);
    void setup(const CsrMatrix<T>& matrix) { setup(matrix.view()); }

    /// New values on the same pattern, which is not compared; otherwise as setup.
    void update(const CsrView<T>& matrix);
    void update(const CsrMatrix<T>& matrix) { update(matrix.view()); }
    bool has_matrix() const;

    /// Solves A x = b as tessera::solve does. If the preconditioner cannot be used
    /// (preconditioner_report().unusable says why), no iteration is done, and the status is
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

    /// Of the latest setup or update, or of the solve that changed the preconditioner since.
    const PreconditionerReport& preconditioner_report() const;
    /// Its normalised text, "block_jacobi:24"; "none".
    std::string preconditioner() const;
    /// Its Operator::singular_blocks.
    Index singular_blocks() const;
    /// The format of the products, with the size of the blocks that was found: "sbell:2".
    std::string format() const;

    /// With auto the attempts that the latest setup chose, and the index of the one in use: if it
    /// cannot be set up (for the matrix, or for lack of memory) or a solve does not converge with
    /// it (worth_another), the next one is set up and continues from the best x so far,
    /// and stays in use until the next setup. They are for preconditioning
    /// on the side of the latest solve, at first the right one; a solve on the other side chooses
    /// anew. Empty without auto.
    std::vector<Attempt> attempts() const;
    int attempt() const;

  private:
    struct State;
    State& state() const;
    std::unique_ptr<State> state_;
};

}  // namespace tessera
