#include "tessera/problems.hpp"

#include <algorithm>
#include <cstring>

#include "support/messages.hpp"

namespace tessera {
namespace {

using test::expect_contains;

template <class T>
problems::Problem<T> make(const std::string& text, int threads = 2) {
    return problems::generate<T>(test::host(threads), Spec(text));
}

std::string error_message(const std::string& text) {
    return test::message_of([&] { make<double>(text); });
}

/// Every generator at one size, with the further options it needs.
std::vector<std::string> all_at(const std::string& size) {
    std::vector<std::string> texts;
    for (const std::string& name : problems::generator_names()) {
        if (size == "1" && (name == "stokes" || name == "darcy")) continue;  // Without a face.
        texts.push_back(name + ":" + size + (name == "block_diagonal" ? ",4" : ""));
    }
    texts.push_back("elasticity2d:" + size + ",free");
    texts.push_back("elasticity3d:" + size + ",free");
    texts.push_back("elasticity2d:" + size + ",element=t3,free");
    texts.push_back("elasticity3d:" + size + ",element=tet4,jitter=0.5");
    return texts;
}

template <class T>
bool same_bits(std::span<const T> a, std::span<const T> b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

/// Dense copy, row-major.
template <class T>
std::vector<T> dense(const CsrView<T>& matrix) {
    std::vector<T> full(std::size_t(matrix.rows) * matrix.columns, T(0));
    for (Index i = 0; i < matrix.rows; ++i) {
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            full[std::size_t(i) * matrix.columns + matrix.column_indices[k]] = matrix.values[k];
        }
    }
    return full;
}

TEST(problems, every_generator_makes_a_valid_matrix) {
    for (const std::string size : {"1", "2", "3", "10"}) {
        for (const std::string& text : all_at(size)) {
            SCOPED_TRACE(text);
            const auto in_double = make<double>(text);
            const auto in_float = make<float>(text);
            EXPECT_NO_THROW(validate(in_double.matrix.view()));
            EXPECT_NO_THROW(validate(in_float.matrix.view()));
            EXPECT_EQ(in_double.name, text);
            EXPECT_EQ(in_double.known_singular, text.ends_with(",free"));
            ASSERT_EQ(in_float.matrix.nonzeros(), in_double.matrix.nonzeros());
            for (Offset k = 0; k < in_float.matrix.nonzeros(); ++k) {
                ASSERT_EQ(in_float.matrix.view().values[k],
                          float(in_double.matrix.view().values[k]));
            }
        }
    }
}

TEST(problems, wrong_texts_are_rejected_with_a_way_out) {
    expect_contains(error_message("poison2d:10"), "did you mean 'poisson2d'?");
    expect_contains(error_message("nothing:10"), "Valid: poisson2d, poisson3d");
    for (const std::string& name : problems::generator_names()) {
        SCOPED_TRACE(name);
        expect_contains(error_message(name), name + " needs a size, for example " + name + ":");
        expect_contains(error_message(name + ":0" + (name == "block_diagonal" ? ",4" : "")),
                        "is not within 1..");
        expect_contains(error_message(name + ":-3"), "is not within 1..");
        EXPECT_NE(error_message(name + ":3,4,5"), "accepted");
    }
    expect_contains(error_message("convection3d:3,strenght=2"),
                    "option 'strenght'; did you mean 'strength'?");
    expect_contains(error_message("block_diagonal:9,3,sed=1"),
                    "option 'sed'; did you mean 'seed'?");
    expect_contains(error_message("convection3d:3,strength=-1"), "is not within");
    for (const std::string option : {"mach=0", "mach=11", "cfl=0", "cfl=1e13"}) {
        expect_contains(error_message("euler2d:3," + option), "is not within");
    }
    expect_contains(error_message("block_diagonal:9"), "block_diagonal:9,8");
    expect_contains(error_message("block_diagonal:9,0"), "is not within 1..");
    for (const std::string sizes : {"0-3", "5-4", "a-b", "4-", "-4", "1-9999999"}) {
        expect_contains(error_message("random_blocks:3,sizes=" + sizes),
                        "sizes=" + sizes + " is not LOW-HIGH");
    }
    expect_contains(error_message("random_blocks:3,condition=0.5"), "is not within");
}

TEST(problems, sizes_that_cannot_be_numbered_are_rejected) {
    for (const std::string text :
         {"poisson2d:46341", "poisson3d:1291", "convection3d:1291", "elasticity2d:32768",
          "elasticity3d:895", "elasticity3d:894,free", "elasticity3d:2147483647",
          "random_blocks:100000000,sizes=30", "euler2d:23171", "euler3d:755", "kkt:1500000000",
          "stokes:26755", "schroedinger:1291", "shell:46341"}) {
        expect_contains(error_message(text), text + " has more than 2^31 - 1 unknowns");
    }
}

TEST(problems, equal_for_every_number_of_threads) {
    for (const std::string text : {"poisson2d:150",
                                   "poisson3d:20",
                                   "convection3d:20",
                                   "convection2d:120,scheme=central",
                                   "recirculation:120",
                                   "euler2d:60,cfl=100",
                                   "euler3d:15,mach=2",
                                   "arrow:90000",
                                   "tridiagonal:90000",
                                   "block_diagonal:20001,10",
                                   "random_blocks:1000,condition=1e6",
                                   "elasticity2d:90",
                                   "elasticity3d:18",
                                   "elasticity3d:17,free",
                                   "elasticity2d:90,element=t3,jitter=0.5",
                                   "elasticity3d:12,element=tet4",
                                   "cantilever3d:5",
                                   "plate_hole:40",
                                   "kkt:9000",
                                   "qpband:9000",
                                   "bordered:6000",
                                   "stokes:50",
                                   "darcy:50",
                                   "helmholtz:70",
                                   "schroedinger:15",
                                   "shell:70,shift=0.8",
                                   "circuit:70"}) {
        SCOPED_TRACE(text);
        const auto one = make<double>(text, 1);
        for (const int threads : {2, 5}) {
            const auto other = make<double>(text, threads);
            const auto a = one.matrix.view();
            const auto b = other.matrix.view();
            EXPECT_TRUE(same_bits(a.row_offsets_span(), b.row_offsets_span()));
            EXPECT_TRUE(same_bits(a.column_indices_span(), b.column_indices_span()));
            EXPECT_TRUE(same_bits(a.values_span(), b.values_span()));
            EXPECT_TRUE(
                same_bits(std::span<const double>(one.load), std::span<const double>(other.load)));
        }
    }
}

/// Entry (i, j) of the stencil on `size` points per axis, from the points' coordinates.
double stencil_entry(int dimensions, Index size, Index i, Index j, double diagonal, double lower) {
    int steps = 0;
    bool below = false;
    for (int axis = 0; axis < dimensions; ++axis, i /= size, j /= size) {
        steps += std::abs(i % size - j % size);
        below = below || j % size < i % size;
    }
    return steps == 0 ? diagonal : steps == 1 ? (below ? lower : -1) : 0;
}

TEST(problems, stencils) {
    const auto expect_stencil = [](const std::string& text, int dimensions, Index size,
                                   double diagonal, double lower) {
        SCOPED_TRACE(text);
        const auto problem = make<double>(text);
        const Index n = Index(std::lround(std::pow(size, dimensions)));
        ASSERT_EQ(problem.matrix.rows(), n);
        const auto full = dense(problem.matrix.view());
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < n; ++j) {
                ASSERT_EQ(full[std::size_t(i) * n + j],
                          stencil_entry(dimensions, size, i, j, diagonal, lower));
            }
        }
        // Each axis misses one neighbour at each of the two ends of its n / size lines.
        EXPECT_EQ(problem.matrix.nonzeros(),
                  (2 * dimensions + 1) * n - 2 * dimensions * (n / size));
        EXPECT_TRUE(problem.load.empty());
    };
    for (const Index size : {1, 2, 3, 7}) {
        const std::string n = std::to_string(size);
        expect_stencil("tridiagonal:" + n, 1, size, 2, -1);
        expect_stencil("poisson2d:" + n, 2, size, 4, -1);
        expect_stencil("poisson3d:" + n, 3, size, 6, -1);
        expect_stencil("convection3d:" + n + ",strength=0", 3, size, 6, -1);
        expect_stencil("convection2d:" + n + ",strength=0,scheme=central", 2, size, 4, -1);
    }
    // h = 1/4 and 1/8: exact.
    expect_stencil("convection3d:3", 3, 3, 6 + 3 * 2.5, -1 - 2.5);
    expect_stencil("convection3d:7,strength=32", 3, 7, 6 + 3 * 4., -1 - 4.);
    expect_stencil("convection2d:3", 2, 3, 4 + 2 * 2.5, -1 - 2.5);
}

