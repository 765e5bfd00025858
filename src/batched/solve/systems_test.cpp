#include "tessera/systems.hpp"
#include "batched/test_factor_cases.hpp"

// Solves with the matrices themselves, of which the factors are not seen.

namespace tessera::test {

namespace {

using batched::Layout;
using batched::Structure;

Method method_of(Structure structure) {
    if (structure == Structure::general) return {Factorisation::ldu, Pivoting::partial};
    if (structure == Structure::symmetric) return {Factorisation::ldlt, Pivoting::rook};
    return {Factorisation::llt, Pivoting::fixed};
}

/// 1..34, and sizes at the bounds of the kernels for more than 32 rows.
std::vector<Index> sizes_from(Index first) {
    std::vector<Index> sizes;
    for (Index n = first; n <= 34; ++n) sizes.push_back(n);
    for (const Index n : {40, 48, 49, 63, 64, 65, 80, 89, 96, 97, 112, 113, 127, 128}) {
        if (!fewer_run() || n % 16 == 1) sizes.push_back(n);
    }
    return sizes;
}

const auto structures = {Structure::general, Structure::symmetric, Structure::positive_definite};

/// Vectors of a HostBatch, one matrix after the other.
template <class T>
struct Vectors {
    Vectors(const HostBatch<T>& batch, Index count_) : count(count_) {
        Offset length = 0;
        for (const Index n : batch.sizes) {
            starts.push_back(length);
            length += Offset(n) * count;
        }
        values.resize(std::size_t(length));
    }
    const T* of(Index b, Index v, Index n) const {
        return values.data() + starts[std::size_t(b)] + Offset(v) * n;
    }
    Index count;
    std::vector<Offset> starts;
    std::vector<T> values;
};

template <class T>
struct Solved {
    Vectors<T> x;
    std::vector<Index> info;
};

template <class T>
bool same_bits(const Solved<T>& a, const Solved<T>& b) {
    return test::same_bits(a.x.values, b.x.values) && a.info == b.info;
}

/// The leading dimension of vectors is that of one size, so batches of various sizes are solved
/// vector by vector.
template <class T>
Solved<T> solved(const Context& context, const HostBatch<T>& batch, const Vectors<T>& b,
                 Structure structure, Layout layout = Layout::column_major, bool in_place = false) {
    DeviceBatch<T> device(context, batch);
    const bool uniform = std::equal(batch.sizes.begin() + (batch.count() > 0), batch.sizes.end(),
                                    batch.sizes.begin());
    auto a = uniform && batch.count() > 0 ? batched::BatchView<T>::uniform(
                                                batch.count(), batch.sizes[0], device.values.data())
                                          : device.view();
    a.layout = layout;
    Buffer<T> right = copy_to_buffer(context, b.values);
    Buffer<T> solution(context, in_place ? 0 : Offset(b.values.size()));
    Buffer<Index> info(context, batch.count());
    const Index n = uniform && batch.count() > 0 ? batch.sizes[0] : 0;
    T* const to = in_place ? right.data() : solution.data();
    if (uniform) {
        const Offset stride = Offset(n) * b.count;
        batched::solve<T>(context, a, {b.count, n, stride, nullptr, right.data()},
                          {b.count, n, stride, nullptr, to}, structure, info.data());
    } else {
        EXPECT_EQ(b.count, 1);
        const Buffer<Offset> starts = copy_to_buffer(context, b.starts);
        batched::solve<T>(context, a, {1, 0, 0, starts.data(), right.data()},
                          {1, 0, 0, starts.data(), to}, structure, info.data());
    }
    Solved<T> result{b, copy_to_host(context, info)};
    result.x.values = copy_to_host(context, in_place ? right : solution);
    return result;
}

template <class T>
Vectors<T> random_vectors(std::mt19937_64& random, const HostBatch<T>& batch, Index count) {
    Vectors<T> b(batch, count);
    b.values = random_vector<T>(random, b.values.size());
    return b;
}

template <class T>
HostBatch<T> transposed(const HostBatch<T>& batch) {
    HostBatch<T> result;
    for (Index b = 0; b < batch.count(); ++b) {
        result.add(batch.rows(b), transpose(batch.rows(b), batch.matrix(b)));
    }
    return result;
}

/// ||b - A x||_inf stays below 10 n eps ||S |x|||_inf, S the product of the magnitudes of the
/// factors that plain loops find in a wider type; those that failed are not checked.
template <class T>
void expect_solved(const HostBatch<T>& batch, const Vectors<T>& b, const Solved<T>& found,
                   Structure structure, const char* what) {
    using Real = Wider<T>;
    const Method method = method_of(structure);
    for (Index m = 0; m < batch.count(); ++m) {
        const Index n = batch.rows(m);
        const Index info = found.info[std::size_t(m)];
        if (n == 0 || (info != 0 && info != n + 1)) continue;
        const auto a = dense_of<Real>(method, batch, m);
        std::vector<Real> factors = a.values;
        std::vector<Index> p(static_cast<std::size_t>(n)), q = p;
        reference_factor<Real>(method, n, 0, factors, p, q);
        bool clean = false;
        const auto product = parts_of<Real>(method.factorisation, n, factors.data(), clean).sizes();
        const auto sizes = unpermuted(product, p.data(), method.symmetric() ? p.data() : q.data());
        for (Index v = 0; v < b.count; ++v) {
            expect_small_residual(a, sizes, b.of(m, v, n), found.x.of(m, v, n),
                                  std::string(what) + ", " + method.name());
        }
    }
}

}  // namespace

TEST(systems, residuals) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Structure structure : structures) {
            const Method method = method_of(structure);
            for (const Index n : sizes_from(1)) {
                for (const Index vectors : {1, 3, 17}) {
                    if (fewer_run() && (n + vectors) % 3 != 0) continue;
                    const Index count = n > 34 ? 5 : vectors == 1 ? 133 : 37;
                    const auto batch = random_batch<T>(random, method, count, n, n);
                    const auto b = random_vectors(random, batch, vectors);
                    const auto found = solved(context(), batch, b, structure);
                    EXPECT_TRUE(std::ranges::all_of(found.info, [](Index i) { return i == 0; }));
                    expect_solved(batch, b, found, structure, "columns");
                    const auto rows =
                        solved(context(), transposed(batch), b, structure, Layout::row_major, true);
                    expect_solved(batch, b, rows, structure, "rows, in place");
                }
            }
            const auto mixed = random_batch<T>(random, method, 300, 0, 32);
            const auto b = random_vectors(random, mixed, 1);
            expect_solved(mixed, b, solved(context(), mixed, b, structure), structure, "mixed");
            const auto large = random_batch<T>(random, method, 20, 0, 128);
            const auto c = random_vectors(random, large, 1);
            expect_solved(large, c, solved(context(), large, c, structure), structure, "large");
        }
    });
}

