#pragma once

#include <memory>
#include <optional>

#include "petsc.hpp"

namespace tessera::petsc {

/// A sequential matrix of PETSc as CSR arrays in the memory that PETSc has its values in. AIJ is
/// read in place, but for row offsets and 64-bit columns; BAIJ is copied to the order of CSR; SBAIJ
/// is converted to AIJ by PETSc. Other types are refused by their names. A Mat keeps its
/// LocalMatrix, which all that read it share.
class LocalMatrix {
  public:
    /// Sets `local` to that of the Mat, with its present values; and with its present pattern if
    /// the Mat counts a change of it, or if it is to be read `anew`. Throws.
    static PetscErrorCode read(Mat matrix, bool anew, std::shared_ptr<LocalMatrix>& local);

    LocalMatrix() = default;
    ~LocalMatrix();
    LocalMatrix(const LocalMatrix&) = delete;
    LocalMatrix& operator=(const LocalMatrix&) = delete;

    /// The arrays, valid until the values or the pattern of the Mat change.
    CsrView<Scalar> view() const { return view_; }
    PetscMemType memory() const { return memory_; }
    std::optional<Context>& context() { return context_; }

  private:
    enum class Kind { aij, baij, sbaij };

    /// Reads pattern and values.
    PetscErrorCode set(Mat matrix);
    /// Reads other values on the same pattern.
    PetscErrorCode update(Mat matrix);
    PetscErrorCode set_aij(Mat matrix);
    PetscErrorCode set_baij(Mat matrix);

    Kind kind_ = Kind::aij;
    PetscObjectState state_ = -1, pattern_ = -1;  ///< States of the Mat when it was read.
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;
    std::optional<Context> context_;
    CsrView<Scalar> view_;
    BorrowedMatrix<Scalar> borrowed_;
    const PetscInt* columns_ = nullptr;  ///< The array of an AIJ matrix that was borrowed.
    /// Copies on a GPU: of the offsets, and of 64-bit columns.
    Buffer<Integer> gpu_offsets_, gpu_columns_;
    Mat converted_ = nullptr;  ///< An SBAIJ matrix in AIJ.
};

/// A size of a local matrix as an Index; throws if it is beyond 2^31 - 1.
Index local_size(PetscInt size);

}  // namespace tessera::petsc
