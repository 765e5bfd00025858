#pragma once

#include <optional>

#include "petsc.hpp"

namespace tessera::petsc {

/// A sequential matrix of PETSc as CSR arrays in the memory that PETSc has its values in. AIJ is
/// read in place, but for row offsets and 64-bit columns; BAIJ is copied to the order of CSR; SBAIJ
/// is converted to AIJ by PETSc. Other types are refused by their names.
class LocalMatrix {
  public:
    LocalMatrix() = default;
    ~LocalMatrix();
    LocalMatrix(const LocalMatrix&) = delete;
    LocalMatrix& operator=(const LocalMatrix&) = delete;

    /// Reads pattern and values. Throws.
    PetscErrorCode set(Mat matrix);
    /// Reads other values on the same pattern. Throws.
    PetscErrorCode update(Mat matrix);
    /// The arrays, valid until the values or the pattern of the Mat change.
    CsrView<Scalar> view() const { return view_; }
    PetscMemType memory() const { return memory_; }
    std::optional<Context>& context() { return context_; }

  private:
    enum class Kind { aij, baij, sbaij };

    PetscErrorCode set_aij(Mat matrix);
    PetscErrorCode set_baij(Mat matrix);
    void borrow_on_host(PetscInt rows, PetscInt columns, const PetscInt* offsets,
                        const PetscInt* column_indices, const Scalar* values);

    Kind kind_ = Kind::aij;
    PetscMemType memory_ = PETSC_MEMTYPE_HOST;
    std::optional<Context> context_;
    CsrView<Scalar> view_;
    BorrowedMatrix<Scalar> borrowed_;  ///< In host memory.
    Buffer<Offset> offsets_;           ///< On a GPU.
    Buffer<Index> columns_;            ///< On a GPU, with 64-bit PetscInt.
    Mat converted_ = nullptr;          ///< An SBAIJ matrix in AIJ.
};

/// A size of a local matrix as an Index; throws if it is beyond 2^31 - 1.
Index local_size(PetscInt size);

}  // namespace tessera::petsc
