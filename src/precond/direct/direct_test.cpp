#include "tessera/direct.hpp"

#include <fstream>

#include "precond/direct/test_direct.hpp"
#include "support/messages.hpp"
#include "tessera/precond.hpp"

namespace tessera::test {

TEST(direct, solves_random_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index rows : {1, 2, 3, 7, 20, 60, 200}) {
            for (const double around : {0.5, 2.0, 6.0}) {
                const auto square = random_square(random, rows, around).matrix<T>();
                for (const DirectOptions& options : both_kinds) {
                    expect_solved(square, options, random);
                }
                expect_solved(square, {.threshold = 0.5}, random);
                const auto symmetric = random_symmetric(random, rows, around, 1);
                auto shifted = symmetric;
                for (Index i = 0; i < rows; ++i) shifted.add(i, i, i % 3 == 0 ? -9 : 9);
                for (DirectOptions options : both_kinds) {
                    expect_solved(shifted.template matrix<T>(), options, random);
                    options.symmetric = false;
                    expect_solved(shifted.template matrix<T>(), options, random);
                }
            }
        }
    });
}

/// Without matching, zeros on the diagonal delay pivots.
TEST(direct, delays_pivots) {
    auto random = generator();
    const auto matrix = problems::generate<double>(host(), Spec("stokes:12")).matrix;
    expect_solved(matrix, {}, random);
    expect_solved(matrix, {.matching = false}, random);
    expect_solved(matrix, {.matching = false, .symmetric = false}, random);
    const Direct<double> factors(host(), matrix.view(), {.matching = false});
    EXPECT_GT(factors.report().delayed, 0);
    const auto square = random_square(random, 80, 2).matrix<double>();
    expect_solved(square, {.matching = false}, random);
    EXPECT_GT(Direct<double>(host(), square.view(), {.matching = false}).report().delayed, 0);
}

/// Dense matrices with zeros on the diagonal, and rows and columns in different units.
TEST(direct, needs_no_matching_of_dense_matrices) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-1, 1);
    constexpr Index rows = 220;
    std::vector<double> units(rows), others(rows);
    for (double& unit : units) unit = std::pow(10, 6 * uniform(random));
    for (double& unit : others) unit = std::pow(10, 6 * uniform(random));
    Entries symmetric(rows), square(rows);
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < i; ++j) {
            const double value = uniform(random) * units[std::size_t(i)] * units[std::size_t(j)];
            symmetric.add(i, j, value).add(j, i, value);
        }
        for (Index j = 0; j < rows; ++j) {
            const double unit = units[std::size_t(i)] * others[std::size_t(j)];
            if (i != j) square.add(i, j, uniform(random) * unit);
        }
    }
    for (const Entries& entries : {symmetric, square}) {
        const auto matrix = entries.matrix<double>();
        expect_solved(matrix, {}, random);
        EXPECT_FALSE(Direct<double>(host(), matrix.view()).report().matched);
    }
}

/// Rows, or columns, in units of their own leave the diagonal large, but not the scaled one.
TEST(direct, matches_rows_in_various_units) {
    auto random = generator();
    std::uniform_real_distribution<double> uniform(-10, 10);
    const auto plain = problems::generate<double>(host(), Spec("poisson2d:40")).matrix;
    const DirectOptions unsymmetric{.symmetric = false};
    const Offset entries =
        Direct<double>(host(), plain.view(), unsymmetric).report().factor_entries;
    for (const bool of_columns : {false, true}) {
        std::vector<double> units(std::size_t(plain.rows()));
        for (double& unit : units) unit = std::pow(10, uniform(random));
        CsrMatrix<double> scaled = copy_to(host(), plain.view());
        const CsrView<double> view = plain.view();
        for (Index i = 0; i < view.rows; ++i) {
            for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                const Index unit = of_columns ? view.column_indices[k] : i;
                scaled.values().view()[std::size_t(k)] *= units[std::size_t(unit)];
            }
        }
        const Direct<double> factors(host(), scaled.view());
        EXPECT_TRUE(factors.report().matched);
        EXPECT_LT(factors.report().factor_entries, 2 * entries);
        EXPECT_GT(
            Direct<double>(host(), scaled.view(), {.matching = false}).report().factor_entries,
            2 * entries);
        if (!of_columns) expect_solved(scaled, {}, random);
    }
}

