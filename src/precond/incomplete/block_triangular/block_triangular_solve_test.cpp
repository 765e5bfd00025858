#include "tessera/block_triangular_solve.hpp"

#include "precond/incomplete/test_factor.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

using Entries = std::vector<std::map<Index, double>>;  // By rows.

template <class T>
CsrMatrix<T> to_csr(const Entries& entries) {
    std::vector<std::vector<Index>> columns(entries.size());
    std::vector<std::vector<T>> values(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (const auto& [column, value] : entries[i]) {
            columns[i].push_back(column);
            values[i].push_back(T(value));
        }
    }
    return make_csr(Index(entries.size()), Index(entries.size()), columns, values);
}

Entries transposed(const Entries& entries) {
    Entries result(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (const auto& [j, value] : entries[i]) result[std::size_t(j)][Index(i)] = value;
    }
    return result;
}

std::vector<Index> uniform_offsets(Index rows, Index block) {
    std::vector<Index> offsets;
    for (Index first = 0; first < rows; first += block) offsets.push_back(first);
    offsets.push_back(rows);
    return offsets;
}

/// About three blocks of small integers below each diagonal block, and diagonal blocks with the
/// integer 8 on the main diagonal (1: `unit`), other small ones beside it.
Entries random_lower(std::mt19937_64& random, const std::vector<Index>& offsets, bool unit) {
    const auto integer = [&] { return double(int(random() % 7)) - 3; };
    Entries entries(std::size_t(offsets.back()));
    const auto fill_block = [&](std::size_t row, std::size_t column) {
        for (Index i = offsets[row]; i < offsets[row + 1]; ++i) {
            for (Index j = offsets[column]; j < offsets[column + 1]; ++j) {
                if (random() % 4 != 0) entries[std::size_t(i)][j] = integer();
            }
        }
    };
    for (std::size_t block = 0; block + 1 < offsets.size(); ++block) {
        for (int e = 0; e < 3 && block > 0; ++e) fill_block(block, random() % block);
        if (!unit) fill_block(block, block);
        for (Index i = offsets[block]; i < offsets[block + 1]; ++i) {
            entries[std::size_t(i)][i] = unit ? 1 : i % 2 == 0 ? 24 : -32;
        }
    }
    return entries;
}

std::vector<double> multiply(const Entries& a, const std::vector<double>& x) {
    std::vector<double> y(a.size(), 0);
    for (std::size_t i = 0; i < a.size(); ++i) {
        for (const auto& [j, value] : a[i]) y[i] += value * x[std::size_t(j)];
    }
    return y;
}

Entries absolute(Entries a) {
    for (auto& row : a) {
        for (auto& [j, value] : row) value = std::abs(value);
    }
    return a;
}

std::vector<double> absolute(std::vector<double> x) {
    for (double& element : x) element = std::abs(element);
    return x;
}

/// The entries within diagonal blocks, and their inverses by Gauss-Jordan elimination.
Entries diagonal_part(const Entries& a, const std::vector<Index>& offsets) {
    Entries d(a.size());
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        for (Index i = offsets[b]; i < offsets[b + 1]; ++i) {
            for (const auto& [j, value] : a[std::size_t(i)]) {
                if (j >= offsets[b] && j < offsets[b + 1]) d[std::size_t(i)][j] = value;
            }
        }
    }
    return d;
}

Entries inverse_of_blocks(const Entries& d, const std::vector<Index>& offsets) {
    Entries inverse(d.size());
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        const Index first = offsets[b], size = offsets[b + 1] - first;
        const auto n = std::size_t(size);
        std::vector<std::vector<double>> rows(n, std::vector<double>(2 * n, 0));
        for (std::size_t i = 0; i < n; ++i) {
            for (const auto& [j, value] : d[std::size_t(first) + i]) {
                rows[i][std::size_t(j - first)] = value;
            }
            rows[i][n + i] = 1;
        }
        for (std::size_t p = 0; p < n; ++p) {
            const auto largest =
                std::ranges::max_element(rows.begin() + Offset(p), rows.end(), {},
                                         [&](const auto& row) { return std::abs(row[p]); });
            std::swap(rows[p], *largest);
            const double pivot = rows[p][p];
            for (double& value : rows[p]) value /= pivot;
            for (std::size_t i = 0; i < n; ++i) {
                if (i == p) continue;
                const double factor = rows[i][p];
                for (std::size_t j = 0; j < 2 * n; ++j) rows[i][j] -= factor * rows[p][j];
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                inverse[std::size_t(first) + i][first + Index(j)] = rows[i][n + j];
            }
        }
    }
    return inverse;
}

