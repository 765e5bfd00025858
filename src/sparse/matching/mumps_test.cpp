#include <dlfcn.h>

#include <algorithm>

#include "sparse/test_symmetric_matrices.hpp"
#include "tessera/detail/ordering.hpp"
#if __has_include(<dmumps_c.h>)
#include <dmumps_c.h>
#define TESSERA_TEST_MUMPS 1
#endif

// The scaling of a symmetric matching against the one that MUMPS computes. MUMPS is loaded where it
// is installed; nothing is linked with it.
namespace tessera {
namespace {

#ifdef TESSERA_TEST_MUMPS

using Mumps = void(DMUMPS_STRUC_C*);

Mumps* mumps() {
    static void* const library = dlopen("libdmumps_seq-5.5.so", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Mumps*>(dlsym(library, "dmumps_c"));
}

/// The scaling that MUMPS returns from its analysis with a maximum product matching (ICNTL(6) = 5)
/// that it scales by (ICNTL(8) = -2) and compresses by (ICNTL(12) = 2).
std::vector<double> mumps_scaling(const CsrView<double>& matrix) {
    std::vector<MUMPS_INT> rows, columns;
    std::vector<double> values;
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            if (matrix.column_indices[k] > i) continue;
            rows.push_back(i + 1);
            columns.push_back(matrix.column_indices[k] + 1);
            values.push_back(matrix.values[k]);
        }
    }
    DMUMPS_STRUC_C data{};
    constexpr MUMPS_INT initialise = -1, analyse = 1, finish = -2, world = -987654;
    data.sym = 2;
    data.par = 1;
    data.comm_fortran = world;
    data.job = initialise;
    mumps()(&data);
    for (const int unit : {0, 1, 2}) data.icntl[unit] = -1;
    data.icntl[3] = 0;
    data.icntl[5] = 5;
    data.icntl[7] = -2;
    data.icntl[11] = 2;
    data.n = matrix.rows;
    data.nnz = MUMPS_INT8(values.size());
    data.irn = rows.data();
    data.jcn = columns.data();
    data.a = values.data();
    data.job = analyse;
    mumps()(&data);
    EXPECT_EQ(data.infog[0], 0);
    EXPECT_EQ(data.infog[22], 5) << "MUMPS did not take the matching";
    std::vector<double> scaling(data.colsca, data.colsca + matrix.rows);
    data.job = finish;
    mumps()(&data);
    return scaling;
}

double sum_of_logs(const std::vector<double>& scaling) {
    double sum = 0;
    for (const double s : scaling) sum += std::log2(s);
    return sum;
}

/// For a structurally nonsingular matrix both scalings have the product of the matching.
void expect_same_product(const CsrMatrix<double>& matrix) {
    const SymmetricMatching ours = match_symmetric(test::host(), matrix.view());
    ASSERT_EQ(ours.structural_rank, matrix.rows());
    const std::vector<double> theirs = mumps_scaling(matrix.view());
    double sizes = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) {
        sizes += std::abs(std::log2(theirs[i])) + std::abs(std::log2(ours.scaling[i])) + 1;
    }
    EXPECT_NEAR(sum_of_logs(ours.scaling), sum_of_logs(theirs),
                test::gamma<double>(double(theirs.size())) * sizes);
}

TEST(mumps, scalings_have_the_same_product) {
    if (mumps() == nullptr) GTEST_SKIP() << "libdmumps_seq-5.5.so is not there";
    auto random = test::generator();
    for (const double range : {0., 3., 10.}) {
        SCOPED_TRACE(range);
        expect_same_product(test::random_kkt(random, 500, 200, range).matrix());
    }
    int taken = 0;
    for (int round = 0; round < 30 && taken < 10; ++round) {
        const auto matrix = test::random_symmetric(random, 300, 8, 10).matrix();
        if (match_symmetric(test::host(), matrix.view()).structural_rank < 300) continue;
        expect_same_product(matrix);
        ++taken;
    }
    EXPECT_EQ(taken, 10);
    for (const char* text : {"stokes:20", "darcy:20", "qpband:600", "bordered:700", "kkt:600",
                             "schroedinger:8", "shell:20,shift=0.8"}) {
        SCOPED_TRACE(text);
        expect_same_product(problems::generate<double>(test::host(), Spec(text)).matrix);
    }
}

#else

TEST(mumps, scalings_have_the_same_product) { GTEST_SKIP() << "built without dmumps_c.h"; }

#endif

}  // namespace
}  // namespace tessera