TEST(direct, names_singular_matrices) {
    // Rows 0 and 1 have one entry, in the same column.
    const auto structural =
        Entries(3).add(0, 2, 1).add(1, 2, 2).add(2, 0, 3).add(2, 1, 1).matrix<double>();
    const Direct<double> first(host(), structural.view());
    EXPECT_EQ(first.report().structural_rank, 2);
    EXPECT_EQ(first.report().null_pivots, 1);
    EXPECT_EQ(first.Preconditioner<double>::report().singular,
              "the matrix is singular whatever its values: its pattern allows a rank of 2 of 3");
    // Two equal rows.
    const auto numerical =
        Entries(2).add(0, 0, 1).add(0, 1, 2).add(1, 0, 1).add(1, 1, 2).matrix<double>();
    const Direct<double> second(host(), numerical.view());
    EXPECT_EQ(second.report().null_pivots, 1);
    EXPECT_EQ(second.Preconditioner<double>::report().singular,
              "the matrix is singular: 1 of its 2 columns has no pivot");
    for (const double x : applied(host(), second, {1.0, 1.0})) EXPECT_TRUE(std::isfinite(x));
    const auto nan =
        Entries(1).add(0, 0, std::numeric_limits<double>::quiet_NaN()).matrix<double>();
    const Direct<double> third(host(), nan.view());
    EXPECT_FALSE(third.Preconditioner<double>::report().unusable.empty());
}

/// Entries of different diagonal blocks are used in the solve only.
TEST(direct, finds_the_block_triangular_form) {
    auto random = generator();
    Entries entries(90);
    for (Index block = 0; block < 30; ++block) {  // 3 x 3 cycles, entries to later blocks.
        for (Index k = 0; k < 3; ++k) {
            const Index i = 3 * block + k;
            entries.add(i, i, 4).add(i, 3 * block + (k + 1) % 3, 1);
            if (i + 5 < 90) entries.add(i, i + 5 + Index(random() % std::uint64_t(85 - i)), 2);
        }
    }
    const auto matrix = entries.matrix<double>();
    EXPECT_EQ(Direct<double>(host(), matrix.view()).report().blocks, 30);
    expect_solved(matrix, {}, random);
}

TEST(direct, does_not_depend_on_the_number_of_threads) {
    // The last two are factored row by row.
    for (const char* const text :
         {"poisson3d:12", "convection3d:12", "stokes:24", "poisson2d:20", "convection2d:20"}) {
        const auto matrix = problems::generate<double>(host(), Spec(text)).matrix;
        const std::vector<double> b(std::size_t(matrix.rows()), 1);
        const auto expected = applied(host(1), Direct<double>(host(1), matrix.view()), b);
        for (const int threads : {2, 5}) {
            const Direct<double> factors(host(threads), matrix.view());
            EXPECT_EQ(applied(host(threads), factors, b), expected) << text;
        }
    }
}

TEST(direct, applies_to_several_vectors) {
    const Context device = context();
    const auto matrix =
        copy_to(device, problems::generate<double>(host(), Spec("convection3d:6")).matrix);
    const Direct<double> factors(device, matrix.view());
    auto random = generator();
    const auto rows = std::size_t(matrix.rows());
    const auto b = random_vector<double>(random, 5 * rows);
    const Buffer<double> right = copy_to_buffer(device, b);
    Buffer<double> x(device, Offset(b.size()));
    factors.apply_vectors(device, {right.data(), Offset(rows), 5, Offset(rows)},
                          {x.data(), Offset(rows), 5, Offset(rows)});
    const auto together = copy_to_host(device, x);
    for (std::size_t v = 0; v < 5; ++v) {
        const std::vector<double> one(b.begin() + std::ptrdiff_t(v * rows),
                                      b.begin() + std::ptrdiff_t((v + 1) * rows));
        const std::vector<double> found(together.begin() + std::ptrdiff_t(v * rows),
                                        together.begin() + std::ptrdiff_t((v + 1) * rows));
        EXPECT_EQ(found, applied(device, factors, one));
    }
}

/// A^-T: x^T A y = y^T A^T x for solves with both.
TEST(direct, applies_the_transpose) {
    auto random = generator();
    for (const Index rows : {1, 8, 120}) {
        for (const auto& matrix : {random_square(random, rows, 2).matrix<double>(),
                                   random_square(random, rows, 0.3).matrix<double>()}) {
            std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(rows));
            std::vector<std::vector<double>> values(pattern.size());
            const auto view = matrix.view();
            for (Index i = 0; i < rows; ++i) {
                for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                    pattern[std::size_t(view.column_indices[k])].push_back(i);
                    values[std::size_t(view.column_indices[k])].push_back(view.values[k]);
                }
            }
            const auto transposed = make_csr(rows, rows, pattern, values);
            const Direct<double> factors(host(), view);
            const auto b = random_vector<double>(random, std::size_t(rows));
            std::vector<double> x(b.size()), residual, change(b.size());
            factors.apply_transposed(host(), one_vector(std::span<const double>(b)),
                                     one_vector(std::span<double>(x)));
            double error = backward_error(transposed.view(), b, x, residual);
            for (int step = 0; step < 3 && error > 1; ++step) {
                factors.apply_transposed(host(), one_vector(std::span<const double>(residual)),
                                         one_vector(std::span<double>(change)));
                for (std::size_t i = 0; i < x.size(); ++i) x[i] += change[i];
                error = backward_error(transposed.view(), b, x, residual);
            }
            EXPECT_LE(error, 1) << rows;
        }
    }
}

