static char help[] =
    "Linear elasticity of a cube of trilinear hexahedra, clamped at the bottom, under its weight.\n"
    "A plain PETSc program: preconditioners of plug-ins come by options.\n"
    "  -elements <n>  in each direction (8)\n"
    "  -contrast <c>  stiffness of every other block of 2 x 2 x 2 elements (1)\n"
    "  -nodes_per_block <k>  calls MatSetVariableBlockSizes with blocks of k nodes\n"
    "  -solves <s>    the matrix is doubled before each but the first (1)\n\n";

#include <petscdmda.h>
#include <petscksp.h>

#define NODES 8
#define UNKNOWNS 24
#define NEIGHBOURS 27

/* Corner c of a cell as -1 or 1 in each direction. */
static const int corner[NODES][3] = {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1},
                                     {-1, -1, 1},  {1, -1, 1},  {1, 1, 1},  {-1, 1, 1}};

/* Strains of the unknowns at a point of the reference cube, for a cell of edge h: rows xx, yy, zz,
   xy, yz, zx. */
static void StrainMatrix(const PetscReal point[3], PetscReal h, PetscReal strain[6][UNKNOWNS]) {
    PetscReal gradient[3];
    PetscInt c, d, i;

    for (i = 0; i < 6; ++i)
        for (c = 0; c < UNKNOWNS; ++c) strain[i][c] = 0;
    for (c = 0; c < NODES; ++c) {
        for (d = 0; d < 3; ++d) {
            gradient[d] = 2 / h * corner[c][d] / 8.;
            for (i = 0; i < 3; ++i)
                if (i != d) gradient[d] *= 1 + corner[c][i] * point[i];
        }
        for (d = 0; d < 3; ++d) strain[d][3 * c + d] = gradient[d];
        for (d = 0; d < 3; ++d) { /* The shear of directions d and d + 1. */
            strain[3 + d][3 * c + d] = gradient[(d + 1) % 3];
            strain[3 + d][3 * c + (d + 1) % 3] = gradient[d];
        }
    }
}

/* Stiffness of a cell of edge h, Young's modulus 1 and Poisson's ratio 0.3, by 2 x 2 x 2 Gauss
   points. */
static void CellStiffness(PetscReal h, PetscScalar stiffness[UNKNOWNS][UNKNOWNS]) {
    const PetscReal nu = 0.3, mu = 0.5 / (1 + nu), lambda = nu / ((1 + nu) * (1 - 2 * nu));
    PetscReal strain[6][UNKNOWNS], stress[6][UNKNOWNS], point[3], trace;
    PetscInt a, b, g, i;

    for (a = 0; a < UNKNOWNS; ++a)
        for (b = 0; b < UNKNOWNS; ++b) stiffness[a][b] = 0;
    for (g = 0; g < NODES; ++g) {
        for (i = 0; i < 3; ++i) point[i] = corner[g][i] / PetscSqrtReal(3.);
        StrainMatrix(point, h, strain);
        for (b = 0; b < UNKNOWNS; ++b) {
            trace = strain[0][b] + strain[1][b] + strain[2][b];
            for (i = 0; i < 3; ++i) stress[i][b] = lambda * trace + 2 * mu * strain[i][b];
            for (i = 3; i < 6; ++i) stress[i][b] = mu * strain[i][b];
        }
        for (a = 0; a < UNKNOWNS; ++a)
            for (b = 0; b < UNKNOWNS; ++b)
                for (i = 0; i < 6; ++i)
                    stiffness[a][b] += strain[i][a] * stress[i][b] * h * h * h / 8;
    }
}

/* Each rank sums up the rows of its nodes, in the same order of cells whatever the number of ranks,
   and sets each of them once. */
