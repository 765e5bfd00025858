#include <bit>

#include "batched/test_torture.hpp"

namespace tessera::test {

namespace {

using batched::Transpose;

std::vector<Method> all_methods() {
    std::vector<Method> methods;
    for (const auto factorisation : {Factorisation::ldu, Factorisation::llt, Factorisation::ldlt}) {
        for (const Method& method : methods_of(factorisation)) methods.push_back(method);
    }
    return methods;
}

/// Matrices that occupy a thread block each.
template <class T>
HostBatch<T> large_batch(std::mt19937_64& random, const Method& method, Index count) {
    if (fewer_run()) return random_batch<T>(random, method, 1, 40, 40);
    return random_batch<T>(random, method, count, 60, 128);
}

/// A batch with its factors in the memory of a Context.
template <class T>
struct Factored {
    Factored(const Method& method_, const HostBatch<T>& batch_)
        : method(method_),
          batch(batch_),
          device(context(), batch_),
          factors(context(), batch_.sizes) {
        factor<T>(context(), method, device.view(), device.view(), factors.permutations());
        host.values = copy_to_host(context(), device.values);
        factors.copy_permutations(context(), host);
    }
    batched::PermutationsView<const Index> permutations() { return factors.permutations(); }

    /// P^T |L| |D| |U| Q^T of matrix b, which bounds the errors of solves.
    Dense<Wider<T>> sizes(Index b) const {
        const auto at = std::size_t(b);
        const auto product = parts_of<Wider<T>>(method, batch, host.values, b).sizes();
        const Index* p = host.rows.data() + host.starts[at];
        const Index* q = method.symmetric() ? p : host.columns.data() + host.starts[at];
        return unpermuted(product, p, q);
    }

    Method method;
    HostBatch<T> batch;
    DeviceBatch<T> device;
    DeviceFactors<T> factors;
    HostFactors<T> host;
};

template <class T>
void expect_solutions(const Method& method, Transpose transpose, const HostBatch<T>& batch,
                      Index vectors, bool in_place) {
    auto random = generator();
    Factored<T> factored(method, batch);
    std::vector<Offset> offsets;
    Offset length = 0;
    const Offset ld = 131;
    for (Index b = 0; b < batch.count(); ++b) {
        offsets.push_back(length);
        length += vectors * ld;
    }
    const std::vector<T> given = random_vector<T>(random, std::size_t(length));
    Buffer<T> right = copy_to_buffer(context(), given);
    const Buffer<Offset> starts = copy_to_buffer(context(), offsets);
    Buffer<T> solution = copy_to_buffer(context(), given);
    const batched::VectorsView<T> b_view{vectors, ld, 0, starts.data(), right.data()};
    const batched::VectorsView<T> x_view{vectors, ld, 0, starts.data(), solution.data()};
    batched::solve<T>(context(), method.factorisation, transpose, factored.device.view(),
                      factored.permutations(), in_place ? x_view : b_view, x_view);
    const std::vector<T> x = copy_to_host(context(), solution);
    for (Index b = 0; b < batch.count(); ++b) {
        const Index n = batch.rows(b);
        auto a = dense_of<Wider<T>>(method, batch, b), sizes = factored.sizes(b);
        if (transpose == Transpose::yes) a = a.transposed(), sizes = sizes.transposed();
        for (Index v = 0; v < vectors; ++v) {
            const auto at = std::size_t(offsets[std::size_t(b)] + v * ld);
            expect_small_residual(a, sizes, given.data() + at, x.data() + at, method.name());
            for (Offset i = n; i < ld; ++i)
                ASSERT_EQ(x[at + std::size_t(i)], given[at + std::size_t(i)]);
        }
    }
}

}  // namespace

TEST(solve, residuals) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Method& method : all_methods()) {
            for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
                const Index count = fewer_run() ? 12 : 150;
                expect_solutions(method, transpose, random_batch<T>(random, method, count, 0, 33),
                                 3, false);
                expect_solutions(method, transpose, random_batch<T>(random, method, count, 0, 20),
                                 1, true);
                expect_solutions(method, transpose, large_batch<T>(random, method, 4), 2, true);
            }
        }
    });
}

TEST(solve, torture) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Method& method : {Method{Factorisation::ldu, Pivoting::full},
                                     Method{Factorisation::ldlt, Pivoting::full},
                                     Method{Factorisation::llt, Pivoting::full}}) {
            // Solutions of badly scaled systems leave the range of T.
            HostBatch<T> batch;
            for (Index n = 1; n <= 34; ++n) {
                const auto a = random_matrix<T>(random, method, n);
                batch.add(n, block_of<T>(n, [&](Index i, Index j) {
                              return std::ldexp(a[std::size_t(i + j * n)], i % 9 + j % 9 - 8);
                          }));
                if (method.factorisation != Factorisation::llt) {
                    batch.add(n, saddle_point<T>(random, n, (2 * n + 2) / 3));
                }
            }
            expect_solutions(method, Transpose::no, batch, 2, false);
        }
    });
}

