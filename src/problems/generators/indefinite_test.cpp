#include <dlfcn.h>

#include <algorithm>

#include "support/test.hpp"

namespace tessera {
namespace {

CsrMatrix<double> make(const std::string& text) {
    return problems::generate<double>(test::host(), Spec(text)).matrix;
}

/// Dense copy, column-major.
std::vector<double> dense(const CsrView<double>& matrix) {
    std::vector<double> full(std::size_t(matrix.rows) * matrix.rows, 0);
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            full[std::size_t(matrix.column_indices[k]) * matrix.rows + i] = matrix.values[k];
        }
    }
    return full;
}

using Eigenvalues = void(const char* vectors, const char* triangle, const int* n, double* matrix,
                         const int* leading_dimension, double* values, double* work,
                         const int* work_size, int* info);

/// LAPACK's dsyev, where installed.
Eigenvalues* lapack() {
    static void* const library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Eigenvalues*>(dlsym(library, "dsyev_"));
}

struct Inertia {
    Index rows;
    Index negative;
    Index zero_diagonal;
    double nearest_to_zero;  ///< Smallest |eigenvalue|, in units of n eps times the largest.
};

Inertia inertia(const CsrView<double>& matrix) {
    std::vector<double> a = dense(matrix);
    const int n = matrix.rows;
    std::vector<double> values(static_cast<std::size_t>(n)), work(std::size_t(n) * 40);
    const int work_size = int(work.size());
    int info = 0;
    Index zero = 0;
    for (int i = 0; i < n; ++i) zero += a[std::size_t(i) * n + i] == 0;
    lapack()("N", "L", &n, a.data(), &n, values.data(), work.data(), &work_size, &info);
    EXPECT_EQ(info, 0);
    double smallest = HUGE_VAL;
    for (const double value : values) smallest = std::min(smallest, std::abs(value));
    const double largest = std::max(std::abs(values.front()), std::abs(values.back()));
    return {n, Index(std::ranges::count_if(values, [](double v) { return v < 0; })), zero,
            smallest / (largest * n * std::numeric_limits<double>::epsilon())};
}

struct Expected {
    std::string text;
    Index rows, negative, zero_diagonal;
};

TEST(indefinite, inertia) {
    if (lapack() == nullptr) GTEST_SKIP() << "liblapack.so.3 is not there";
    const std::vector<Expected> cases{
        {"kkt:600", 900, 600, 300},         {"kkt:600,spread=1", 900, 600, 300},
        {"kkt:60,delta=0.1", 90, 60, 0},    {"qpband:600", 800, 200, 200},
        {"bordered:780", 800, 20, 20},      {"stokes:16", 735, 255, 255},
        {"stokes:16,beta=1", 736, 256, 0},  {"darcy:16", 735, 255, 255},
        {"helmholtz:30", 900, 22, 0},       {"shell:24", 576, 0, 0},
        {"shell:24,shift=0.8", 576, 37, 0}, {"circuit:30", 900, 0, 0},
    };
    for (const Expected& expected : cases) {
        SCOPED_TRACE(expected.text);
        const Inertia found = inertia(make(expected.text).view());
        EXPECT_EQ(found.rows, expected.rows);
        EXPECT_EQ(found.negative, expected.negative);
        EXPECT_EQ(found.zero_diagonal, expected.zero_diagonal);
        EXPECT_GT(found.nearest_to_zero, 10);  // Else rounding may decide the signs.
    }
    // Bound states, as many as the positions of the atoms give.
    const Inertia bound = inertia(make("schroedinger:10").view());
    EXPECT_GE(bound.negative, 6);
    EXPECT_LE(bound.negative, 30);
    EXPECT_GT(bound.nearest_to_zero, 10);
}

TEST(indefinite, symmetric_in_every_bit) {
    for (const std::string text :
         {"kkt:300", "kkt:7,entries=5", "qpband:100", "bordered:200,rows=9", "stokes:9",
          "stokes:9,beta=2", "darcy:9", "helmholtz:13", "schroedinger:9,atoms=20",
          "shell:12,shift=0.8", "circuit:13"}) {
        SCOPED_TRACE(text);
        const auto matrix = make(text);
        const auto a = dense(matrix.view());
        const std::size_t n = std::size_t(matrix.rows());
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(a[i * n + j], a[j * n + i]);
        }
    }
}

TEST(indefinite, constraints_of_an_interior_point) {
    const auto matrix = make("kkt:400,entries=4,spread=2,seed=5");
    const CsrView<double> a = matrix.view();
    ASSERT_EQ(a.rows, 600);
    for (Index i = 0; i < 600; ++i) {
        Index variables = 0, constraints = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            if (i == j) {
                EXPECT_GE(a.values[k], -100);
                EXPECT_LE(a.values[k], -0.01);
                continue;
            }
            EXPECT_EQ(std::abs(a.values[k]), 1);
            (j < 400 ? variables : constraints) += 1;
        }
        if (i < 400) {
            EXPECT_EQ(variables, 0);
            EXPECT_GE(constraints, 1);
        } else {
            EXPECT_GE(variables, 4);
            EXPECT_EQ(constraints, 0);
        }
    }
    EXPECT_NE(dense(make("kkt:30,seed=1").view()), dense(make("kkt:30,seed=2").view()));
}

