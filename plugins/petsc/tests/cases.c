static char help[] =
    "Cases of the tests of libpetsctessera.so; the preconditioner comes by options.\n"
    "  -case <name>  one of the functions below; each ends with a line 'passed' or an error\n\n";

#include <petscksp.h>
#include <sys/resource.h>
#include <unistd.h>

#define BLOCK 3

/* A symmetric, positive definite matrix of `nodes` nodes with BLOCK unknowns, or with `skew` one
   that is not symmetric: nodes couple with their neighbours and with some far ones. `mine` is the
   number of nodes of this rank, `factor` scales the couplings. */
static PetscErrorCode CreateMatrix(PetscInt mine, PetscReal factor, PetscBool skew, Mat* A) {
    PetscInt nodes, first, last, i, k, a, b, row, col;
    PetscScalar value;

    PetscFunctionBeginUser;
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, BLOCK * mine, BLOCK * mine, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, BLOCK));
    PetscCall(MatSetFromOptions(*A));
    /* Those of other types than the matrix's do nothing. */
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

static PetscErrorCode CreatePC(Mat A, PC* pc) {
    PetscFunctionBeginUser;
    PetscCall(PCCreate(PetscObjectComm((PetscObject)A), pc));
    PetscCall(PCSetOperators(*pc, A, A));
    PetscCall(PCSetFromOptions(*pc));
    PetscCall(PCSetUp(*pc));
    PetscFunctionReturn(0);
}

static PetscErrorCode CreateRandom(Mat A, unsigned long seed, Vec* x) {
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

/* Error unless x and y agree to `bound` relative to the larger one (0: bitwise). */
static PetscErrorCode Compare(Vec x, Vec y, PetscReal bound, const char* what) {
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

/* Solves A x = b for x = (1, ..., 1) and prints how it ended. */
static PetscErrorCode SolveFor(Mat A) {
    KSP ksp;
    PC pc;
    Vec x, b, ones;
    KSPConvergedReason reason;
    PCFailedReason failure = PC_NOERROR;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &ones));
    PetscCall(VecSet(ones, 1));
    PetscCall(MatMult(A, ones, b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetFailedReason(pc, &failure));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", KSPConvergedReasons[reason],
                          PCFailedReasons[failure]));
    if (reason > 0) PetscCall(Compare(x, ones, 1e-9, "solution"));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&ones));
    PetscFunctionReturn(0);
}

/* Three nodes over all ranks, and ten nodes on one rank: others have no rows. */
static PetscErrorCode Few(void) {
    Mat A;
    PetscMPIInt rank, size;

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(CreateMatrix(size == 1   ? 3
                           : rank == 0 ? 0
                           : rank <= 3 ? (size == 2 ? 3 : 1)
                                       : 0,
                           1, PETSC_FALSE, &A));
    PetscCall(SolveFor(A));
    PetscCall(MatDestroy(&A));
    PetscCall(CreateMatrix(rank == size - 1 ? 10 : 0, 1, PETSC_FALSE, &A));
    PetscCall(SolveFor(A));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* The block of one node of the last rank is zero. */
static PetscErrorCode Singular(void) {
    Mat A;
    PetscInt first, last, a, b;
    PetscMPIInt rank, size;

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(CreateMatrix(20, 1, PETSC_FALSE, &A));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    if (rank == size - 1)
        for (a = 0; a < BLOCK; ++a)
            for (b = 0; b < BLOCK; ++b)
                PetscCall(MatSetValue(A, last - 1 - a, last - 1 - b, 0, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(SolveFor(A));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Repeated create, set up, apply and destroy takes no more memory. */
static PetscErrorCode Cycles(void) {
    Mat A;
    PC pc;
    Vec x, y;
    PetscInt k;
    PetscLogDouble before = 0, after;

    PetscFunctionBeginUser;
    for (k = 0; k < 300; ++k) {
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
        if (k == 99) PetscCall(PetscMemoryGetCurrentUsage(&before));
    }
    PetscCall(PetscMemoryGetCurrentUsage(&after));
    /* One matrix has 300 rows of about 15 entries: 200 of them would be 10 MB. */
    PetscCheck(after - before < 2e6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "200 cycles take %g bytes",
               after - before);
    PetscFunctionReturn(0);
}

/* -case_mat_type names a type that the plug-in does not take. */
static PetscErrorCode Types(void) {
    Mat A, B;
    PC pc;
    char type[64] = MATDENSE;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetString(NULL, NULL, "-case_mat_type", type, sizeof(type), NULL));
    PetscCall(CreateMatrix(4, 1, PETSC_FALSE, &A));
    PetscCall(MatConvert(A, type, MAT_INITIAL_MATRIX, &B));
    PetscCall(CreatePC(B, &pc));
    PetscFunctionReturn(0);
}

/* The last rank may allocate 2 MB more than it has when the matrix (of some 16 MB) is assembled:
   PCSetUp fails on all ranks. With -report the error is PETSc's to handle. */
static PetscErrorCode Exhausted(void) {
    Mat A;
    PC pc;
    PetscMPIInt rank, size, failed, all = 0;
    PetscErrorCode code;
    PetscBool report = PETSC_FALSE;
    struct rlimit limit, before;
    FILE* file;
    unsigned long pages = 0;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-report", &report, NULL));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(CreateMatrix(30000, 1, PETSC_FALSE, &A));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetFromOptions(pc));
    PetscCall(getrlimit(RLIMIT_AS, &before));
    if (rank == size - 1) {
        file = fopen("/proc/self/statm", "r");
        PetscCheck(file && fscanf(file, "%lu", &pages) == 1, PETSC_COMM_SELF, PETSC_ERR_SYS,
                   "no /proc/self/statm");
        fclose(file);
        limit = before;
        limit.rlim_cur = pages * (unsigned long)sysconf(_SC_PAGESIZE) + (2ul << 20);
        PetscCheck(!setrlimit(RLIMIT_AS, &limit), PETSC_COMM_SELF, PETSC_ERR_SYS, "setrlimit");
    }
    if (!report) PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = PCSetUp(pc);
    PetscCheck(!setrlimit(RLIMIT_AS, &before), PETSC_COMM_SELF, PETSC_ERR_SYS, "setrlimit");
    if (report)
        PetscCall(code);
    else
        PetscCall(PetscPopErrorHandler());
    failed = code != 0;
    PetscCallMPI(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck(all == size, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%d of %d ranks report that memory is exhausted", all, size);
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
    const struct {
        const char* name;
        PetscErrorCode (*run)(void);
    } cases[] = {{"apply", Apply},       {"updates", Updates}, {"coordinates", Coordinates},
                 {"products", Products}, {"few", Few},         {"singular", Singular},
                 {"cycles", Cycles},     {"types", Types},     {"exhausted", Exhausted}};
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