/// Inverses differ from the exact ones by less than 10 n eps G S G, G = |U^-1| |D^-1| |L^-1|.
template <class T>
void expect_inverses_from_factors(const Method& method, const HostBatch<T>& batch, bool in_place) {
    using Real = Wider<T>;
    Factored<T> factored(method, batch);
    Buffer<T> out(context(), Offset(batch.values.size()));
    auto x = factored.device.view();
    if (!in_place) x.values = out.data();
    batched::inverse_from_factors<T>(context(), method.factorisation, factored.device.view(),
                                     factored.permutations(), x);
    const auto found = copy_to_host(context(), in_place ? factored.device.values : out);
    for (Index b = 0; b < batch.count(); ++b) {
        const auto at = std::size_t(b);
        const Index n = batch.sizes[at];
        auto parts = parts_of<Real>(method, batch, factored.host.values, b);
        Dense<Real>* const factors[] = {&parts.u, &parts.d, &parts.l};
        for (Dense<Real>* part : factors) {
            EXPECT_EQ(reference::gauss_jordan_implicit(n, part->values.data()), 0);
            *part = part->magnitudes();
        }
        const Index* p = factored.host.rows.data() + factored.host.starts[at];
        const Index* q =
            method.symmetric() ? p : factored.host.columns.data() + factored.host.starts[at];
        const auto g = unpermuted(product(product(parts.u, parts.d), parts.l), q, p);
        const auto bound = product(product(g, factored.sizes(b)), g);
        auto exact = dense_of<Real>(method, batch, b);
        EXPECT_EQ(reference::gauss_jordan_implicit(n, exact.values.data()), 0);
        const auto mine = batch.matrix_in(found, b);
        for (std::size_t e = 0; e < mine.size(); ++e) exact.values[e] -= mine[e];
        EXPECT_LE(norm_inf(exact),
                  10.0 * n * double(std::numeric_limits<T>::epsilon()) * norm_inf(bound))
            << method.name() << ", n = " << n;
        if (method.symmetric()) {
            EXPECT_EQ(transpose(n, mine), mine) << method.name();
        }
    }
}

TEST(solve, inverses) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Method& method : all_methods()) {
            const Index count = fewer_run() ? 12 : 150;
            const auto batch = random_batch<T>(random, method, count, 0, 36);
            expect_inverses_from_factors(method, batch, false);
            expect_inverses_from_factors(method, batch, true);
            expect_inverses_from_factors(method, large_batch<T>(random, method, 2), true);
        }
    });
}

// Divisions are replaced by products with reciprocals where that is exact: so for all numbers, but
// for the sign of a zero (-0 over a negative number may be -0).
TEST(solve, pivots_divide_with_one_rounding) {
    for_reals([](auto real) {
        using T = decltype(real);
        using Word = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
        using Limits = std::numeric_limits<T>;
        auto random = generator();
        const std::vector<T> odd = {T(0),
                                    -T(0),
                                    T(1),
                                    Limits::min(),
                                    Limits::max(),
                                    Limits::denorm_min(),
                                    Limits::infinity(),
                                    -Limits::infinity(),
                                    Limits::quiet_NaN()};
        const Index count = fewer_run() ? 1000 : 100000;
        std::vector<T> given[2];
        for (Index i = 0; i < 2 * count; ++i) {
            const T any = std::bit_cast<T>(Word(random()));
            const T near = T(1) + T(random() % 4096) / T(4096);
            const auto which = random() % 8;
            given[i % 2].push_back(which == 0   ? odd[random() % odd.size()]
                                   : which <= 4 ? any
                                                : near);
        }
        const auto factors = copy_to_buffer(context(), given[0]);
        const auto right = copy_to_buffer(context(), given[1]);
        auto result = copy_to_buffer(context(), given[1]);
        const auto places = copy_to_buffer(context(), std::vector<Index>(std::size_t(count), 0));
        batched::VectorsView<const T> b;
        b.stride = 1;
        b.values = right.data();
        batched::VectorsView<T> x;
        x.stride = 1;
        x.values = result.data();
        batched::PermutationsView<const Index> permutations;
        permutations.rows = permutations.columns = places.data();
        permutations.stride = 1;
        for (const auto factorisation : {Factorisation::ldu, Factorisation::ldlt}) {
            batched::solve<T>(context(), factorisation, Transpose::no,
                              batched::BatchView<const T>::uniform(count, 1, factors.data()),
                              permutations, b, x);
            const auto quotients = copy_to_host(context(), result);
            int different = 0;
            for (std::size_t i = 0; i < quotients.size(); ++i) {
                const T exact = given[1][i] / given[0][i];
                const bool both_zero = given[1][i] == T(0) && exact == T(0) && quotients[i] == T(0);
                const bool equal = std::isnan(exact)
                                       ? std::isnan(quotients[i])
                                       : both_zero || std::bit_cast<Word>(exact) ==
                                                          std::bit_cast<Word>(quotients[i]);
                if (!equal && ++different < 4) {
                    ADD_FAILURE() << given[1][i] << " / " << given[0][i] << ": " << quotients[i];
                }
            }
            EXPECT_EQ(different, 0);
        }
    });
}