TEST(systems, torture) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Zoo<T> zoo = make_zoo<T>(random);
        HostBatch<T> batch;
        for (Index m = 0; m < zoo.batch.count(); ++m) {
            // Solutions of systems near the ends of the range leave it.
            const std::string& name = zoo.names[std::size_t(m)];
            if (name.starts_with("near the") || name.starts_with("graded")) continue;
            batch.add(zoo.batch.rows(m), zoo.batch.matrix(m));
        }
        const auto b = random_vectors(random, batch, 1);
        const auto found = solved(context(), batch, b, Structure::general);
        expect_solved(batch, b, found, Structure::general, "zoo");
        for (Index m = 0; m < batch.count(); ++m) {
            if (found.info[std::size_t(m)] == 0) continue;
            const Index n = batch.rows(m);
            const auto a = batch.matrix(m);
            std::vector<Wider<T>> x(a.begin(), a.end());
            if (reference::gauss_jordan_implicit(n, x.data()) != 0) continue;
            EXPECT_GE(
                2 * n * double(std::numeric_limits<T>::epsilon()) * norm_inf(n, a) * norm_inf(n, x),
                1)
                << "info " << found.info[std::size_t(m)] << ", n = " << n;
        }
    });
}

// Elimination is exact there, so that info is known; the others keep their bits.
TEST(systems, singular_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : sizes_from(1)) {
            const Index count = n > 34 ? 12 : 40;
            HostBatch<T> good, bad;
            std::vector<Index> expected;
            for (Index m = 0; m < count; ++m) {
                good.add(n, random_matrix<T>(random, method_of(Structure::general), n));
                const Index zero = m % 4 == 1 ? Index(random() % std::uint64_t(n)) : -1;
                auto matrix = zero >= 0 ? exact_block<T>(random, n, zero) : good.matrix(m);
                if (m % 8 == 2)
                    matrix[random() % matrix.size()] = std::numeric_limits<T>::quiet_NaN();
                bad.add(n, matrix);
                expected.push_back(zero >= 0 ? zero + 1 : m % 8 == 2 ? -1 : 0);
            }
            const auto b = random_vectors(random, good, 1);
            const auto found = solved(context(), bad, b, Structure::general);
            const auto right = solved(context(), good, b, Structure::general);
            for (Index m = 0; m < count; ++m) {
                const auto at = std::size_t(m);
                const T* const x = found.x.of(m, 0, n);
                if (expected[at] == 0) {
                    EXPECT_TRUE(std::equal(x, x + n, right.x.of(m, 0, n))) << "n = " << n;
                    EXPECT_EQ(found.info[at], right.info[at]);
                    continue;
                }
                EXPECT_TRUE(found.info[at] > 0 && found.info[at] <= n);
                EXPECT_TRUE(expected[at] < 0 || found.info[at] == expected[at]) << "n = " << n;
                EXPECT_TRUE(std::any_of(x, x + n, [](T value) { return !std::isfinite(value); }));
            }
        }
    });
}

