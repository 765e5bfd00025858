#pragma once

#include <memory>
#include <optional>

#include "petsc.hpp"
#include "rank_rows.hpp"

namespace tessera::petsc {

/// S A S for a matrix A over several ranks with a positive diagonal, S = diag(a_ii)^(-1/2): both
/// local blocks in a format of Tessera, values of other ranks by PetscSF (through the GPU's memory
/// where PETSc does so). As an Operator it maps the rows of this rank; apply and apply_step are
/// collective.
class DistributedOperator final : public Operator<Scalar> {
  public:
    DistributedOperator() = default;
    ~DistributedOperator() override;

    /// Converts, once only; `positive` is false if a diagonal entry of some rank is not positive,
    /// and then the operator must not be applied. Collective.
    PetscErrorCode set(Mat matrix, const FormatOptions& format, bool& positive);
    /// Updates to new values on the same pattern.
    PetscErrorCode update(Mat matrix, bool& positive);

    Index rows() const override { return rows_; }
    Index columns() const override { return rows_; }
    void apply(const Context& context, std::span<const Scalar> x,
               std::span<Scalar> y) const override;
    void apply_step(const Context& context, const RecurrenceStep<Scalar>& step,
                    std::span<const Scalar> x, std::span<const Scalar> y, std::span<const Scalar> r,
                    std::span<Scalar> next, std::span<Scalar> work) const override;
    bool can_be_captured() const override { return false; }

    /// The diagonal of S, the rows of this rank.
    std::span<const Scalar> scaling() const { return scaling_.view().first(std::size_t(rows_)); }
    std::optional<Context>& context() { return parts_.context(); }
    MPI_Comm comm() const { return comm_; }
    /// Rows of all ranks, and the first one of this rank.
    PetscInt all_rows() const { return all_rows_; }
    PetscInt first_row() const { return first_row_; }
    const FormatOptions& format() const { return inner_->options(); }
    Offset bytes() const;
    Offset nonzeros() const;

  private:
    /// Makes the exchange that brings the entries of x of other ranks.
    PetscErrorCode set_up_exchange();
    PetscErrorCode compute_scaling(bool& positive);
    PetscErrorCode scale_and_convert(bool& positive);
    void scale_off_diagonal(bool fresh);
    void convert();
    void begin_exchange(std::span<const Scalar> x) const;
    void end_exchange(std::span<const Scalar> x) const;

    FormatOptions format_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    RankRows parts_;
    PetscSF exchange_ = nullptr;
    Index rows_ = 0;
    PetscInt all_rows_ = 0, first_row_ = 0;
    Buffer<Scalar> scaling_;               ///< Factors of the rows, then of the ghosts.
    mutable Buffer<Scalar> ghost_values_;  ///< Ghosts of the x at work.
    CsrMatrix<Scalar> row_scaling_, ghost_scaling_, half_scaled_, scaled_;  ///< Off-diagonal.
    std::unique_ptr<SlicedMatrix<Scalar>> inner_, outer_;
};

}  // namespace tessera::petsc