static PetscErrorCode Assemble(DM da, PetscInt elements, PetscReal contrast, Mat A) {
    PetscScalar unit[UNKNOWNS][UNKNOWNS], values[3 * 3 * NEIGHBOURS], *entry;
    PetscInt own[3], size[3], first[3], width[3], node[3], cell[3], other[3];
    PetscInt place[NEIGHBOURS], column[NEIGHBOURS], count, row, i, n, a, b, d, e;
    PetscReal modulus;
    PetscBool inside;

    PetscFunctionBeginUser;
    CellStiffness(1. / elements, unit);
    PetscCall(DMDAGetCorners(da, &own[0], &own[1], &own[2], &size[0], &size[1], &size[2]));
    PetscCall(
        DMDAGetGhostCorners(da, &first[0], &first[1], &first[2], &width[0], &width[1], &width[2]));
    for (i = 0; i < size[0] * size[1] * size[2]; ++i) {
        node[0] = own[0] + i % size[0];
        node[1] = own[1] + i / size[0] % size[1];
        node[2] = own[2] + i / (size[0] * size[1]);
        for (n = count = 0; n < NEIGHBOURS; ++n) { /* Nodes of a cell with this one. */
            for (d = 0; d < 3; ++d)
                other[d] = node[d] + (d == 0 ? n % 3 : d == 1 ? n / 3 % 3 : n / 9) - 1;
            inside = PETSC_TRUE;
            for (d = 0; d < 3; ++d)
                if (other[d] < 0 || other[d] > elements) inside = PETSC_FALSE;
            if (!inside) continue;
            column[count] = other[0] - first[0] +
                            width[0] * (other[1] - first[1] + width[1] * (other[2] - first[2]));
            if (n == NEIGHBOURS / 2) row = column[count];
            place[n] = count++;
        }
        PetscCall(PetscArrayzero(values, 9 * count));
        for (a = 0; a < NODES; ++a) { /* The node is corner a of the cell. */
            inside = PETSC_TRUE;
            for (d = 0; d < 3; ++d) {
                cell[d] = node[d] - (corner[a][d] + 1) / 2;
                if (cell[d] < 0 || cell[d] >= elements) inside = PETSC_FALSE;
            }
            if (!inside) continue;
            modulus = (cell[0] / 2 + cell[1] / 2 + cell[2] / 2) % 2 ? contrast : 1;
            for (b = 0; b < NODES; ++b) {
                n = NEIGHBOURS / 2;
                for (d = 0, e = 1; d < 3; ++d, e *= 3) n += e * (corner[b][d] - corner[a][d]) / 2;
                for (d = 0; d < 3; ++d) {
                    entry = values + 3 * (d * count + place[n]);
                    for (e = 0; e < 3; ++e)
                        /* Bottom nodes are clamped: only their diagonal stays. */
                        if ((node[2] > 0 && cell[2] + (corner[b][2] + 1) / 2 > 0) ||
                            (a == b && d == e))
                            entry[e] += modulus * unit[3 * a + d][3 * b + e];
                }
            }
        }
        PetscCall(MatSetValuesBlockedLocal(A, 1, &row, count, column, values, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscFunctionReturn(0);
}

/* The matrix, its size of blocks and its rigid body modes, as any elasticity code gives them. */
static PetscErrorCode CreateMatrix(DM da, PetscInt elements, PetscReal contrast, Mat* A) {
    MatNullSpace modes;
    Vec coordinates;
    PetscBool half;
    PetscInt k = 0, rows, blocks, b, *sizes;

    PetscFunctionBeginUser;
    /* No zeros first, which would take as long as the values: Assemble sets whole rows. */
    PetscCall(DMSetMatrixPreallocateOnly(da, PETSC_TRUE));
    PetscCall(DMCreateMatrix(da, A));
    PetscCall(PetscObjectTypeCompareAny((PetscObject)*A, &half, MATSEQSBAIJ, MATMPISBAIJ, ""));
    if (half) PetscCall(MatSetOption(*A, MAT_IGNORE_LOWER_TRIANGULAR, PETSC_TRUE));
    PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscCall(Assemble(da, elements, contrast, *A));
    PetscCall(DMGetCoordinates(da, &coordinates));
    PetscCall(MatNullSpaceCreateRigidBody(coordinates, &modes));
    PetscCall(MatSetNearNullSpace(*A, modes));
    PetscCall(MatNullSpaceDestroy(&modes));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-nodes_per_block", &k, NULL));
    if (k > 0) {
        PetscCall(MatGetLocalSize(*A, &rows, NULL));
        blocks = (rows + 3 * k - 1) / (3 * k);
        PetscCall(PetscMalloc1(blocks, &sizes));
        for (b = 0; b < blocks; ++b) sizes[b] = PetscMin(3 * k, rows - 3 * k * b);
        PetscCall(MatSetVariableBlockSizes(*A, blocks, sizes));
        PetscCall(PetscFree(sizes));
    }
    PetscFunctionReturn(0);
}

/* One line of results; `bits` is equal for solutions that are bitwise equal. */
static PetscErrorCode Report(KSP ksp, Mat A, Vec b, Vec x) {
    Vec r;
    PetscReal norm, residual;
    PetscInt rows, i, n, iterations;
    KSPConvergedReason reason;
    const PetscScalar* values;
    PetscMPIInt ranks, rank;
    unsigned long long mine = 14695981039346656037ULL, all;

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecGetSize(x, &rows));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(VecDestroy(&r));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArrayRead(x, &values));
    for (i = 0; i < (PetscInt)(n * sizeof(PetscScalar)); ++i)
        mine = (mine ^ ((const unsigned char*)values)[i]) * 1099511628211ULL;
    PetscCall(VecRestoreArrayRead(x, &values));
    mine *= (unsigned long long)(2 * rank + 1);
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_BXOR, PETSC_COMM_WORLD));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "ranks %d rows %" PetscInt_FMT " iterations %" PetscInt_FMT
                          " reason %s residual %.2e bits %016llx\n",
                          ranks, rows, iterations, KSPConvergedReasons[reason],
                          (double)(residual / norm), all));
    PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
    DM da;
    Mat A;
    Vec x, b;
    KSP ksp;
    PetscLogStage stage;
    PetscInt elements = 8, solves = 1, s, i, n, first;
    PetscReal contrast = 1;
    PetscScalar* load;

    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-elements", &elements, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-solves", &solves, NULL));
    PetscCall(PetscOptionsGetReal(NULL, NULL, "-contrast", &contrast, NULL));
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                           DMDA_STENCIL_BOX, elements + 1, elements + 1, elements + 1, PETSC_DECIDE,
                           PETSC_DECIDE, PETSC_DECIDE, 3, 1, NULL, NULL, NULL, &da));
    PetscCall(DMSetFromOptions(da));
    PetscCall(DMSetUp(da));
    PetscCall(DMDASetUniformCoordinates(da, 0, 1, 0, 1, 0, 1));
    PetscCall(CreateMatrix(da, elements, contrast, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecGetOwnershipRange(b, &first, NULL));
    PetscCall(VecGetLocalSize(b, &n));
    PetscCall(VecGetArray(b, &load));
    for (i = 0; i < n; ++i)
        load[i] = ((first + i) % 3 == 2 ? -1. : 0.1) / (elements * elements * elements);
    PetscCall(VecRestoreArray(b, &load));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 2000));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PetscLogStageRegister("Later solves", &stage));
    for (s = 0; s < solves; ++s) {
        if (s == 1) PetscCall(PetscLogStagePush(stage));
        if (s > 0) {
            PetscCall(MatScale(A, 2));
            PetscCall(KSPSetOperators(ksp, A, A));
        }
        PetscCall(KSPSetUp(ksp));
        PetscCall(KSPSolve(ksp, b, x));
        PetscCall(Report(ksp, A, b, x));
    }
    if (solves > 1) PetscCall(PetscLogStagePop());
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
    PetscCall(PetscFinalize());
    return 0;
}