/// Both schemes give constants, and w . grad x = 2 y (1 - x^2), central ones exactly; upwind
/// rows have one sign, and the flow turns by a quarter with the square.
TEST(problems, convection_by_differences) {
    const Index size = 7;  // h = 1/4
    const auto row_times = [&](const std::string& text, Index i, const auto& function) {
        const auto problem = make<double>(text);
        const auto a = problem.matrix.view();
        double sum = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            sum += a.values[k] * function(-1 + 0.25 * (1 + j % size), -1 + 0.25 * (1 + j / size));
        }
        return sum;
    };
    const auto one = [](double, double) { return 1.0; };
    const auto first = [](double x, double) { return x; };
    for (const Index i : {8, 19, 24, 40}) {  // Not at the border.
        const double x = -1 + 0.25 * (1 + i % size), y = -1 + 0.25 * (1 + i / size);
        for (const std::string scheme : {"upwind", "central"}) {
            const std::string text = "recirculation:7,peclet=64,scheme=" + scheme;
            EXPECT_EQ(row_times(text, i, one), 0) << text;
            EXPECT_EQ(row_times(text, i, first), 0.25 * 0.25 * 64 * 2 * y * (1 - x * x)) << text;
        }
        EXPECT_EQ(row_times("convection2d:7,strength=32,scheme=central", i, first),
                  0.125 * 0.25 * 32);
    }
    const auto upwind = make<double>("recirculation:7,peclet=64");
    const auto a = upwind.matrix.view();
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            EXPECT_EQ(a.values[k] > 0, a.column_indices[k] == i);
        }
    }
}

