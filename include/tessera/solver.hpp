#pragma once

#include "tessera/formats.hpp"
#include "tessera/krylov.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// A matrix, a preconditioner and a solver for one solve after another, for example in the steps of
/// a simulation; all made from texts. Vectors, plans and graphs stay from call to call: solves
/// after the first one allocate nothing in the memory of the Context.
template <class T>
class TESSERA_API Solver {
  public:
    /// `solver`: as in tessera::solve, or refinement[:SOLVER][,rtol=1e-3] for T = double;
    /// `preconditioner`: as in make_preconditioner, or none; `format`: as in parse_format, of the
    /// products with the matrix. Throws InvalidArgument for others.
    explicit Solver(const Context& context, const Spec& solver, const Spec& preconditioner = "none",
                    const Spec& format = "csr");
    ~Solver();
    Solver(Solver&&) noexcept;
    Solver& operator=(Solver&&) noexcept;

    /// Takes a square matrix in the memory of the Context: converts it and sets up the
    /// preconditioner. The arrays must outlive the solver, or its next setup or update: format csr
    /// and the polynomials read them. Waits. If it throws, the solver has no matrix.
    void setup(const CsrView<T>& matrix);
    void setup(const CsrMatrix<T>& matrix) { setup(matrix.view()); }

    /// Takes new values on the same pattern, which is not compared. Waits. If it throws, the solver
    /// has no matrix.
    void update(const CsrView<T>& matrix);
    void update(const CsrMatrix<T>& matrix) { update(matrix.view()); }

    /// Solves A x = b as tessera::solve does; one with a preconditioner that cannot be used ends as
    /// singular_block without a start. x is written when the solve ends: an exception, such as one
    /// that the observer throws, leaves it as it was, and the solver usable. Throws InvalidArgument
    /// without a matrix.
    SolveReport solve(ReadVector<T> b, WriteVector<T> x, const SolveOptions& options = {});

    /// Of the latest setup or update.
    const PreconditionerReport& preconditioner_report() const;
    /// Its normalised text, "block_jacobi:24"; "none".
    std::string preconditioner() const;

  private:
    struct State;
    State& state() const;
    std::unique_ptr<State> state_;
};

/// The report of a solve that is not started because a preconditioner cannot be used.
TESSERA_API SolveReport unsolved_report(const PreconditionerReport& setup);

}  // namespace tessera
