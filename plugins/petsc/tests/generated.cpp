static char help[] =
    "Solves problems that Tessera generates, their nodes dealt out to the ranks; a line for each.\n"
    "  -problems <a;b>     texts such as elasticity3d:12,contrast=1e4 (poisson3d:20)\n"
    "  -partition <name>   slabs: nodes that follow each other; cyclic: one node after the other;\n"
    "                      layers: nodes of one x after the other (slabs)\n"
    "  -blocked            in BAIJ\n\n";

#include <petscksp.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <tessera/problems.hpp>
#include <vector>

namespace {

using tessera::Index;
using Problem = tessera::problems::Problem<double>;

/// A node on a rank, and its number there after those of the ranks before.
struct Dealt {
    std::vector<PetscInt> number;  ///< The new number of each node.
    std::vector<Index> own;        ///< Nodes of this rank.
};

Dealt deal_out(const Problem& problem, const std::string& partition, int rank, int size) {
    const Index block = problem.natural_block, nodes = problem.matrix.rows() / block;
    const auto& points = problem.coordinates;
    std::map<double, int> layers;  // The number of each x.
    for (std::size_t k = 0; k < points.values.size(); k += std::size_t(points.dimensions)) {
        layers.emplace(points.values[k], 0);
    }
    int count = 0;
    for (auto& [x, number] : layers) number = count++;
    const auto rank_of = [&](Index node) {
        if (partition == "cyclic") return int(node % size);
        if (partition == "layers") {
            return layers.at(points.values[std::size_t(node * points.dimensions)]) % size;
        }
        return int(std::int64_t(node) * size / nodes);
    };
    std::vector<PetscInt> next(std::size_t(size) + 1, 0);
    for (Index i = 0; i < nodes; ++i) ++next[std::size_t(rank_of(i)) + 1];
    for (int r = 0; r < size; ++r) next[std::size_t(r) + 1] += next[std::size_t(r)];
    Dealt dealt;
    for (Index i = 0; i < nodes; ++i) {
        const int owner = rank_of(i);
        dealt.number.push_back(next[std::size_t(owner)]++);
        if (owner == rank) dealt.own.push_back(i);
    }
    return dealt;
}

PetscErrorCode CreateMatrix(const Problem& problem, const Dealt& dealt, PetscBool blocked, Mat* A) {
    const PetscInt block = problem.natural_block, rows = PetscInt(dealt.own.size()) * block;
    const auto a = problem.matrix.view();
    std::vector<PetscInt> offsets{0}, columns;
    std::vector<PetscScalar> values;

    PetscFunctionBeginUser;
    for (const Index node : dealt.own) {
        for (PetscInt r = 0; r < block; ++r) {
            std::vector<std::pair<PetscInt, double>> row;
            const PetscInt i = node * block + r;
            for (auto k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index column = a.column_indices[k];
                row.emplace_back(dealt.number[std::size_t(column / block)] * block + column % block,
                                 a.values[k]);
            }
            std::ranges::sort(row);
            for (const auto& [column, value] : row) {
                columns.push_back(column);
                values.push_back(value);
            }
            offsets.push_back(PetscInt(columns.size()));
        }
    }
    PetscCall(MatCreate(PETSC_COMM_WORLD, A));
    PetscCall(MatSetSizes(*A, rows, rows, PETSC_DETERMINE, PETSC_DETERMINE));
    PetscCall(MatSetBlockSize(*A, block));
    PetscCall(MatSetType(*A, MATAIJ));
    PetscCall(MatSeqAIJSetPreallocationCSR(*A, offsets.data(), columns.data(), values.data()));
    PetscCall(MatMPIAIJSetPreallocationCSR(*A, offsets.data(), columns.data(), values.data()));
    if (blocked) PetscCall(MatConvert(*A, MATBAIJ, MAT_INPLACE_MATRIX, A));
    PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
    PetscFunctionReturn(0);
}

/// A number in [-1, 1) for each row, which the partition does not change.
PetscErrorCode SetRightHandSide(const Problem& problem, const Dealt& dealt, Vec b) {
    PetscScalar* values;

    PetscFunctionBeginUser;
    PetscCall(VecGetArray(b, &values));
    for (const Index node : dealt.own) {
        for (Index r = 0; r < problem.natural_block; ++r) {
            std::uint64_t z =
                std::uint64_t(node * problem.natural_block + r + 1) * 0x9e3779b97f4a7c15U;
            z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93U;
            z ^= z >> 32;
            *values++ = PetscScalar(double(z >> 11) / 4503599627370496. - 1);
        }
    }
    values -= PetscInt(dealt.own.size()) * problem.natural_block;
    PetscCall(VecRestoreArray(b, &values));
    PetscFunctionReturn(0);
}

PetscErrorCode SetCoordinates(const Problem& problem, const Dealt& dealt, PC pc) {
    const auto& points = problem.coordinates;
    std::vector<PetscReal> own;

    PetscFunctionBeginUser;
    if (points.values.empty()) PetscFunctionReturn(0);
    for (const Index node : dealt.own) {
        for (int axis = 0; axis < points.dimensions; ++axis) {
            own.push_back(points.values[std::size_t(node * points.dimensions + axis)]);
        }
    }
    PetscCall(PCSetCoordinates(pc, points.dimensions, PetscInt(dealt.own.size()), own.data()));
    PetscFunctionReturn(0);
}

PetscErrorCode Solve(const std::string& text, const std::string& partition, PetscBool blocked) {
    PetscMPIInt rank, size;
    Mat A;
    Vec x, b, r;
    KSP ksp;
    PC pc;
    PetscInt iterations, rows;
    PetscReal norm, residual;
    PetscLogDouble start, ready, end;
    KSPConvergedReason reason;

    PetscFunctionBeginUser;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    const Problem problem = tessera::problems::generate<double>(tessera::Context::cpu(1), text);
    const Dealt dealt = deal_out(problem, partition, rank, size);
    PetscCall(CreateMatrix(problem, dealt, blocked, &A));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &r));
    PetscCall(SetRightHandSide(problem, dealt, b));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 500));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(SetCoordinates(problem, dealt, pc));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&start));
    PetscCall(KSPSetUp(ksp));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    PetscCall(PetscTime(&ready));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(PetscTime(&end));
    PetscCall(KSPGetIterationNumber(ksp, &iterations));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(VecGetSize(x, &rows));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &residual));
    PetscCall(VecNorm(b, NORM_2, &norm));
    PetscCall(PetscPrintf(
        PETSC_COMM_WORLD,
        "problem %s partition %s ranks %d rows %" PetscInt_FMT " iterations %" PetscInt_FMT
        " reason %s residual %.2e setup %.3f solve %.3f\n",
        text.c_str(), partition.c_str(), size, rows, iterations, KSPConvergedReasons[reason],
        double(residual / norm), ready - start, end - ready));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&r));
    PetscCall(MatDestroy(&A));
    PetscFunctionReturn(0);
}

}  // namespace

int main(int argc, char** argv) {
    char problems[1024] = "poisson3d:20", partition[64] = "slabs";
    PetscBool blocked = PETSC_FALSE;

    PetscCall(PetscInitialize(&argc, &argv, nullptr, help));
    PetscCall(
        PetscOptionsGetString(nullptr, nullptr, "-problems", problems, sizeof problems, nullptr));
    PetscCall(PetscOptionsGetString(nullptr, nullptr, "-partition", partition, sizeof partition,
                                    nullptr));
    PetscCall(PetscOptionsGetBool(nullptr, nullptr, "-blocked", &blocked, nullptr));
    std::istringstream all(problems);
    for (std::string text; std::getline(all, text, ';');) {
        PetscCall(Solve(text, partition, blocked));
    }
    PetscCall(PetscFinalize());
    return 0;
}