TEST(problems, arrow_is_its_last_row_column_and_diagonal) {
    const Index n = 6;
    const auto full = dense(make<double>("arrow:6").matrix.view());
    for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
            const double expected = i == j                    ? (i == n - 1 ? n : 2)
                                    : std::max(i, j) == n - 1 ? -1
                                                              : 0;
            EXPECT_EQ(full[std::size_t(i) * n + j], expected);
        }
    }
    EXPECT_EQ(make<double>("arrow:6").matrix.nonzeros(), 16);
    EXPECT_EQ(dense(make<double>("arrow:1").matrix.view()), std::vector<double>{1});
}

TEST(problems, block_diagonal_has_dense_blocks_of_different_numbers) {
    const auto problem = make<double>("block_diagonal:10,4");
    EXPECT_EQ(problem.natural_block, 4);
    EXPECT_EQ(problem.matrix.nonzeros(), 16 + 16 + 4);
    const auto view = problem.matrix.view();
    for (Index i = 0; i < 10; ++i) {
        const Index start = i / 4 * 4;
        ASSERT_EQ(view.row_offsets[i + 1] - view.row_offsets[i], std::min(4, 10 - start));
        EXPECT_EQ(view.column_indices[view.row_offsets[i]], start);
    }
    std::vector<double> values(view.values, view.values + view.nonzeros);
    for (const double value : values) EXPECT_TRUE(value >= -1 && value < 1);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(std::adjacent_find(values.begin(), values.end()), values.end());
    const auto other = make<double>("block_diagonal:10,4,seed=2");
    EXPECT_FALSE(same_bits(view.values_span(), other.matrix.view().values_span()));
    EXPECT_EQ(make<double>("block_diagonal:3,8").natural_block, 3);
}