TEST(direct, takes_new_values) {
    const Context device = context();
    auto random = generator();
    const auto first = random_square(random, 50, 3).matrix<double>();
    auto second = copy_to(host(), first.view());
    for (double& value : second.values().view()) value *= 2;
    Direct<double> factors(device, copy_to(device, first.view()).view());
    factors.update(device, copy_to(device, second.view()).view());
    const std::vector<double> b(50, 1);
    const auto x = applied(device, factors, b);
    const Direct<double> fresh(device, copy_to(device, first.view()).view());
    const auto expected = applied(device, fresh, b);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(2 * x[i], expected[i]);
    const auto other = copy_to(device, random_square(random, 50, 2).matrix<double>().view());
    EXPECT_THROW(factors.update(device, other.view()), InvalidArgument);
    EXPECT_EQ(applied(device, factors, b), x);
}

/// Without a threshold zeros are no pivots all the same.
TEST(direct, without_a_threshold) {
    auto random = generator();
    const auto swap = Entries(2).add(0, 1, 1).add(1, 0, 1).matrix<double>();
    for (const bool symmetric : {false, true}) {
        expect_solved(swap, {.threshold = 0, .symmetric = symmetric}, random);
        expect_solved(swap, {.threshold = 0, .matching = false, .symmetric = symmetric}, random);
    }
}

/// Pivots count as zero relative to the entries, also of an update.
TEST(direct, takes_values_of_another_size) {
    auto random = generator();
    const auto first = random_square(random, 40, 2).matrix<double>();
    Direct<double> factors(host(), first.view());
    const std::vector<double> b(40, 1);
    const auto expected = applied(host(), factors, b);
    for (const double size : {0x1p-200, 0x1p200}) {
        auto other = copy_to(host(), first.view());
        for (double& value : other.values().view()) value *= size;
        factors.update(host(), other.view());
        EXPECT_EQ(factors.report().null_pivots, 0);
        EXPECT_EQ(factors.Preconditioner<double>::report().singular, "");
        const auto x = applied(host(), factors, b);
        for (std::size_t i = 0; i < 40; ++i) EXPECT_EQ(x[i] * size, expected[i]);
    }
}

/// After an update that fails there are no factors until one succeeds.
TEST(direct, has_no_factors_after_an_update_that_failed) {
    auto matrix = problems::generate<double>(host(), Spec("poisson2d:8")).matrix;
    const double flops = Direct<double>(host(), matrix.view()).report().flops;
    Direct<double> factors(host(), matrix.view(), {.max_flops = flops});
    const auto symmetric = copy_to(host(), matrix.view());
    matrix.values().view()[1] = -0.5;  // LU takes twice the operations.
    EXPECT_THROW(factors.update(host(), matrix.view()), InvalidArgument);
    const std::vector<double> b(64, 1);
    EXPECT_THROW(applied(host(), factors, b), InvalidArgument);
    EXPECT_THROW(factors.log_determinant(), InvalidArgument);
    EXPECT_FALSE(factors.Preconditioner<double>::report().unusable.empty());
    factors.update(host(), symmetric.view());
    EXPECT_EQ(applied(host(), factors, b),
              applied(host(), Direct<double>(host(), symmetric.view()), b));
}

/// Values that are no longer symmetric are factored by LU.
TEST(direct, takes_values_that_are_no_longer_symmetric) {
    auto random = generator();
    auto matrix = problems::generate<double>(host(), Spec("poisson2d:8")).matrix;
    Direct<double> factors(host(), matrix.view());
    EXPECT_TRUE(factors.report().symmetric);
    matrix.values().view()[1] = -0.5;
    factors.update(host(), matrix.view());
    EXPECT_FALSE(factors.report().symmetric);
    const auto b = random_vector<double>(random, 64);
    std::vector<double> residual;
    EXPECT_LE(backward_error(matrix.view(), b, applied(host(), factors, b), residual), 10);
    matrix.values().view()[1] = -1;
    factors.update(host(), matrix.view());
    EXPECT_TRUE(factors.report().symmetric);
}

