#include "tessera/direct.hpp"

#include <fstream>
#include <map>
#include <numeric>

#include "sparse/test_symmetric_matrices.hpp"
#include "support/blocks.hpp"

namespace tessera::test {
namespace {

/// A square matrix by its entries.
class Entries {
  public:
    explicit Entries(Index rows) : rows_(std::size_t(rows)) {}
    Entries& add(Index i, Index j, double value) {
        rows_[std::size_t(i)][j] = value;
        return *this;
    }
    template <class T>
    CsrMatrix<T> matrix() const {
        std::vector<std::vector<Index>> pattern(rows_.size());
        std::vector<std::vector<T>> values(rows_.size());
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (const auto& [column, value] : rows_[i]) {
                pattern[i].push_back(column);
                values[i].push_back(T(value));
            }
        }
        return make_csr<T>(Index(rows_.size()), Index(rows_.size()), pattern, values);
    }

  private:
    std::vector<std::map<Index, double>> rows_;
};

/// A permutation with entries of size 1 to 4, and about `around` smaller entries per row.
Entries random_square(std::mt19937_64& random, Index rows, double around) {
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Index> columns(std::size_t(rows), 0);
    std::iota(columns.begin(), columns.end(), 0);
    std::shuffle(columns.begin(), columns.end(), random);
    Entries entries(rows);
    for (Index k = 0; k < Index(around * rows); ++k) {
        entries.add(Index(random() % std::uint64_t(rows)), Index(random() % std::uint64_t(rows)),
                    uniform(random));
    }
    for (Index i = 0; i < rows; ++i) {
        entries.add(i, columns[std::size_t(i)],
                    (random() % 2 ? 1 : -1) * (2.5 + 1.5 * uniform(random)));
    }
    return entries;
}

template <class T>
std::vector<T> applied(const Context& device, const Direct<T>& factors, const std::vector<T>& b) {
    const Buffer<T> right = copy_to_buffer(device, b);
    Buffer<T> x(device, Offset(b.size()));
    factors.apply(device, right.view(), x.view());
    return copy_to_host(device, x);
}

/// The largest |b - A x|_i / (|A| |x| + |b|)_i over gamma_(n_i + 2), n_i the entries of row i, and
/// the residual.
template <class T>
double backward_error(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x,
                      std::vector<T>& residual) {
    double worst = 0;
    residual.resize(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) {
        long double rest = b[i], size = std::abs(b[i]);
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const long double term = (long double)a.values[k] * x[std::size_t(a.column_indices[k])];
            rest -= term;
            size += std::abs(term);
        }
        residual[i] = T(rest);
        const double count = double(a.row_offsets[i + 1] - a.row_offsets[i]);
        const double allowed = gamma<T>(count + 2) * double(size);
        if (!(double(std::abs(rest)) <= worst * allowed)) worst = double(std::abs(rest)) / allowed;
    }
    return worst;
}

/// Solves, refines up to three times, and expects what rounding of a product with A allows
/// (R. D. Skeel, "Iterative refinement implies numerical stability for Gaussian elimination", Math.
/// Comput. 35, 1980).
template <class T>
void expect_solved(const CsrMatrix<T>& matrix, const DirectOptions& options,
                   std::mt19937_64& random) {
    const Context device = context();
    const CsrMatrix<T> placed = copy_to(device, matrix.view());
    const Direct<T> factors(device, placed.view(), options);
    const auto b = random_vector<T>(random, std::size_t(matrix.rows()));
    std::vector<T> x = applied(device, factors, b), residual;
    double error = backward_error(matrix.view(), b, x, residual);
    for (int step = 0; step < 3 && error > 1; ++step) {
        const std::vector<T> change = applied(device, factors, residual);
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += change[i];
        error = backward_error(matrix.view(), b, x, residual);
    }
    EXPECT_LE(error, 1) << matrix.rows() << " rows, " << factors.describe();
    EXPECT_EQ(factors.report().null_pivots, 0);
}

}  // namespace

