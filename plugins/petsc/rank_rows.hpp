#pragma once

#include "local_matrix.hpp"
#include "petsc.hpp"

namespace tessera::petsc {

/// The rows that this rank has of a square matrix, in the two parts of PETSc: own columns, and
/// those of other ranks. A parallel SBAIJ matrix, of which PETSc stores the upper triangle alone,
/// is converted to AIJ.
class RankRows {
  public:
    RankRows() = default;
    ~RankRows();
    RankRows(const RankRows&) = delete;
    RankRows& operator=(const RankRows&) = delete;

    /// Reads values, and the pattern if it has changed or is to be read `anew`. What fails on one
    /// rank fails on all. Collective.
    PetscErrorCode read(Mat matrix, bool anew);

    const LocalMatrix& own() const { return *own_; }
    /// Null where no row has columns of other ranks.
    const LocalMatrix* others() const { return has_others_ ? others_.get() : nullptr; }
    /// The columns of the matrix that those of `others` are; empty without these.
    const std::vector<PetscInt>& columns_of_others() const { return columns_; }
    std::optional<Context>& context() { return own_->context(); }
    /// The matrix read, in AIJ if it was converted, and its part with own columns.
    Mat matrix() const { return matrix_; }
    Mat own_block() const { return own_block_; }

  private:
    PetscErrorCode find_parts(Mat matrix);

    Mat matrix_ = nullptr, converted_ = nullptr, own_block_ = nullptr, other_block_ = nullptr;
    std::shared_ptr<LocalMatrix> own_, others_;
    bool has_others_ = false;
    std::vector<PetscInt> columns_;
};

}  // namespace tessera::petsc
