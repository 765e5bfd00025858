#pragma once

#include "petsc.hpp"

namespace tessera::petsc {

/// Products y = A x and z = y + A x of a sequential matrix (or of a block of a parallel one) with
/// its values in one of Tessera's formats: replaces MATOP_MULT and MATOP_MULT_ADD and nothing
/// else, so that the type of the matrix, its arrays, and products of matrices stay PETSc's. The
/// values are converted at the first product and after they change.
///
/// `format` is a text of parse_format ("sbell:3,values=working"), null: that of the option
/// -mat_tessera_format ("sbell").
PetscErrorCode replace_products(Mat matrix, const char* format);

/// Products with both local blocks of a parallel matrix (for an MPISBAIJ matrix the diagonal one),
/// or for a sequential matrix; converts at once, so that errors come here and on all ranks.
/// Collective.
PetscErrorCode replace_local_products(Mat matrix, const char* format);

/// What -mat_seqaij_type seqaijtessera does to each new SeqAIJ matrix.
PetscErrorCode use_own_products(Mat matrix, MatType type, MatReuse reuse, Mat* result);

/// The local blocks of a matrix. For a sequential matrix the diagonal one is the matrix itself;
/// `off_diagonal` is null there and where PETSc does not give it (MPISBAIJ). Column j of
/// `off_diagonal` is column `ghosts[j]` of the matrix (a block column of BAIJ).
struct LocalBlocks {
    Mat diagonal = nullptr, off_diagonal = nullptr;
    const PetscInt* ghosts = nullptr;
};
PetscErrorCode local_blocks(Mat matrix, LocalBlocks& blocks);

}  // namespace tessera::petsc