TEST(systems, two_equal_rows_are_seen) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : sizes_from(2)) {
            HostBatch<T> batch;
            for (Index m = 0; m < (n > 34 ? 12 : 60); ++m) {
                auto a = random_block<T>(random, n);
                const Index i = Index(random() % std::uint64_t(n)), j = (i + 1) % n;
                for (Index k = 0; k < n; ++k) a[std::size_t(i + k * n)] = a[std::size_t(j + k * n)];
                batch.add(n, m % 2 == 0 ? a : transpose(n, a));
            }
            const auto b = random_vectors(random, batch, 1);
            for (const Index info : solved(context(), batch, b, Structure::general).info) {
                EXPECT_TRUE(info > 0 && info <= n + 1) << "n = " << n << ", info " << info;
            }
        }
    });
}

// The smallest pivot against n eps times the largest element, from either side.
TEST(systems, near_singular_matrices) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (const Structure structure : structures) {
            for (const Index n : sizes_from(2)) {
                HostBatch<T> batch;
                for (const double factor : {0.5, 2.0}) {
                    const T last = T(factor * n * double(std::numeric_limits<T>::epsilon()) * 8);
                    batch.add(n, block_of<T>(n, [&](Index i, Index j) {
                                  return i != j ? T(0) : i == n / 2 ? last : i == 0 ? T(8) : T(1);
                              }));
                }
                Vectors<T> b(batch, 1);
                std::ranges::fill(b.values, T(1));
                const auto found = solved(context(), batch, b, structure);
                EXPECT_EQ(found.info, (std::vector<Index>{n + 1, 0})) << "n = " << n;
                EXPECT_NEAR(found.x.of(0, 0, n)[0], 0.125, std::numeric_limits<T>::epsilon());
            }
        }
    });
}

TEST(systems, not_positive_definite) {
    for_reals([](auto real) {
        using T = decltype(real);
        for (const Index n : sizes_from(1)) {
            HostBatch<T> batch;
            std::vector<Index> expected;
            for (Index k = 0; k<n; k += n> 34 ? 9 : 1) {  // L L^T, but for the sign of one pivot.
                batch.add(n, block_of<T>(n, [&](Index i, Index j) {
                              const Index low = std::min(i, j);
                              T sum = T(0);
                              for (Index s = 0; s <= low; ++s) {
                                  const T pivot = s == k ? T(-(k % 2)) : T(1);
                                  sum += pivot * (s == i ? 1 : T(0.5)) * (s == j ? 1 : T(0.5));
                              }
                              return sum;
                          }));
                expected.push_back(k + 1);
            }
            const auto b = Vectors<T>(batch, 1);
            EXPECT_EQ(solved(context(), batch, b, Structure::positive_definite).info, expected);
        }
    });
}