TEST(direct, solves_random_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index rows : {1, 2, 3, 7, 20, 60, 200}) {
            for (const double around : {0.5, 2.0, 6.0}) {
                const auto square = random_square(random, rows, around).matrix<T>();
                expect_solved(square, {}, random);
                expect_solved(square, {.threshold = 0.5}, random);
                const auto symmetric = random_symmetric(random, rows, around, 1);
                auto shifted = symmetric;
                for (Index i = 0; i < rows; ++i) shifted.add(i, i, i % 3 == 0 ? -9 : 9);
                expect_solved(shifted.template matrix<T>(), {}, random);
                expect_solved(shifted.template matrix<T>(), {.symmetric = false}, random);
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

/// The signs of pivots are those of the eigenvalues: A = M D M^T, M unit lower triangular
/// (Sylvester's law of inertia).
TEST(direct, counts_eigenvalues_of_each_sign) {
    auto random = generator();
    for (const Index rows : {1, 5, 40, 150}) {
        std::vector<std::map<Index, double>> m(static_cast<std::size_t>(rows));
        std::vector<double> d;
        Index positive = 0;
        for (Index i = 0; i < rows; ++i) {
            m[std::size_t(i)][i] = 1;
            if (i > 0) m[std::size_t(i)][Index(random() % std::uint64_t(i))] = 1;
            d.push_back(random() % 2 ? 2 : -2);
            positive += d.back() > 0;
        }
        Entries entries(rows);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j < rows; ++j) {
                double sum = 0;
                bool is_stored = false;
                for (const auto& [k, value] : m[std::size_t(i)]) {
                    if (!m[std::size_t(j)].contains(k)) continue;
                    is_stored = true;
                    sum += value * d[std::size_t(k)] * m[std::size_t(j)][k];
                }
                if (is_stored) entries.add(i, j, sum);
            }
        }
        const auto matrix = entries.matrix<double>();
        const Direct<double> factors(host(), matrix.view());
        EXPECT_TRUE(factors.report().symmetric);
        EXPECT_EQ(factors.report().positive, positive);
        EXPECT_EQ(factors.report().negative, rows - positive);
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
    for (const char* const text : {"poisson3d:12", "convection3d:12", "stokes:24"}) {
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

/// Against the elimination of the dense matrix with partial pivoting.
TEST(direct, determinant_and_condition) {
    auto random = generator();
    for (int k = 0; k < 60; ++k) {
        const Index rows = 1 + Index(random() % 12);
        const bool symmetric = k % 2 == 0;
        auto shifted = random_symmetric(random, rows, 3, 2);
        for (Index i = 0; i < rows; ++i) shifted.add(i, i, i % 2 == 0 ? 5 : -3);
        const auto matrix =
            symmetric ? shifted.matrix() : random_square(random, rows, 2).matrix<double>();
        const auto n = std::size_t(rows);
        const auto view = matrix.view();
        std::vector<double> a(n * n, 0), inverse(n * n, 0);
        for (Index i = 0; i < rows; ++i) {
            inverse[std::size_t(i) * n + std::size_t(i)] = 1;
            for (Offset p = view.row_offsets[i]; p < view.row_offsets[i + 1]; ++p) {
                a[std::size_t(i) * n + std::size_t(view.column_indices[p])] = view.values[p];
            }
        }
        const auto norm = [&](const std::vector<double>& m) {
            double largest = 0;
            for (std::size_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::size_t i = 0; i < n; ++i) sum += std::abs(m[i * n + j]);
                largest = std::max(largest, sum);
            }
            return largest;
        };
        const double norm_a = norm(a);
        int sign = 1;
        double logarithm = 0;
        for (std::size_t p = 0; p < n; ++p) {
            std::size_t best = p;
            for (std::size_t i = p; i < n; ++i) {
                if (std::abs(a[i * n + p]) > std::abs(a[best * n + p])) best = i;
            }
            if (best != p) sign = -sign;
            for (std::size_t j = 0; j < n; ++j) {
                std::swap(a[p * n + j], a[best * n + j]);
                std::swap(inverse[p * n + j], inverse[best * n + j]);
            }
            const double pivot = a[p * n + p];
            sign *= pivot < 0 ? -1 : 1;
            logarithm += std::log(std::abs(pivot));
            for (std::size_t j = 0; j < n; ++j) {
                a[p * n + j] /= pivot;
                inverse[p * n + j] /= pivot;
            }
            for (std::size_t i = 0; i < n; ++i) {
                if (i == p) continue;
                const double factor = a[i * n + p];
                for (std::size_t j = 0; j < n; ++j) {
                    a[i * n + j] -= factor * a[p * n + j];
                    inverse[i * n + j] -= factor * inverse[p * n + j];
                }
            }
        }
        const Direct<double> factors(host(), view);
        const double condition = norm_a * norm(inverse);
        const double rounding = condition * gamma<double>(double(n * n) + 8);
        EXPECT_EQ(factors.log_determinant().sign, sign);
        EXPECT_NEAR(factors.log_determinant().logarithm, logarithm, rounding);
        const double estimate = 1 / factors.reciprocal_condition();
        EXPECT_LE(estimate, condition * (1 + rounding));
        EXPECT_GE(estimate, condition / 3);
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
}

TEST(direct, refuses_more_operations_than_allowed) {
    const auto matrix = problems::generate<double>(host(), Spec("poisson2d:20")).matrix;
    const Direct<double> factors(host(), matrix.view(), {.max_flops = 1e6});
    EXPECT_LT(factors.report().flops, 1e6);
    EXPECT_THROW(Direct<double>(host(), matrix.view(), {.max_flops = factors.report().flops / 2}),
                 InvalidArgument);
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

/// The determinant of integers, by fraction-free elimination (Bareiss).
__int128 determinant(std::vector<__int128> a, std::size_t n) {
    __int128 before = 1, sign = 1;
    for (std::size_t k = 0; k + 1 < n; ++k) {
        std::size_t row = k;
        while (row < n && a[row * n + k] == 0) ++row;
        if (row == n) return 0;
        if (row != k) {
            for (std::size_t j = 0; j < n; ++j) std::swap(a[k * n + j], a[row * n + j]);
            sign = -sign;
        }
        for (std::size_t i = k + 1; i < n; ++i) {
            for (std::size_t j = k + 1; j < n; ++j) {
                a[i * n + j] = (a[i * n + j] * a[k * n + k] - a[i * n + k] * a[k * n + j]) / before;
            }
        }
        before = a[k * n + k];
    }
    return n == 0 ? __int128(1) : sign * a[n * n - 1];
}

/// Small random matrices of small integers, with dense and empty rows and exact cancellation: those
/// of determinant 0 are called singular, or have such a condition, all others are solved, and have
/// their determinant.
TEST(direct, small_matrices_of_integers) {
    auto random = generator();
    const auto below = [&](std::uint64_t count) { return Index(random() % count); };
    const int count = full_run() ? 100'000 : 3'000;
    int singular = 0;
    for (int k = 0; k < count; ++k) {
        const Index rows = 1 + below(9);
        const auto n = std::size_t(rows);
        const bool symmetric = below(2) == 0;
        const auto density = std::uint64_t(1 + below(4));
        std::vector<__int128> dense(n * n, 0);
        Entries entries(rows);
        const auto put = [&](Index i, Index j, Index value) {
            entries.add(i, j, value);
            dense[std::size_t(i) * n + std::size_t(j)] = value;
        };
        const Index full_row = below(4) == 0 ? below(std::uint64_t(rows)) : Index(-1);
        for (Index i = 0; i < rows; ++i) {
            for (Index j = 0; j <= (symmetric ? i : rows - 1); ++j) {
                const bool is_stored = std::uint64_t(below(5)) < density || i == full_row;
                if (!is_stored) continue;
                const Index value = below(5) - 2;  // Stored zeros, too.
                put(i, j, value);
                if (symmetric) put(j, i, value);
            }
        }
        const auto matrix = entries.matrix<double>();
        SCOPED_TRACE(k);
        const Direct<double> factors(host(), matrix.view());
        const auto exact = determinant(dense, n);
        const auto found = factors.log_determinant();
        if (exact == 0) {
            ++singular;
            // Where pivots grew, the last one may be a larger rounding error: then 1 / ||A^-1|| is
            // not.
            EXPECT_TRUE(factors.Preconditioner<double>::report().singular != "" ||
                        factors.reciprocal_condition() < gamma<double>(1000 * double(n)));
            continue;
        }
        EXPECT_EQ(found.sign, exact > 0 ? 1 : -1);
        const double size = std::abs(double(exact));
        EXPECT_NEAR(std::exp(found.logarithm), size, 1e-6 * size);
        expect_solved(matrix, {}, random);
        if (HasFailure()) break;
    }
    EXPECT_GT(singular, count / 10);
    EXPECT_LT(singular, count / 10 * 9);
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