TEST(solve, absolute_pivots) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Method& method : methods_of(Factorisation::ldlt)) {
            const auto batch = random_batch<T>(random, method, fewer_run() ? 40 : 300, 0, 40);
            Factored<T> factored(method, batch);
            batched::take_absolute_pivots<T>(context(), factored.device.view());
            const auto changed = copy_to_host(context(), factored.device.values);
            for (Index b = 0; b < batch.count(); ++b) {
                const auto at = std::size_t(b);
                const Index n = batch.sizes[at];
                bool clean = false;
                const auto d = parts_of<double>(method, batch, factored.host.values, b);
                const auto absolute = parts_of<double>(method.factorisation, n,
                                                       changed.data() + batch.offsets[at], clean);
                EXPECT_TRUE(clean);
                EXPECT_EQ(absolute.l.values, d.l.values);
                // |D| is the positive definite root of D D.
                auto difference = product(absolute.d, absolute.d);
                const auto square = product(d.d, d.d);
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) difference.at(i, j) -= square.at(i, j);
                }
                const double eps = double(std::numeric_limits<T>::epsilon());
                EXPECT_LE(norm_inf(difference), 20 * eps * norm_inf(square)) << method.name();
                for (Index s = 0; s < n; ++s) {
                    EXPECT_GT(absolute.d.at(s, s), 0) << method.name();
                    if (s == 0) continue;
                    const double coupling = absolute.d.at(s, s - 1);
                    EXPECT_LT(coupling * coupling,
                              absolute.d.at(s, s) * absolute.d.at(s - 1, s - 1));
                }
            }
        }
    });
}

TEST(solve, does_not_depend_on_neighbours) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Method& method : all_methods()) {
            const auto batch = random_batch<T>(random, method, fewer_run() ? 10 : 60, 0, 34);
            Factored<T> factored(method, batch);
            batched::inverse_from_factors<T>(context(), method.factorisation,
                                             factored.device.view(), factored.permutations(),
                                             factored.device.view());
            const auto together = copy_to_host(context(), factored.device.values);
            for (Index b = 0; b < batch.count(); b += 7) {
                HostBatch<T> one;
                one.add(batch.rows(b), batch.matrix(b));
                Factored<T> alone(method, one);
                batched::inverse_from_factors<T>(context(), method.factorisation,
                                                 alone.device.view(), alone.permutations(),
                                                 alone.device.view());
                EXPECT_TRUE(same_bits(copy_to_host(context(), alone.device.values),
                                      batch.matrix_in(together, b)))
                    << method.name() << ", matrix " << b;
            }
        }
    });
}

TEST(solve, rejects_what_is_missing) {
    double value = 1;
    Index row = 0;
    using View = batched::BatchView<double>;
    const Context where = host();
    const auto a = View::uniform(1, 1, &value);
    const batched::PermutationsView<const Index> p{&row, &row};
    const batched::VectorsView<double> x{1, 1, 0, nullptr, &value};
    const batched::VectorsView<double> two{2, 1, 0, nullptr, &value};
    const auto no = Transpose::no;
    const auto ldu = Factorisation::ldu;
    EXPECT_THROW(batched::solve<double>(where, ldu, no, a, p, x, two), InvalidArgument);
    EXPECT_THROW(batched::solve<double>(where, ldu, no, a, p, {}, x), InvalidArgument);
    EXPECT_THROW(batched::solve<double>(where, ldu, no, View::uniform(2, 1, &value), p, x, x),
                 InvalidArgument);
    EXPECT_THROW(batched::inverse_from_factors<double>(where, ldu, a, p, View()), InvalidArgument);
    value = 4;
    batched::solve<double>(where, ldu, no, a, p, x, x);
    EXPECT_EQ(value, 1);
}

}  // namespace tessera::test
