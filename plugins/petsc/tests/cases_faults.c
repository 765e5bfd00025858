/* Cases of the tests: faults, and ranks without rows. */
#include <sys/resource.h>
#include <unistd.h>

#include "cases.h"

/* Solves A x = b for x = (1, ..., 1) and prints how it ended. */
static PetscErrorCode SolveWith(KSP ksp, Mat A) {
    PC pc;
    Vec x, b, ones;
    KSPConvergedReason reason;
    PCFailedReason failure = PC_NOERROR;

    PetscFunctionBeginUser;
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &ones));
    PetscCall(VecSet(ones, 1));
    PetscCall(MatMult(A, ones, b));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCGetFailedReason(pc, &failure));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s %s\n", KSPConvergedReasons[reason],
                          PCFailedReasons[failure]));
    if (reason > 0) PetscCall(Compare(x, ones, 1e-9, "solution"));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&ones));
    PetscFunctionReturn(0);
}

static PetscErrorCode CreateKSP(KSP* ksp) {
    PetscFunctionBeginUser;
    PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
    PetscCall(KSPSetType(*ksp, KSPCG));
    PetscCall(KSPSetTolerances(*ksp, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSetFromOptions(*ksp));
    PetscFunctionReturn(0);
}

static PetscErrorCode SolveFor(Mat A) {
    KSP ksp;

    PetscFunctionBeginUser;
    PetscCall(CreateKSP(&ksp));
    PetscCall(SolveWith(ksp, A));
    PetscCall(KSPDestroy(&ksp));
    PetscFunctionReturn(0);
}

/* Three nodes over all ranks, and ten nodes on one rank: others have no rows. */
PetscErrorCode Few(void) {
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

/* Sets the block of one node of the last rank to zero, or with -nan to what is no number. */
static PetscErrorCode Break(Mat A) {
    PetscInt first, last, a, b;
    PetscMPIInt rank, size;
    PetscBool nan = PETSC_FALSE;
    PetscScalar value = 0;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-nan", &nan, NULL));
    if (nan) value = PETSC_INFINITY - PETSC_INFINITY;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(MatGetOwnershipRange(A, &first, &last));
    if (rank == size - 1)
        for (a = 0; a < BLOCK; ++a)
            for (b = 0; b < BLOCK; ++b)
                PetscCall(MatSetValue(A, last - 1 - a, last - 1 - b, value, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* A matrix with a block of zeros. */
PetscErrorCode Singular(void) {
    Mat A;

    PetscFunctionBeginUser;
    PetscCall(CreateMatrix(20, 1, PETSC_FALSE, &A));
    PetscCall(Break(A));
    PetscCall(SolveFor(A));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

/* Faults with one KSP, which goes on with other values each time; what a failed PC gives is not
   finite. */
PetscErrorCode Repaired(void) {
    Mat A, good;
    KSP ksp;
    PC pc;
    Vec x, y;
    PetscReal norm;
    PetscInt k;

    PetscFunctionBeginUser;
    PetscCall(CreateMatrix(20, 1, PETSC_FALSE, &A));
    PetscCall(CreateMatrix(20, 1, PETSC_FALSE, &good));
    PetscCall(CreateKSP(&ksp));
    for (k = 0; k < 2; ++k) {
        PetscCall(Break(A));
        PetscCall(SolveWith(ksp, A));
        PetscCall(KSPGetPC(ksp, &pc));
        PetscCall(PCView(pc, PETSC_VIEWER_STDOUT_WORLD));
        PetscCall(CreateRandom(A, 8, &x));
        PetscCall(VecDuplicate(x, &y));
        PetscCall(PCApply(pc, x, y));
        PetscCall(VecNorm(y, NORM_2, &norm));
        PetscCheck(PetscIsInfOrNanReal(norm), PETSC_COMM_WORLD, PETSC_ERR_PLIB,
                   "a PC that failed gives %g", (double)norm);
        PetscCall(VecDestroy(&x));
        PetscCall(VecDestroy(&y));
        PetscCall(MatCopy(good, A, SAME_NONZERO_PATTERN));
        PetscCall(SolveWith(ksp, A));
    }
    PetscCall(KSPDestroy(&ksp));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&good));
    PetscFunctionReturn(0);
}

/* -case_mat_type names a type that the plug-in does not take. */
PetscErrorCode Types(void) {
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
PetscErrorCode Exhausted(void) {
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

/* Something is wrong on the last rank, as -fault says: PCSetFromOptions or PCSetUp fails on all.
   With -report the error is PETSc's to handle. */
PetscErrorCode Faults(void) {
    Mat A;
    PC pc;
    PetscMPIInt rank, size, failed, all = 0;
    PetscErrorCode code;
    PetscBool report = PETSC_FALSE, last, few, three, value, word;
    char fault[64] = "";
    PetscInt n, k;
    PetscReal* places;

    PetscFunctionBeginUser;
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-report", &report, NULL));
    PetscCall(PetscOptionsGetString(NULL, NULL, "-fault", fault, sizeof(fault), NULL));
    PetscCall(PetscStrcmp(fault, "few_coordinates", &few));
    PetscCall(PetscStrcmp(fault, "coordinates_of_plane", &three));
    PetscCall(PetscStrcmp(fault, "other_value", &value));
    PetscCall(PetscStrcmp(fault, "wrong_word", &word));
    PetscCheck(few || three || value || word, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "no fault %s",
               fault);
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    last = rank == size - 1 ? PETSC_TRUE : PETSC_FALSE;
    if (value && last) PetscCall(PetscOptionsSetValue(NULL, "-pc_tesseraamg_theta", "0.25"));
    if (word && last) PetscCall(PetscOptionsSetValue(NULL, "-pc_tesseraamg_values", "f8"));
    PetscCall(CreateMatrix(300, 1, PETSC_FALSE, &A));
    PetscCall(MatGetLocalSize(A, &n, NULL));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    if (!report) PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code = PCSetFromOptions(pc);
    if (few || three) {
        PetscCall(PetscMalloc1(n, &places));
        for (k = 0; k < n; ++k) places[k] = k;
        PetscCall(PCSetCoordinates(pc, three && last ? 2 : BLOCK, n / BLOCK - (few && last ? 1 : 0),
                                   places));
        PetscCall(PetscFree(places));
    }
    if (!code) code = PCSetUp(pc);
    if (report)
        PetscCall(code);
    else
        PetscCall(PetscPopErrorHandler());
    failed = code != 0;
    PetscCallMPI(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCheck(all == size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%d of %d ranks report the fault",
               all, size);
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}
