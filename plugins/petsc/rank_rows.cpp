#include "rank_rows.hpp"

#include "product.hpp"

namespace tessera::petsc {

RankRows::~RankRows() { static_cast<void>(MatDestroy(&converted_)); }

/// Both parts of the matrix, and the columns of the second one.
PetscErrorCode RankRows::find_parts(Mat matrix) {
    LocalBlocks blocks;
    PetscBool symmetric_half, in_blocks;
    PetscInt rows, columns, count = 0, block = 1;

    PetscFunctionBegin;
    matrix_ = matrix;
    PetscCall(PetscObjectBaseTypeCompare(PetscObject(matrix), MATMPISBAIJ, &symmetric_half));
    if (symmetric_half) {
        PetscCall(MatDestroy(&converted_));
        PetscCall(MatConvert(matrix, MATMPIAIJ, MAT_INITIAL_MATRIX, &converted_));
        matrix_ = converted_;
    }
    PetscCall(local_blocks(matrix_, blocks));
    own_block_ = blocks.diagonal;
    other_block_ = blocks.off_diagonal;
    PetscCall(MatGetLocalSize(matrix_, &rows, &columns));
    int differ = rows != columns, any = differ;
    const MPI_Comm comm = PetscObjectComm(PetscObject(matrix));
    PetscCallMPI(MPI_Allreduce(&differ, &any, 1, MPI_INT, MPI_MAX, comm));
    PetscCheck(!any, comm, PETSC_ERR_ARG_SIZ,
               "Tessera takes square matrices whose columns are distributed as the rows");
    if (other_block_) {
        PetscCall(PetscObjectBaseTypeCompare(PetscObject(matrix_), MATMPIBAIJ, &in_blocks));
        if (in_blocks) PetscCall(MatGetBlockSize(matrix_, &block));
        PetscCall(MatGetSize(other_block_, nullptr, &count));
    }
    has_others_ = count > 0;
    columns_.resize(std::size_t(count));
    for (PetscInt k = 0; k < count; ++k) {
        columns_[std::size_t(k)] = blocks.ghosts[k / block] * block + k % block;
    }
    PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode RankRows::read(Mat matrix, bool anew) {
    PetscFunctionBegin;
    PetscCall(find_parts(matrix));
    PetscCall(guarded_on_all(PetscObjectComm(PetscObject(matrix)), [&]() -> PetscErrorCode {
        PetscFunctionBegin;
        PetscCall(LocalMatrix::read(own_block_, anew, own_));
        if (has_others_) PetscCall(LocalMatrix::read(other_block_, anew, others_));
        PetscFunctionReturn(PETSC_SUCCESS);
    }));
    PetscFunctionReturn(PETSC_SUCCESS);
}

}  // namespace tessera::petsc
