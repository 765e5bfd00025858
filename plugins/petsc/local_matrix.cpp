#include "local_matrix.hpp"

#include <limits>
#include <vector>

#include "composed.hpp"
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

const PetscInt* copy_to_gpu(const Context& context, const PetscInt* host, Offset count,
                            Buffer<Integer>& copy) {
    copy = copy_to_buffer(context,
                          std::span(reinterpret_cast<const Integer*>(host), std::size_t(count)));
    return reinterpret_cast<const PetscInt*>(copy.data());
}

constexpr const char* key = "tessera_matrix";

}  // namespace

PetscErrorCode LocalMatrix::read(Mat matrix, bool anew, std::shared_ptr<LocalMatrix>& local) {
    using Shared = std::shared_ptr<LocalMatrix>;
    Shared* kept;
    PetscObjectState state, pattern;

    PetscFunctionBegin;
    PetscCall(find_composed(PetscObject(matrix), key, kept));
    if (kept) {
        local = *kept;
    } else {
        local = std::make_shared<LocalMatrix>();
        PetscCall(compose(PetscObject(matrix), key, std::make_unique<Shared>(local)));
    }
    PetscCall(PetscObjectStateGet(PetscObject(matrix), &state));
    PetscCall(MatGetNonzeroState(matrix, &pattern));
    if (anew || pattern != local->pattern_) {
        local->pattern_ = -1;
        PetscCall(local->set(matrix));
    } else if (state != local->state_ || local->kind_ == Kind::aij) {  // Its arrays may have moved.
        local->state_ = -1;
        PetscCall(local->update(matrix));
    }
    // Reading may have counted as a change.
    PetscCall(PetscObjectStateGet(PetscObject(matrix), &local->state_));
    local->pattern_ = pattern;
    PetscFunctionReturn(PETSC_SUCCESS);
}

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
    const Offset nonzeros = Offset(host_offsets[rows]);
    columns_ = columns;
    if (!context_->on_gpu()) {
        offsets = host_offsets;
        columns = host_columns;
    } else {  // Offsets that PETSc has on a GPU may leave out empty rows; columns are of 32 bits.
        offsets = copy_to_gpu(*context_, host_offsets, Offset(rows) + 1, gpu_offsets_);
        if (sizeof(PetscInt) > sizeof(Index)) {
            columns = copy_to_gpu(*context_, host_columns, nonzeros, gpu_columns_);
        }
    }
    borrowed_ = borrow_csr<Scalar>(*context_, local_size(rows), local_size(width), nonzeros,
                                   reinterpret_cast<const Integer*>(offsets),
                                   reinterpret_cast<const Integer*>(columns), values,
                                   {.sort = SortColumns::if_needed});
    view_ = borrowed_.view();
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
    // In another place than before, as after MatBindToCPU: all is read anew.
    if (PetscMemTypeHost(before) != PetscMemTypeHost(memory_) || columns != columns_) {
        PetscCall(set_aij(matrix));
        PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(follow_stream(context_));
    borrowed_.update(*context_, values);
    view_ = borrowed_.view();
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace tessera::petsc