/// Singular values, descending, by one-sided Jacobi rotations of the columns of a (n x n,
/// row-major); `rotations` counts them.
std::vector<double> singular_values(std::vector<double> a, std::size_t n, int& rotations) {
    rotations = 0;
    for (bool rotated = true; rotated;) {
        rotated = false;
        for (std::size_t p = 0; p < n; ++p) {
            for (std::size_t q = p + 1; q < n; ++q) {
                double pp = 0, qq = 0, pq = 0;
                for (std::size_t i = 0; i < n; ++i) {
                    pp += a[i * n + p] * a[i * n + p];
                    qq += a[i * n + q] * a[i * n + q];
                    pq += a[i * n + p] * a[i * n + q];
                }
                if (std::abs(pq) <= test::gamma<double>(double(n)) * std::sqrt(pp * qq)) continue;
                const double tau = (qq - pp) / (2 * pq);
                const double t = std::copysign(1, tau) / (std::abs(tau) + std::hypot(1, tau));
                const double c = 1 / std::hypot(1, t);
                for (std::size_t i = 0; i < n; ++i) {
                    const double x = a[i * n + p];
                    const double y = a[i * n + q];
                    a[i * n + p] = c * (x - t * y);
                    a[i * n + q] = c * (t * x + y);
                }
                rotated = true;
                ++rotations;
            }
        }
    }
    std::vector<double> values(n, 0);
    for (std::size_t k = 0; k < n; ++k) {
        for (std::size_t i = 0; i < n; ++i) values[k] = std::hypot(values[k], a[i * n + k]);
    }
    std::sort(values.rbegin(), values.rend());
    return values;
}

TEST(problems, random_blocks_have_the_singular_values_asked_for) {
    const double condition = 1e6;
    const auto problem = make<double>("random_blocks:40,sizes=3-9,condition=1e6,seed=7");
    const auto view = problem.matrix.view();
    std::vector<int> seen(10, 0);
    Index start = 0;
    Index blocks = 0;
    while (start < view.rows) {
        ++blocks;
        const std::size_t n = std::size_t(view.row_offsets[start + 1] - view.row_offsets[start]);
        ASSERT_TRUE(n >= 3 && n <= 9);
        ++seen[n];
        std::vector<double> block;
        for (Index i = start; i < start + Index(n); ++i) {
            const Offset at = view.row_offsets[i];
            EXPECT_EQ(view.column_indices[at], start);
            block.insert(block.end(), view.values + at, view.values + at + n);
            const bool coupled = i + 1 == start + Index(n) && i + 1 < view.rows;
            ASSERT_EQ(view.row_offsets[i + 1] - at, Offset(n) + coupled);
            if (coupled) {
                EXPECT_EQ(view.column_indices[at + Offset(n)], i + 1);
                EXPECT_EQ(view.values[at + Offset(n)], 0.1 / condition);
            }
        }
        EXPECT_EQ(std::count(block.begin(), block.end(), 0.), 0) << "a zero in a dense block";
        int rotations = 0;
        const std::vector<double> values = singular_values(block, n, rotations);
        // Higham, lemma 19.2 and 19.9: a computed reflection or rotation of A is an exact one of
        // A + E, |E|_F <= gamma_(10 n) |A|_F; singular values move by at most |E|_2. The threshold
        // at which columns count as orthogonal adds gamma_n for each of n - 1 partners.
        double frobenius = 0;
        for (const double value : block) frobenius = std::hypot(frobenius, value);
        const double bound = frobenius * ((6 + rotations) * test::gamma<double>(10. * n) +
                                          double(n) * test::gamma<double>(2. * n));
        for (std::size_t k = 0; k < n; ++k) {
            EXPECT_NEAR(values[k], std::pow(condition, -double(k) / double(n - 1)), bound);
        }
        start += Index(n);
    }
    EXPECT_EQ(blocks, 40);
    EXPECT_GT(std::count_if(seen.begin(), seen.end(), [](int count) { return count > 0; }), 4);
    EXPECT_EQ(problem.natural_block, 1);
    EXPECT_EQ(make<double>("random_blocks:5,sizes=4").natural_block, 4);
    EXPECT_EQ(make<double>("random_blocks:5,sizes=4-4").matrix.nonzeros(), 5 * 16 + 4);
}

/// Blocks do not depend on how many there are.
TEST(problems, random_blocks_depend_on_seed_and_number_alone) {
    const auto few = make<double>("random_blocks:20,sizes=1-16");
    const auto many = make<double>("random_blocks:200,sizes=1-16");
    const auto other = make<double>("random_blocks:20,sizes=1-16,seed=3");
    const Offset shared = few.matrix.nonzeros();
    EXPECT_TRUE(same_bits(few.matrix.view().values_span(),
                          many.matrix.view().values_span().first(std::size_t(shared))));
    EXPECT_FALSE(same_bits(few.matrix.view().values_span(), other.matrix.view().values_span()));
}

}  // namespace
}  // namespace tessera
