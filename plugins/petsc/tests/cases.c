static char help[] =
    "Cases of the tests of libpetsctessera.so; the preconditioner comes by options.\n"
    "  -case <name>  one of the functions named in main; each ends with a line 'passed' or an "
    "error\n\n";

#include "cases.h"

PetscErrorCode CreateMatrix(PetscInt mine, PetscReal factor, PetscBool skew, Mat* A) {
    PetscInt nodes, first, last, i, k, a, b, row, col;
    PetscScalar value;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, BLOCK * mine, BLOCK * mine, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, BLOCK));
    PetscCall(MatSetFromOptions(*A));
    /* Options of other types than the matrix's do nothing. */
    PetscCall(MatSeqAIJSetPreallocation(*A, 5 * BLOCK, NULL));
    PetscCall(MatMPIAIJSetPreallocation(*A, 5 * BLOCK, NULL, 4 * BLOCK, NULL));
    PetscCall(MatSeqBAIJSetPreallocation(*A, BLOCK, 5, NULL));
    PetscCall(MatMPIBAIJSetPreallocation(*A, BLOCK, 5, NULL, 4, NULL));
    PetscCall(MatSetUp(*A));
    PetscCall(MatGetSize(*A, &nodes, NULL));
    nodes /= BLOCK;
    PetscCall(MatGetOwnershipRange(*A, &first, &last));
    for (i = first / BLOCK; i < last / BLOCK; ++i)
        for (k = -2; k <= 2; ++k) {
            const PetscInt far = k == 2 || k == -2 ? 3 * k : k, j = i + far; /* -6, -1, 0, 1, 6 */
            if (j < 0 || j >= nodes) continue;
            for (a = 0; a < BLOCK; ++a)
                for (b = 0; b < BLOCK; ++b) {
                    row = BLOCK * i + a;
                    col = BLOCK * j + b;
                    value = row == col ? 9 + (row % 5)
                                       : -factor / (1 + PetscAbsInt(a - b)) / (i == j ? 2 : 1);
                    if (skew && col > row) value *= 0.5 + (row % 7) / 10.;
                    PetscCall(MatSetValue(*A, row, col, value, INSERT_VALUES));
                }
        }
    PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
    if (!skew) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscFunctionReturn(0);
}

PetscErrorCode CreatePC(Mat A, PC* pc) {
    PetscFunctionBeginUser;
    PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
    PetscCall(PCSetOperators(*pc, A, A));
    PetscCall(PCSetFromOptions(*pc));
    PetscCall(PCSetUp(*pc));
    PetscFunctionReturn(0);
}

PetscErrorCode CreateRandom(Mat A, unsigned long seed, Vec* x) {
    PetscRandom random;

    PetscFunctionBeginUser;
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    PetscCall(PetscRandomSetSeed(random, seed));
    PetscCall(PetscRandomSeed(random));
    PetscCall(MatCreateVecs(A, x, NULL));
    PetscCall(VecSetRandom(*x, random));
    PetscCall(PetscRandomDestroy(&random));
    PetscFunctionReturn(0);
}