/// Values in other units, or that were zero, are factored as at a setup.
TEST(direct, takes_values_in_other_units) {
    auto random = generator();
    const auto symmetric = problems::generate<double>(host(), Spec("poisson2d:8")).matrix;
    const auto general = random_square(random, 64, 3).matrix<double>();
    const auto b = random_vector<double>(random, 64);
    for (const CsrView<double>& matrix : {symmetric.view(), general.view()}) {
        const auto with_units = [&](int step) {
            auto result = copy_to(host(), matrix);
            for (Index i = 0; i < 64; ++i) {
                for (Offset e = matrix.row_offsets[i]; e < matrix.row_offsets[i + 1]; ++e) {
                    const Index j = matrix.column_indices[e];
                    result.values().view()[e] *= std::ldexp(1.0, step * (i % 9 + j % 9));
                }
            }
            return result;
        };
        const auto scaled = with_units(7);
        auto zero = copy_to(host(), matrix);
        std::ranges::fill(zero.values().view(), 0.0);
        const Direct<double> fresh(host(), matrix), fresh_scaled(host(), scaled.view());
        Direct<double> factors(host(), scaled.view());
        factors.update(host(), matrix);
        EXPECT_EQ(applied(host(), factors, b), applied(host(), fresh, b));
        factors.update(host(), scaled.view());
        EXPECT_EQ(applied(host(), factors, b), applied(host(), fresh_scaled, b));
        factors.update(host(), zero.view());
        factors.update(host(), matrix);
        EXPECT_EQ(applied(host(), factors, b), applied(host(), fresh, b));
        EXPECT_EQ(factors.Preconditioner<double>::report().singular, "");
    }
}

TEST(direct, refuses_more_operations_than_allowed) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:20")).matrix;
    const Direct<double> factors(host(), matrix.view(), {.max_flops = 1e6});
    EXPECT_LT(factors.report().flops, 1e6);
    EXPECT_THROW(Direct<double>(host(), matrix.view(), {.max_flops = factors.report().flops / 2}),
                 InvalidArgument);
}

/// What is too large for the memory that it may take is refused before the fronts are made.
TEST(direct, refuses_more_memory_than_allowed) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:400")).matrix;
    const std::string message = message_of<OutOfMemory>(
        [&] { Direct<double>(host(), matrix.view(), {.symmetric = false, .memory_share = 1e-6}); });
    expect_contains(message, "direct needs about ");
    expect_contains(message, " times the ");
    const auto config = parse_preconditioner("direct");
    const auto share = [&](bool has_alternative) {
        const auto small = problems::generate<double>(host(), Spec("poisson2d:4")).matrix;
        const auto made = config->make(host(), small.view(), {.has_alternative = has_alternative});
        return dynamic_cast<const Direct<double>&>(*made).options().memory_share;
    };
    EXPECT_EQ(share(false), 1);
    EXPECT_EQ(share(true), 0.5);
}

TEST(direct, counts_its_memory) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:40")).matrix;
    for (const DirectOptions& options : both_kinds) {
        for (const int threads : {1, 2}) {
            const Context cpu = Context::cpu(threads);
            Direct<double>(cpu, matrix.view(), options);
            const Offset before = cpu.memory_bytes();  // Work space stays.
            {
                const Direct<double> factors(cpu, matrix.view(), options);
                const Offset bytes = factors.report().factor_bytes;
                EXPECT_GT(bytes, factors.report().factor_entries * Offset(sizeof(double)));
                EXPECT_GT(cpu.memory_bytes(), before + bytes);
                EXPECT_GE(cpu.peak_memory_bytes(), cpu.memory_bytes());
                if (factors.report().fronts > 0) {
                    EXPECT_GT(cpu.peak_memory_bytes(), cpu.memory_bytes());
                }
            }
            EXPECT_EQ(cpu.memory_bytes(), before);
        }
    }
}

TEST(direct, describes_its_options) {
    for (const char* const text : {"direct", "direct,threshold=0.25", "direct,matching=on",
                                   "direct,matching=off,symmetric=off,max_flops=1e09"}) {
        const auto matrix = Entries(1).add(0, 0, 2).matrix<double>();
        EXPECT_EQ(Direct<double>(host(), matrix.view(), parse_direct(Spec(text))).describe(), text);
    }
    EXPECT_THROW(parse_direct(Spec("direct,threshold=0.7")), InvalidArgument);
    EXPECT_THROW(parse_direct(Spec("direct,thresold=0.1")), InvalidArgument);
}

TEST(direct, real_matrices) {
    if (matrix_folder().empty()) GTEST_SKIP() << "TESSERA_TEST_MATRICES is not set";
    auto random = generator();
    for (const char* const name : {"lhr07", "stokes64", "oscil_dcop_01", "west0497", "bp_1400",
                                   "sqd_cvxqp2_m_2x2_it10", "fs_760_3", "ex13", "tuma1"}) {
        const std::string path = matrix_folder() + "/" + name + ".mtx.gz";
        if (!std::ifstream(path)) continue;
        SCOPED_TRACE(name);
        expect_solved(io::read_matrix<double>(host(), path), {}, random);
    }
}

}  // namespace tessera::test