template <class T>
std::vector<double> solve(const Context& context, const BlockTriangularSolve<T>& solver,
                          const std::vector<double>& b, bool transposed) {
    const auto in = copy_to_buffer(context, std::vector<T>(b.begin(), b.end()));
    Buffer<T> out(context, in.size());
    if (transposed) {
        solver.apply_transposed(context, in.view(), out.view());
    } else {
        solver.apply(context, in.view(), out.view());
    }
    const auto x = copy_to_host(context, out);
    return {x.begin(), x.end()};
}

template <class T>
BlockTriangularSolve<T> make_solver(const Context& context, const Entries& a,
                                    const std::vector<Index>& offsets, bool upper, bool unit) {
    const auto blocks = blocks_from_offsets(context, Index(a.size()), offsets);
    return {context, copy_to(context, to_csr<T>(a).view()).view(), blocks, {upper, unit}};
}

/// The largest of the sums of magnitudes of the rows and of the columns of a diagonal block.
double norm_of_block(const Entries& d, Index first, Index end) {
    std::vector<double> rows(std::size_t(end - first), 0), columns(rows);
    for (Index i = first; i < end; ++i) {
        for (const auto& [j, value] : d[std::size_t(i)]) {
            rows[std::size_t(i - first)] += std::abs(value);
            columns[std::size_t(j - first)] += std::abs(value);
        }
    }
    return std::max(*std::ranges::max_element(rows), *std::ranges::max_element(columns));
}

/// |b - A x| against the bound of a solve with V = N X, X the computed D^-1: errors of sums, and
/// those of X, with ||X D - I|| <= n eps ||D|| ||X|| (batched::invert).
template <class T>
void expect_small_residual(const Entries& a, const std::vector<Index>& offsets,
                           const std::vector<double>& b, const std::vector<double>& x) {
    const Entries d = diagonal_part(a, offsets), inverse = inverse_of_blocks(d, offsets);
    const Entries size_a = absolute(a), size_d = absolute(d), size_x = absolute(inverse);
    const std::vector<double> size = absolute(x), of_a = multiply(size_a, size);
    const std::vector<double> of_x = multiply(size_x, of_a);  // |D^-1| |A| |x|
    std::vector<double> bound = multiply(size_a, multiply(size_x, multiply(size_d, size)));
    const std::vector<double> left = multiply(size_d, of_x);
    std::size_t terms = 0;
    for (const auto& row : a) terms = std::max(terms, row.size());
    for (const auto& row : transposed(a)) terms = std::max(terms, row.size());
    const double unit = gamma<T>(double(2 * terms + 4 * 32));
    for (std::size_t block = 0; block + 1 < offsets.size(); ++block) {
        const Index first = offsets[block], end = offsets[block + 1];
        const double norm = norm_of_block(d, first, end);
        double inverted = norm * norm * norm_of_block(inverse, first, end);
        inverted *= *std::max_element(of_x.begin() + first, of_x.begin() + end);
        for (auto i = std::size_t(first); i < std::size_t(end); ++i) {
            const double product = multiply({a[i]}, x)[0];
            ASSERT_LE(std::abs(b[i] - product),
                      unit * (bound[i] + left[i] + inverted + std::abs(b[i])))
                << "row " << i;
        }
    }
}

template <class T>
void check_residuals(const Context& context, std::mt19937_64& random,
                     const std::vector<Index>& offsets) {
    const Entries lower = random_lower(random, offsets, false);
    const auto b = random_vector<T>(random, lower.size());
    const std::vector<double> right(b.begin(), b.end());
    for (const bool upper : {false, true}) {
        const Entries a = upper ? transposed(lower) : lower;
        const auto solver = make_solver<T>(context, a, offsets, upper, false);
        EXPECT_EQ(solver.singular_blocks(), 0);
        expect_small_residual<T>(a, offsets, right, solve(context, solver, right, false));
        expect_small_residual<T>(transposed(a), offsets, right,
                                 solve(context, solver, right, true));
    }
}

/// b = A x of small integers is exact, and so are all differences of a solve with D = I.
void check_integers(const Context& context, const Entries& lower,
                    const std::vector<Index>& offsets) {
    std::vector<double> x(lower.size());
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = double(i % 9) - 4;
    for (const bool upper : {false, true}) {
        const Entries a = upper ? transposed(lower) : lower;
        const auto solver = make_solver<double>(context, a, offsets, upper, true);
        ASSERT_EQ(solve(context, solver, multiply(a, x), false), x);
        ASSERT_EQ(solve(context, solver, multiply(transposed(a), x), true), x);
    }
}

}  // namespace

TEST(block_triangular_solve, residuals_are_those_of_substitution) {
    auto random = generator();
    const Context device = context();
    for (const Index block : {1, 2, 4, 5, 8, 11, 16, 32}) {
        SCOPED_TRACE(block);
        check_residuals<double>(device, random, uniform_offsets(20 * block + 1, block));
        check_residuals<float>(device, random, uniform_offsets(12 * block, block));
    }
}