TEST(systems, one_triangle_is_read) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Structure structure : {Structure::symmetric, Structure::positive_definite}) {
            for (const Index n : sizes_from(1)) {
                const auto batch =
                    random_batch<T>(random, method_of(structure), n > 34 ? 4 : 35, n, n);
                HostBatch<T> half;
                for (Index m = 0; m < batch.count(); ++m) {
                    auto a = batch.matrix(m);
                    for (Index j = 0; j < n; ++j) {
                        for (Index i = 0; i < j; ++i) a[std::size_t(i + j * n)] = NAN;
                    }
                    half.add(n, a);
                }
                for (const Index vectors : {1, 2}) {
                    const auto b = random_vectors(random, batch, vectors);
                    const auto whole = solved(context(), batch, b, structure);
                    EXPECT_TRUE(same_bits(solved(context(), half, b, structure), whole));
                    EXPECT_TRUE(
                        same_bits(solved(context(), half, b, structure, Layout::row_major), whole));
                }
            }
        }
    });
}

/// A matrix gives the same bits alone, in other layouts, beside others, and for each vector alone.
TEST(systems, same_bits_in_any_layout) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Structure structure : structures) {
            for (const Index n : sizes_from(1)) {
                const Index count = n > 34 ? 5 : 67;
                const auto batch = random_batch<T>(random, method_of(structure), count, n, n);
                PlacedBatch<T> apart(context(), batch, 3);
                const auto b = random_vectors(random, batch, 4);
                const auto expected = solved(context(), batch, b, structure);
                EXPECT_TRUE(same_bits(solved(context(), batch, b, structure), expected));
                const Buffer<T> right = copy_to_buffer(context(), b.values);
                Buffer<T> x(context(), Offset(b.values.size()));
                batched::solve<T>(context(), apart.strided(),
                                  {4, n, Offset(4) * n, nullptr, right.data()},
                                  {4, n, Offset(4) * n, nullptr, x.data()}, structure);
                EXPECT_TRUE(test::same_bits(copy_to_host(context(), x), expected.x.values)) << n;
                for (const Index v : {0, 3}) {
                    Vectors<T> one(batch, 1);
                    for (Index m = 0; m < count; ++m) {
                        std::copy_n(b.of(m, v, n), n, one.values.begin() + Offset(m) * n);
                    }
                    const auto alone = solved(context(), batch, one, structure);
                    for (Index m = 0; m < count; ++m) {
                        const T* const found = alone.x.of(m, 0, n);
                        EXPECT_TRUE(std::equal(found, found + n, expected.x.of(m, v, n)))
                            << "n = " << n << ", vector " << v << ", matrix " << m;
                    }
                }
            }
            // Larger matrices make the CPU keep factors of all.
            const Index rows = context().on_gpu() && structure != Structure::symmetric ? 50 : 32;
            const auto mixed = random_batch<T>(random, method_of(structure), 200, 0, rows);
            const auto b = random_vectors(random, mixed, 1);
            const auto together = solved(context(), mixed, b, structure);
            for (Index m = 0; m < 200; m += 11) {
                HostBatch<T> one;
                const Index n = mixed.rows(m);
                one.add(n, mixed.matrix(m));
                Vectors<T> right(one, 1);
                right.values.assign(b.of(m, 0, n), b.of(m, 0, n) + n);
                const auto alone = solved(context(), one, right, structure);
                EXPECT_TRUE(std::equal(alone.x.values.begin(), alone.x.values.end(),
                                       together.x.of(m, 0, n)))
                    << "n = " << n;
                EXPECT_EQ(alone.info[0], together.info[std::size_t(m)]);
            }
        }
    });
}

TEST(systems, rejects_what_does_not_fit) {
    double value = 4;
    using View = batched::BatchView<double>;
    const Context where = host();
    const auto a = View::uniform(1, 1, &value);
    const batched::VectorsView<double> x{1, 1, 0, nullptr, &value};
    const batched::VectorsView<double> two{2, 1, 0, nullptr, &value};
    EXPECT_THROW(batched::solve<double>(where, a, x, two), InvalidArgument);
    EXPECT_THROW(batched::solve<double>(where, a, {}, x), InvalidArgument);
    EXPECT_THROW(batched::solve<double>(where, View::uniform(2, 1, &value), x, x), InvalidArgument);
    EXPECT_THROW(batched::solve<double>(where, View::uniform(1, 129, &value), x, x),
                 InvalidArgument);
    batched::solve<double>(where, a, x, x);
    EXPECT_EQ(value, 1);
    Index info = 7;
    batched::solve<double>(where, View::uniform(1, 0, nullptr), x, x, Structure::general, &info);
    EXPECT_EQ(info, 0);
}

}  // namespace tessera::test