PetscErrorCode Compare(Vec x, Vec y, PetscReal bound, const char* what) {
    Vec difference;
    PetscReal norm, size;

    PetscFunctionBeginUser;
    PetscCall(VecDuplicate(x, &difference));
    PetscCall(VecWAXPY(difference, -1, x, y));
    PetscCall(VecNorm(difference, NORM_INFINITY, &norm));
    PetscCall(VecNorm(x, NORM_INFINITY, &size));
    PetscCall(VecDestroy(&difference));
    PetscCheck(norm <= bound * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s: vectors of size %g differ by %g", what, (double)size, (double)norm);
    PetscFunctionReturn(0);
}

/* PCMatApply is PCApply of each column, PCApplyTranspose its adjoint (with -has_transpose). */
static PetscErrorCode Apply(void) {
    Mat A, X, Y;
    PC pc;
    Vec x, y, z, w;
    PetscRandom random;
    PetscInt n, c;
    PetscBool skew = PETSC_FALSE, has_transpose = PETSC_TRUE, cuda;
    PetscScalar left, right;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-skew", &skew, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-has_transpose", &has_transpose, NULL));
    PetscCall(CreateMatrix(20, 1, skew, &A));
    PetscCall(CreatePC(A, &pc));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    PetscCall(MatCreateDense(PETSC_COMM_WORLD, n, PETSC_DECIDE, PETSC_DECIDE, 5, NULL, &X));
    PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
    PetscCall(MatSetRandom(X, random));
    PetscCall(MatCreateVecs(A, &z, &w));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)z, &cuda, VECSEQCUDA, VECMPICUDA, ""));
    if (cuda) PetscCall(MatConvert(X, MATDENSECUDA, MAT_INPLACE_MATRIX, &X));
    PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
    PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
    PetscCall(PCMatApply(pc, X, Y));
    for (c = 0; c < 5; ++c) {
        PetscCall(MatDenseGetColumnVecRead(X, c, &x));
        PetscCall(PCApply(pc, x, z));
        PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
        PetscCall(MatDenseGetColumnVecRead(Y, c, &y));
        PetscCall(Compare(y, z, 0, "PCMatApply"));
        PetscCall(MatDenseRestoreColumnVecRead(Y, c, &y));
    }
    PetscCall(CreateRandom(A, 1, &x));
    PetscCall(CreateRandom(A, 2, &y));
    PetscCall(PCApply(pc, x, z));
    if (has_transpose) {
        PetscCall(PCApplyTranspose(pc, y, w));
        PetscCall(VecDot(y, z, &left));
        PetscCall(VecDot(x, w, &right));
        PetscCheck(
            PetscAbsScalar(left - right) <= 1e3 * PETSC_MACHINE_EPSILON * PetscAbsScalar(left),
            PETSC_COMM_WORLD, PETSC_ERR_PLIB, "y^T M x is %g, x^T M^T y %g", (double)left,
            (double)right);
    } else {
        PetscErrorCode code;

        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        code = PCApplyTranspose(pc, y, w);
        PetscCall(PetscPopErrorHandler());
        PetscCheck(code == PETSC_ERR_SUP, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
                   "PCApplyTranspose returned %d", (int)code);
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(VecDestroy(&w));
    PetscCall(PetscRandomDestroy(&random));
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Other values, then another pattern: the PC is that of the new matrix, bitwise. */
static PetscErrorCode Updates(void) {
    Mat A, B;
    PC pc, fresh;
    Vec x, y, z;

    PetscFunctionBeginUser;
    PetscCall(CreateMatrix(20, 1, PETSC_FALSE, &A));
    PetscCall(CreateMatrix(20, 0.5, PETSC_FALSE, &B));
    PetscCall(CreateRandom(A, 3, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(CreatePC(A, &pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(CreatePC(B, &fresh));
    PetscCall(PCApply(fresh, x, z));
    PetscCall(Compare(y, z, 0, "new values"));
    PetscCall(PCDestroy(&fresh));
    PetscCall(MatDestroy(&B));
    PetscCall(CreateMatrix(13, 1, PETSC_FALSE, &B));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, B, B));
    PetscCall(PCSetUp(pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(CreateRandom(B, 4, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(PCApply(pc, x, y));
    PetscCall(CreatePC(B, &fresh));
    PetscCall(PCApply(fresh, x, z));
    PetscCall(Compare(y, z, 0, "another pattern"));
    PetscCall(PCDestroy(&fresh));
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscFunctionReturn(0);
}

/* PCSetCoordinates changes the multigrid of -pc_tessera_spec amg, which is set up with rotations.
 */
static PetscErrorCode Coordinates(void) {
    Mat A;
    PC pc;
    Vec x, y, z;
    PetscInt n, i;
    PetscReal *places, norm;

    PetscFunctionBeginUser;
    PetscCall(CreateMatrix(300, 1, PETSC_FALSE, &A));
    PetscCall(CreateRandom(A, 7, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(CreatePC(A, &pc));
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCReset(pc));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    PetscCall(PetscMalloc1(n, &places));
    for (i = 0; i < n; ++i) places[i] = i % BLOCK == 0 ? i : (i * 7) % 11;
    PetscCall(PCSetCoordinates(pc, BLOCK, n / BLOCK, places));
    PetscCall(PetscFree(places));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, x, z));
    PetscCall(VecAXPY(z, -1, y));
    PetscCall(VecNorm(z, NORM_INFINITY, &norm));
    PetscCheck(norm > 0 && norm < PETSC_INFINITY, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "the preconditioners with and without coordinates differ by %g", (double)norm);
    PetscCall(PCDestroy(&pc));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Products of A (ours) and of B (PETSc's), equal matrices. */
static PetscErrorCode CompareProducts(Mat A, Mat B, const char* what) {
    Vec x, y, z;

    PetscFunctionBeginUser;
    PetscCall(CreateRandom(A, 5, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(VecDuplicate(x, &z));
    PetscCall(MatMult(A, x, y));
    PetscCall(MatMult(B, x, z));
    PetscCall(Compare(y, z, 100 * PETSC_MACHINE_EPSILON, what));
    PetscCall(MatMultAdd(A, x, x, y));
    PetscCall(MatMultAdd(B, x, x, z));
    PetscCall(Compare(y, z, 100 * PETSC_MACHINE_EPSILON, what));
    PetscCall(VecCopy(x, y));
    PetscCall(MatMultAdd(A, x, y, y));
    PetscCall(Compare(y, z, 100 * PETSC_MACHINE_EPSILON, what));
    PetscCall(MatMultTranspose(A, x, y));
    PetscCall(MatMultTranspose(B, x, z));
    PetscCall(Compare(y, z, 100 * PETSC_MACHINE_EPSILON, what));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(VecDestroy(&z));
    PetscFunctionReturn(0);
}

/* Products with the operator of a PC whose option replaces them, through changes of the matrix. */
static PetscErrorCode Products(void) {
    Mat A, B, copy, square, expected;
    PC pc;
    PetscBool aij;
    PetscInt first, last, rows;

    PetscFunctionBeginUser;
    PetscCall(CreateMatrix(20, 1, PETSC_TRUE, &A));
    PetscCall(CreateMatrix(20, 1, PETSC_TRUE, &B));
    PetscCall(CreatePC(A, &pc));
    PetscCall(CompareProducts(A, B, "product"));
    PetscCall(MatScale(A, 3));
    PetscCall(MatScale(B, 3));
    PetscCall(CompareProducts(A, B, "product of new values"));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &copy));
    PetscCall(CompareProducts(copy, B, "product of a copy"));
    PetscCall(MatDestroy(&copy));
    PetscCall(PetscObjectBaseTypeCompareAny((PetscObject)A, &aij, MATSEQAIJ, MATMPIAIJ, ""));
    if (aij) { /* Products of matrices are PETSc's. */
        PetscCall(MatMatMult(A, A, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &square));
        PetscCall(MatMatMult(B, B, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &expected));
        PetscCall(CompareProducts(square, expected, "product of a product"));
        PetscCall(MatDestroy(&square));
        PetscCall(MatDestroy(&expected));
        /* A new entry far away changes the pattern of both local blocks. */
        PetscCall(MatGetOwnershipRange(A, &first, &last));
        PetscCall(MatGetSize(A, &rows, NULL));
        PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(MatSetOption(B, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
        PetscCall(MatSetValue(A, first, rows - 1 - first, 0.25, INSERT_VALUES));
        PetscCall(MatSetValue(B, first, rows - 1 - first, 0.25, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
        PetscCall(CompareProducts(A, B, "product of a new pattern"));
        PetscCall(PCSetUp(pc));
        PetscCall(CompareProducts(A, B, "product after another PCSetUp"));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(CompareProducts(A, B, "product after PCDestroy"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
    PetscFunctionReturn(0);
}

/* Repeated create, set up, apply and destroy takes no more memory. */
static PetscErrorCode Cycles(void) {
    Mat A;
    PC pc;
    Vec x, y;
    PetscInt k, cycles = 300;
    PetscLogDouble before = 0, after;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &cycles, NULL));
    for (k = 0; k < cycles; ++k) {
        PetscCall(CreateMatrix(100, 1, PETSC_FALSE, &A));
        PetscCall(CreateRandom(A, 6, &x));
        PetscCall(VecDuplicate(x, &y));
        PetscCall(CreatePC(A, &pc));
        PetscCall(PCApply(pc, x, y));
        PetscCall(MatMult(A, x, y));
        PetscCall(PCDestroy(&pc));
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
        PetscCall(MatDestroy(&A));
        if (k == cycles / 3) PetscCall(PetscMemoryGetCurrentUsage(&before));
    }
    PetscCall(PetscMemoryGetCurrentUsage(&after));
    /* One matrix has 300 rows of about 15 entries, 50 kB. */
    PetscCheck(after - before < 7e3 * (double)cycles, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%g bytes are left after %" PetscInt_FMT " cycles", after - before, cycles);
    PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
    const struct {
        const char* name;
        PetscErrorCode (*run)(void);
    } cases[] = {{"apply", Apply},         {"updates", Updates}, {"coordinates", Coordinates},
                 {"products", Products},   {"few", Few},         {"singular", Singular},
                 {"repaired", Repaired},   {"cycles", Cycles},   {"types", Types},
                 {"exhausted", Exhausted}, {"faults", Faults}};
    char name[64] = "";
    PetscBool same;
    size_t k;

    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-case", name, sizeof(name), NULL));
    for (k = 0; k < sizeof(cases) / sizeof(cases[0]); ++k) {
        PetscCall(PetscStrcmp(name, cases[k].name, &same));
        if (!same) continue;
        PetscCall(cases[k].run());
        PetscCall(PetscPrintf(PETSC_COMM_WORLD, "passed\n"));
        PetscCall(PetscFinalize());
        return 0;
    }
    SETERRQ(PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "no case '%s'", name);
}