TEST(block_triangular_solve, blocks_may_have_different_sizes) {
    auto random = generator();
    for (const Index largest : {4, 7, 13, 30}) {
        std::vector<Index> offsets{0};
        for (int b = 0; b < 25; ++b) {
            offsets.push_back(offsets.back() + 1 + Index(random() % std::uint64_t(largest)));
        }
        check_residuals<double>(context(), random, offsets);
    }
}

TEST(block_triangular_solve, unit_diagonals_are_exact) {
    auto random = generator();
    for (const Index block : {1, 3, 8, 16, 32}) {
        const auto offsets = uniform_offsets(30 * block, block);
        check_integers(context(), random_lower(random, offsets, true), offsets);
    }
}

// The main diagonal is not read; elements beside it are.
TEST(block_triangular_solve, unit_diagonals_within_blocks) {
    auto random = generator();
    const auto single = uniform_offsets(90, 1);
    const Entries lower = random_lower(random, single, true);
    check_integers(context(), lower, uniform_offsets(90, 1));
    const auto b = random_vector<double>(random, 90);
    Entries stored = lower;  // Some have another diagonal, others none.
    for (std::size_t i = 0; i < stored.size(); ++i) {
        if (i % 3 == 0) stored[i].erase(Index(i));
        if (i % 3 == 1) stored[i][Index(i)] = 5;
    }
    for (const Index block : {4, 8, 30}) {
        const auto offsets = uniform_offsets(90, block);
        const auto solver = make_solver<double>(context(), stored, offsets, false, true);
        expect_small_residual<double>(lower, offsets, b, solve(context(), solver, b, false));
        expect_small_residual<double>(transposed(lower), offsets, b,
                                      solve(context(), solver, b, true));
    }
}

// Rows and columns with many more blocks than others are split.
TEST(block_triangular_solve, long_rows_and_columns) {
    auto random = generator();
    for (const Index block : {1, 4, 8, 16}) {
        const auto offsets = uniform_offsets(400 * block, block);
        Entries lower = random_lower(random, offsets, true);
        const auto last = lower.size() - 1;
        for (Index j = 0; j + block < Index(last); ++j) lower[last][j] = double(j % 3) - 1;
        for (std::size_t i = std::size_t(block); i < last; ++i) lower[i][0] = double(i % 3) - 1;
        check_integers(context(), lower, offsets);
    }
}

TEST(block_triangular_solve, updates_take_new_values) {
    auto random = generator();
    const Context device = context();
    const auto offsets = uniform_offsets(200, 8);
    Entries a = random_lower(random, offsets, false);
    const auto b = random_vector<double>(random, 200);
    auto solver = make_solver<double>(device, a, offsets, false, false);
    const auto before = solve(device, solver, b, false);
    for (auto& row : a) {
        for (auto& [j, value] : row) value *= 2;
    }
    solver.update(device, copy_to(device, to_csr<double>(a).view()).view());
    const auto after = solve(device, solver, b, false);
    for (std::size_t i = 0; i < b.size(); ++i) EXPECT_EQ(after[i], before[i] / 2);
    EXPECT_EQ(solve(device, solver, b, true),
              solve(device, make_solver<double>(device, a, offsets, false, false), b, true));
    // Updates that fail change nothing.
    Entries other = a;
    other[199].erase(other[199].begin());
    expect_contains(message_of([&] {
                        solver.update(device, copy_to(device, to_csr<double>(other).view()).view());
                    }),
                    "pattern");
    other = a;
    other[150].begin()->second = std::numeric_limits<double>::quiet_NaN();
    expect_contains(message_of([&] {
                        solver.update(device, copy_to(device, to_csr<double>(other).view()).view());
                    }),
                    "row 150");
    EXPECT_EQ(solve(device, solver, b, false), after);
}

TEST(block_triangular_solve, several_vectors_and_in_place) {
    auto random = generator();
    const Context device = context();
    const auto offsets = uniform_offsets(300, 4);
    const auto solver =
        make_solver<double>(device, random_lower(random, offsets, false), offsets, false, false);
    const auto b = random_vector<double>(random, 600);
    const auto in = copy_to_buffer(device, b);
    Buffer<double> out(device, 600);
    solver.apply_vectors(device, {in.data(), 300, 2, 300}, {out.data(), 300, 2, 300});
    const auto both = copy_to_host(device, out);
    for (std::size_t v = 0; v < 2; ++v) {
        const auto first = b.begin() + Offset(300 * v), from = both.begin() + Offset(300 * v);
        const auto alone = solve(device, solver, {first, first + 300}, false);
        EXPECT_EQ(alone, std::vector<double>(from, from + 300));
        auto same = copy_to_buffer(device, std::vector<double>(first, first + 300));
        solver.apply(device, same.view(), same.view());
        EXPECT_EQ(copy_to_host(device, same), alone);
    }
}