TEST(indefinite, flows_are_free_of_divergence_in_a_constant_pressure) {
    // B^T 1 = 0 on inner faces: all pressures but the omitted one have zero sums.
    for (const std::string text : {"stokes:8,beta=1", "darcy:8"}) {
        SCOPED_TRACE(text);
        const auto matrix = make(text);
        const CsrView<double> a = matrix.view();
        const Index faces = 2 * 8 * 7;
        const Index left_out = faces + 64 - a.rows;
        for (Index i = 0; i < faces; ++i) {
            double sum = 0, size = 0;
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                if (a.column_indices[k] < faces) continue;
                sum += a.values[k];
                size += std::abs(a.values[k]);
            }
            const bool at_left_out = left_out == 1 && (i == 6 * 8 + 7 || i == 56 + 7 * 7 + 6);
            EXPECT_EQ(sum, at_left_out ? -size : 0);
            EXPECT_GT(size, 0);
        }
    }
}

TEST(indefinite, stokes_walls) {
    // One row of cells: 2 x 2, one face across x at each height, walls below and above.
    const auto matrix = make("stokes:2");
    const auto a = dense(matrix.view());
    ASSERT_EQ(matrix.rows(), 7);
    const std::vector<double> first_row{20, -4, 0, 0, -2, 0, 2};  // (4 + 1) / h^2, h = 1 / 2.
    for (Index j = 0; j < 7; ++j) EXPECT_EQ(a[std::size_t(j) * 7], first_row[j]) << j;
}

TEST(indefinite, shell_is_a_polynomial_of_the_laplacian) {
    const auto shell = dense(make("shell:6,thickness=0.25,shift=0.5").view());
    const auto l = dense(make("poisson2d:6").view());
    for (std::size_t i = 0; i < 36; ++i) {
        for (std::size_t j = 0; j < 36; ++j) {
            double square = 0;
            for (std::size_t k = 0; k < 36; ++k) square += l[i * 36 + k] * l[k * 36 + j];
            EXPECT_EQ(shell[i * 36 + j], 0.25 * square + l[i * 36 + j] - (i == j ? 0.5 : 0));
        }
    }
}

TEST(indefinite, circuits_lose_only_through_leaks) {
    const auto matrix = make("circuit:20,leak=0.25");
    const CsrView<double> a = matrix.view();
    for (Index i = 0; i < a.rows; ++i) {
        double sum = 0, size = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            sum += a.values[k];
            size += std::abs(a.values[k]);
        }
        EXPECT_NEAR(sum, 0.25, test::gamma<double>(10) * size);
    }
    EXPECT_TRUE(problems::generate<double>(test::host(), "circuit:3,leak=0").known_singular);
}

TEST(indefinite, atoms_add_dense_blocks) {
    const auto with = make("schroedinger:9,atoms=1,shift=0");
    const auto without = make("schroedinger:9,atoms=0,shift=0");
    const auto a = dense(with.view()), b = dense(without.view());
    const std::size_t n = 729;
    // The contribution of an atom is a diagonal matrix plus 2 w w^T with |w| = 1: in the rows that
    // change off the diagonal, the products of three entries agree, and the sum of squares is 2^2.
    std::vector<std::size_t> touched;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            if (i != j && a[i * n + j] != b[i * n + j]) {
                touched.push_back(i);
                break;
            }
        }
    }
    ASSERT_GT(touched.size(), 20u);
    const auto added = [&](std::size_t p, std::size_t q) {
        return a[touched[p] * n + touched[q]] - b[touched[p] * n + touched[q]];
    };
    // a and b are rounded where their sum is at most `largest`.
    const double largest = std::abs(
        *std::ranges::max_element(a, [](double x, double y) { return std::abs(x) < std::abs(y); }));
    double trace = 0, bound = 0;
    for (std::size_t p = 0; p < touched.size(); ++p) {
        const std::size_t q = (p + 1) % touched.size(), r = (p + 2) % touched.size();
        const double term = added(p, q) * added(p, r) / added(q, r);  // 2 w_p^2
        trace += term;
        for (const double factor : {added(p, q), added(p, r), added(q, r)}) {
            bound += term * test::gamma<double>(8) * (1 + largest / std::abs(factor));
        }
    }
    EXPECT_NEAR(trace, 2, 2 * bound);
}

}  // namespace
}  // namespace tessera
