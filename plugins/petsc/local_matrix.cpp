#include "local_matrix.hpp"

#include <limits>
#include <vector>

#include "device.hpp"

namespace tessera::petsc {

Index local_size(PetscInt size) {
    if (size > PetscInt(std::numeric_limits<Index>::max())) {
        throw InvalidArgument(
            "a rank has " + std::to_string(size) +
            " rows or columns, more than the 2^31 - 1 that Tessera can index: use "
            "more ranks");
    }
    return Index(size);
}

namespace {

/// Ends reading the values of a SeqBAIJ matrix. PETSc counts that as a change in newer
/// releases, and would set up preconditioners anew before each solve.
PetscErrorCode end_reading(Mat matrix, Scalar** values) {
    PetscObjectState state;

    PetscFunctionBegin;
    PetscCall(PetscObjectStateGet(PetscObject(matrix), &state));
    PetscCall(MatSeqBAIJRestoreArray(matrix, values));
    PetscCall(PetscObjectStateSet(PetscObject(matrix), state));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace

LocalMatrix::~LocalMatrix() {
    if (converted_ != nullptr) static_cast<void>(MatDestroy(&converted_));
}

PetscErrorCode LocalMatrix::set(Mat matrix) {
    PetscBool aij, baij, sbaij;
    MatType type;

    PetscFunctionBegin;
    const PetscObject object = PetscObject(matrix);
    PetscCall(PetscObjectBaseTypeCompare(object, MATSEQAIJ, &aij));
    PetscCall(PetscObjectBaseTypeCompare(object, MATSEQBAIJ, &baij));
    PetscCall(PetscObjectBaseTypeCompare(object, MATSEQSBAIJ, &sbaij));
    PetscCall(MatGetType(matrix, &type));
    PetscCheck(aij || baij || sbaij, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Tessera takes matrices of the types aij, baij and sbaij, and this one is %s: "
               "convert it with MatConvert(A, MATAIJ, ...)",
               type);
    kind_ = aij ? Kind::aij : baij ? Kind::baij : Kind::sbaij;
    PetscCall(MatDestroy(&converted_));
    if (kind_ == Kind::sbaij) {
        PetscCall(MatConvert(matrix, MATSEQAIJ, MAT_INITIAL_MATRIX, &converted_));
        matrix = converted_;
    }
    PetscCall(kind_ == Kind::baij ? set_baij(matrix) : set_aij(matrix));
    PetscFunctionReturn(PETSC_SUCCESS);
}

void LocalMatrix::borrow_on_host(PetscInt rows, PetscInt columns, const PetscInt* offsets,
                                 const PetscInt* column_indices, const Scalar* values) {
    borrowed_ = borrow_csr<Scalar>(*context_, local_size(rows), local_size(columns),
                                   Offset(offsets[rows]), reinterpret_cast<const Integer*>(offsets),
                                   reinterpret_cast<const Integer*>(column_indices), values,
                                   {.sort = SortColumns::if_needed});
    view_ = borrowed_.view();
}

PetscErrorCode LocalMatrix::set_aij(Mat matrix) {
    const PetscInt *offsets, *columns, *host_offsets, *host_columns;
    PetscInt rows, width;
    Scalar* values;
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatGetSize(matrix, nullptr, &width));
    // Copies the values to the device first, where those of the host are newer.
    PetscCall(MatSeqAIJGetCSRAndMemType(matrix, &offsets, &columns, &values, &memory_));
    PetscCall(context_for(memory_, context_));
    PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &host_offsets, &host_columns,
                          &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the matrix gives no row offsets");
    if (!context_->on_gpu()) {
        borrow_on_host(rows, width, host_offsets, host_columns, values);
    } else {
        const Offset nonzeros = Offset(host_offsets[rows]);
        offsets_ =
            copy_to_buffer(*context_, std::vector<Offset>(host_offsets, host_offsets + rows + 1));
        const Index* narrow = reinterpret_cast<const Index*>(columns);
        if (sizeof(PetscInt) > sizeof(Index)) {
            columns_ = copy_to_buffer(*context_,
                                      std::vector<Index>(host_columns, host_columns + nonzeros));
            narrow = columns_.data();
        }
        view_ = {local_size(rows), local_size(width), nonzeros, offsets_.data(), narrow, values};
    }
    PetscCall(MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &rows, &host_offsets,
                              &host_columns, &done));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalMatrix::set_baij(Mat matrix) {
    const PetscInt *offsets, *columns;
    PetscInt rows, width, block;
    Scalar* values;
    PetscBool done;

    PetscFunctionBegin;
    memory_ = PETSC_MEMTYPE_HOST;
    PetscCall(context_for(memory_, context_));
    PetscCall(MatGetBlockSize(matrix, &block));
    PetscCall(MatGetSize(matrix, nullptr, &width));
    PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &offsets, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "the matrix gives no row offsets");
    PetscCall(MatSeqBAIJGetArray(matrix, &values));
    local_size(rows * block);
    borrowed_ = borrow_bsr<Scalar>(
        *context_, local_size(rows), local_size(width / block), local_size(block),
        Offset(offsets[rows]), reinterpret_cast<const Integer*>(offsets),
        reinterpret_cast<const Integer*>(columns), values, BlockOrder::column_major);
    view_ = borrowed_.view();
    PetscCall(end_reading(matrix, &values));
    PetscCall(
        MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_TRUE, &rows, &offsets, &columns, &done));
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode LocalMatrix::update(Mat matrix) {
    const PetscInt *offsets, *columns;
    Scalar* values;

    PetscFunctionBegin;
    if (kind_ == Kind::baij) {
        PetscCall(MatSeqBAIJGetArray(matrix, &values));
        borrowed_.update(*context_, values);
        view_ = borrowed_.view();
        PetscCall(end_reading(matrix, &values));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (kind_ == Kind::sbaij) {  // MAT_REUSE_MATRIX gives wrong values in PETSc 3.18 of 64 bits.
        PetscCall(set(matrix));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    const PetscMemType before = memory_;
    PetscCall(MatSeqAIJGetCSRAndMemType(matrix, &offsets, &columns, &values, &memory_));
    // Moved between host and device meanwhile (MatBindToCPU): all is read anew.
    if (PetscMemTypeHost(before) != PetscMemTypeHost(memory_)) {
        PetscCall(set_aij(matrix));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(follow_stream(context_));
    if (context_->on_gpu()) {
        view_.values = values;
        if (sizeof(PetscInt) == sizeof(Index)) {
            view_.column_indices = reinterpret_cast<const Index*>(columns);
        }
    } else {
        borrowed_.update(*context_, values);
        view_ = borrowed_.view();
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace tessera::petsc