TEST(block_triangular_solve, bits_do_not_depend_on_threads) {
    auto random = generator();
    const auto offsets = uniform_offsets(4000, 5);
    const Entries a = random_lower(random, offsets, false);
    const auto b = random_vector<double>(random, a.size());
    std::vector<std::vector<double>> results;
    for (const int threads : {1, 4}) {
        const Context cpu = host(threads);
        const auto solver = make_solver<double>(cpu, a, offsets, false, false);
        results.push_back(solve(cpu, solver, b, false));
        results.push_back(solve(cpu, solver, b, true));
    }
    EXPECT_EQ(results[0], results[2]);
    EXPECT_EQ(results[1], results[3]);
}

TEST(block_triangular_solve, errors_name_rows) {
    auto random = generator();
    const Context device = context();
    const auto offsets = uniform_offsets(40, 4);
    const Entries a = random_lower(random, offsets, false);
    const auto make = [&](const Entries& entries, bool upper = false) {
        make_solver<double>(device, entries, offsets, upper, false);
    };
    Entries wrong = a;
    wrong[9][12] = 0;
    expect_contains(message_of([&] { make(wrong); }),
                    "row 9 has an entry in column 12, above its diagonal block, "
                    "rows 8 to 11");
    wrong = transposed(a);
    wrong[12][9] = 1;
    expect_contains(message_of([&] { make(wrong, true); }),
                    "row 12 has an entry in column 9, below its diagonal block, "
                    "rows 12 to 15");
    wrong = a;
    for (std::size_t i = 20; i < 24; ++i) {
        for (Index j = 20; j < 24; ++j) wrong[i].erase(j);
    }
    expect_contains(message_of([&] { make(wrong); }),
                    "the diagonal block of rows 20 to 23 has no entry");
    wrong = a;
    wrong[7][0] = std::numeric_limits<double>::infinity();
    expect_contains(message_of([&] { make(wrong); }), "row 7 holds NaN or infinity");
    const auto matrix = copy_to(device, to_csr<double>(a).view());
    for (const Index block : {0, 33}) {
        expect_contains(
            message_of([&] { BlockTriangularSolve<double>(device, matrix.view(), block); }),
            "1 to 32 rows");
    }
    expect_contains(message_of([&] {
                        BlockTriangularSolve<double>(device, matrix.view(),
                                                     uniform_partition(device, 39, 4));
                    }),
                    "39");
    const auto wide = copy_to(device, make_csr<double>(1, 2, {{0}}, {{1.0}}).view());
    expect_contains(message_of([&] { BlockTriangularSolve<double>(device, wide.view(), 1); }),
                    "square");
}

TEST(block_triangular_solve, singular_blocks_are_reported) {
    auto random = generator();
    const Context device = context();
    const auto offsets = uniform_offsets(40, 4);
    Entries a = random_lower(random, offsets, false);
    for (Index j = 12; j < 16; ++j) a[13][j] = a[14][j] = 2;
    for (Index j = 32; j < 36; ++j) a[33][j] = 0;
    auto solver = make_solver<double>(device, a, offsets, false, false);
    EXPECT_EQ(solver.singular_blocks(), 2);
    const auto report = solver.report();
    EXPECT_EQ(report.unusable, "2 of 10 diagonal blocks are singular, the first in rows 12 to 15");
    ASSERT_EQ(report.first_singular.size(), 2u);
    EXPECT_EQ(report.first_singular[0].block, 3);
    EXPECT_EQ(report.first_singular[1].first_row, 32);
    EXPECT_EQ(report.first_singular[1].rows, 4);
    const auto x = solve(device, solver, std::vector<double>(40, 1), false);
    for (std::size_t i = 0; i < 12; ++i) EXPECT_TRUE(std::isfinite(x[i]));
    for (std::size_t i = 12; i < 16; ++i) EXPECT_TRUE(std::isnan(x[i]));
    for (Index j = 12; j < 16; ++j) a[13][j] = j == 13 ? 30 : 1;
    for (Index j = 32; j < 36; ++j) a[33][j] = j == 33 ? 30 : 1;
    solver.update(device, copy_to(device, to_csr<double>(a).view()).view());
    EXPECT_EQ(solver.singular_blocks(), 0);
    EXPECT_EQ(solver.report().unusable, "");
}

TEST(block_triangular_solve, no_rows) {
    const Context device = context();
    const auto none = copy_to(device, to_csr<double>({}).view());
    const BlockTriangularSolve solver(device, none, 4);
    Buffer<double> empty(device, 0);
    solver.apply(device, empty.view(), empty.view());
    EXPECT_EQ(solver.rows(), 0);
}

}  // namespace tessera::test
