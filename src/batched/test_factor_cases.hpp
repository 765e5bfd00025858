#pragma once

#include "batched/factor/test_factor_reference.hpp"
#include "batched/test_torture.hpp"

// The cases that every factorisation must pass; the tests of ldu, llt and ldlt call them.

namespace tessera::test {

/// The factorisation of one matrix by the plain loops; p and q have n elements.
template <class T>
batched::PivotRecord<T> reference_factor(const Method& method, Index n, T tau, std::vector<T>& a,
                                         std::vector<Index>& p, std::vector<Index>& q) {
    switch (method.factorisation) {
        case Factorisation::llt:
            return reference::llt(n, method.pivoting, tau, a.data(), p.data());
        case Factorisation::ldlt:
            return reference::ldlt(n, method.pivoting, tau, a.data(), p.data());
        default:
            return reference::ldu(n, method.pivoting, tau, a.data(), p.data(), q.data());
    }
}

template <class T>
void expect_random_factors(const Method& method) {
    auto random = generator();
    const Index few = fewer_run() ? 5 : full_run() ? 1000 : 35;
    for (Index n = 1; n <= 32; ++n) {
        const auto batch = random_batch<T>(random, method, few, n, n);
        expect_factors(method, batch, factored(context(), method, batch), "random");
    }
    for (const Index n : {33, 40, 47, 64, 65, 96, 127, 128}) {
        const auto batch = random_batch<T>(random, method, fewer_run() ? 1 : 3, n, n);
        expect_factors(method, batch, factored(context(), method, batch), "large");
    }
    const auto mixed = random_batch<T>(random, method, 20 * few, 0, 32);
    expect_factors(method, mixed, factored(context(), method, mixed), "mixed");
    const auto tiny = random_batch<T>(random, method, 200 * few, 0, 4);
    expect_factors(method, tiny, factored(context(), method, tiny), "tiny");
    const auto large = random_batch<T>(random, method, few, 0, 70);
    expect_factors(method, large, factored(context(), method, large), "mixed, large");
    factored(context(), method, HostBatch<T>());
}

/// Whether the factors of matrix b, found in a wider type, leave the range of T.
template <class T>
bool leaves_range(const Method& method, const HostBatch<T>& batch, Index b) {
    const Index n = batch.rows(b);
    const auto a = dense_of<Wider<T>>(method, batch, b);
    std::vector<Wider<T>> factors = a.values;
    std::vector<Index> p(static_cast<std::size_t>(n)), q = p;
    const auto record = reference_factor<Wider<T>>(method, n, 0, factors, p, q);
    return record.failed || !factors_in_range<T>(factors);
}

template <class T>
void expect_torture(const Method& method) {
    auto random = generator();
    const Zoo<T> zoo = torture<T>(random, method);
    const auto factors = factored(context(), method, zoo.batch);
    const bool bounded = std::isfinite(bound_on_l(method));
    Index left_out = 0;
    expect_factors(method, zoo.batch, factors, "torture", [&](Index b) {
        if (bounded || !std::isnan(factors.log_determinant[std::size_t(b)])) return false;
        left_out += leaves_range(method, zoo.batch, b);
        return leaves_range(method, zoo.batch, b);
    });
    EXPECT_LE(left_out, zoo.batch.count() / 10);
}

/// Singular matrices have finite factors and info, or a residual within its bound.
template <class T>
void expect_singular(const Method& method) {
    auto random = generator();
    Zoo<T> zoo;
    for (const Index n : torture_sizes()) add_singular(zoo, random, method, n);
    const auto factors = factored(context(), method, zoo.batch);
    expect_factors(method, zoo.batch, factors, "singular");
    for (Index b = 0; b < zoo.batch.count(); ++b) {
        const auto at = std::size_t(b);
        const Index n = zoo.batch.sizes[at];
        EXPECT_TRUE(
            reference::all_finite(Offset(n) * n, factors.values.data() + zoo.batch.offsets[at]));
        const Index* inertia = factors.inertia.data() + 3 * b;
        EXPECT_EQ(inertia[0] + inertia[1] + inertia[2], n);
        const bool zero = inertia[2] > 0;
        EXPECT_EQ(factors.info[at] != 0, zero) << zoo.names[at] << ", n = " << n;
        EXPECT_EQ(factors.sign[at] == 0, zero);
        EXPECT_EQ(std::isinf(factors.log_determinant[at]), zero);
        if (zoo.names[at] == "zero") {
            EXPECT_EQ(factors.info[at], 1);
            EXPECT_EQ(inertia[2], n);
            EXPECT_EQ(factors.smallest[at], T(0));
        }
    }
}

/// A NaN or an infinity fails its matrix and disturbs no other.
template <class T>
void expect_non_finite(const Method& method) {
    auto random = generator();
    const T nan = std::numeric_limits<T>::quiet_NaN();
    const T infinity = std::numeric_limits<T>::infinity();
    const auto good = random_batch<T>(random, method, 120, 1, 40);
    const auto expected = factored(context(), method, good);
    HostBatch<T> bad = good;
    for (Index b = 0; b < bad.count(); b += 3) {
        const Index n = bad.rows(b);
        Index i = Index(random() % std::uint64_t(n)), j = Index(random() % std::uint64_t(n));
        if (i < j) std::swap(i, j);
        bad.values[std::size_t(bad.offsets[std::size_t(b)] + i + j * n)] = b % 2 ? nan : infinity;
    }
    const auto found = factored(context(), method, bad);
    for (Index b = 0; b < bad.count(); ++b) {
        const auto at = std::size_t(b);
        const auto f = bad.matrix_in(found.values, b);
        const Index n = bad.sizes[at];
        EXPECT_TRUE(is_permutation(n, found.rows.data() + found.starts[at]));
        if (b % 3 != 0) {
            EXPECT_TRUE(same_bits(f, good.matrix_in(expected.values, b))) << "matrix " << b;
            EXPECT_EQ(found.info[at], expected.info[at]);
            continue;
        }
        EXPECT_TRUE(all_nan(f)) << method.name() << ", matrix " << b << ", n = " << n;
        EXPECT_NE(found.info[at], 0);
        EXPECT_EQ(found.perturbed[at], 0);
        EXPECT_EQ(found.perturbation[at], infinity);
        EXPECT_EQ(found.smallest[at], T(0));
        EXPECT_TRUE(std::isnan(found.log_determinant[at]));
        EXPECT_EQ(found.sign[at], 0);
        EXPECT_EQ(found.inertia[3 * at + 2], n);
    }
}

/// A matrix gives the same bits in place, alone, among others, in any order, in any layout, with
/// any number of threads, and with any other outputs requested.
template <class T>
void expect_no_neighbours(const Method& method) {
    auto random = generator();
    const auto batch = random_batch<T>(random, method, 90, 0, 37);
    const auto expected = factored(context(), method, batch);
    EXPECT_TRUE(same_bits(factored(context(), method, batch, {}, true), expected)) << "in place";
    if (!context().on_gpu()) {
        for (const int threads : {1, 2, 5}) {
            EXPECT_TRUE(same_bits(factored(host(threads), method, batch), expected)) << threads;
        }
    }
    const auto order = random_order(random, batch.count());
    HostBatch<T> mixed;
    for (const Index b : order) mixed.add(batch.rows(b), batch.matrix(b));
    const auto found = factored(context(), method, mixed);
    for (Index k = 0; k < batch.count(); ++k) {
        const Index b = order[std::size_t(k)];
        EXPECT_TRUE(
            same_bits(mixed.matrix_in(found.values, k), batch.matrix_in(expected.values, b)))
            << method.name() << ", matrix " << b;
        EXPECT_EQ(found.info[std::size_t(k)], expected.info[std::size_t(b)]);
        EXPECT_TRUE(same_bits(std::vector<T>{found.log_determinant[std::size_t(k)]},
                              std::vector<T>{expected.log_determinant[std::size_t(b)]}));
    }
    for (const Index b : {3, 40}) {
        HostBatch<T> alone;
        alone.add(batch.rows(b), batch.matrix(b));
        EXPECT_TRUE(same_bits(factored(context(), method, alone).values,
                              batch.matrix_in(expected.values, b)));
    }
}

template <class T>
std::vector<T> exact_matrix(std::mt19937_64& random, const Method& method, Index n) {
    if (method.factorisation == Factorisation::ldlt) return exact_symmetric<T>(random, n);
    if (method.factorisation == Factorisation::ldu) return exact_block<T>(random, n, -1);
    std::vector<T> a(std::size_t(n) * std::size_t(n), T(0));
    for (Index i = 0; i < n; ++i)
        a[std::size_t(i + i * n)] = std::ldexp(T(1), 2 * int(random() % 4));
    return a;
}

/// If nothing is rounded, the factors equal those of the plain loops, ties included.
template <class T>
void expect_exact(const Method& method) {
    auto random = generator();
    HostBatch<T> batch;
    for (Index n = 1; n <= 40; ++n) {
        for (int k = 0; k < (fewer_run() ? 2 : 20); ++k) {
            batch.add(n, exact_matrix<T>(random, method, n));
        }
    }
    const auto found = factored(context(), method, batch);
    for (Index b = 0; b < batch.count(); ++b) {
        const auto at = std::size_t(b);
        const Index n = batch.sizes[at];
        std::vector<T> expected = batch.matrix(b);
        std::vector<Index> p(static_cast<std::size_t>(n)), q = p;
        const auto record = reference_factor<T>(method, n, 0, expected, p, q);
        const auto part = [&](const std::vector<Index>& all) {
            const auto first = all.begin() + found.starts[at];
            return std::vector<Index>(first, first + n);
        };
        EXPECT_EQ(part(found.rows), p) << method.name() << ", n = " << n;
        if (!method.symmetric()) {
            EXPECT_EQ(part(found.columns), q) << method.name();
        }
        EXPECT_EQ(batch.matrix_in(found.values, b), expected) << method.name() << ", n = " << n;
        EXPECT_EQ(found.info[at], record.info);
        const double eps = double(std::numeric_limits<T>::epsilon());  // Rounding of 2 x 2 pivots.
        EXPECT_NEAR(found.smallest[at], record.smallest, 8 * eps * double(record.smallest));
    }
}

/// log |det A|, its sign and the inertia belong to the factors.
template <class T>
void expect_determinants(const Method& method) {
    auto random = generator();
    const auto batch = random_batch<T>(random, method, fewer_run() ? 50 : 500, 0, 40);
    const auto found = factored(context(), method, batch);
    for (Index b = 0; b < batch.count(); ++b) {
        const auto at = std::size_t(b);
        const Index n = batch.sizes[at];
        auto a = dense_of<long double>(method, batch, b).values;
        std::vector<Index> p(static_cast<std::size_t>(n)), q = p;
        const Method plain{Factorisation::ldu, Pivoting::full};
        reference_factor<long double>(plain, n, 0, a, p, q);
        double log_determinant = 0, sign = 1, condition = 1;
        for (Index s = 0; s < n; ++s) {
            const double d = double(a[std::size_t(s + s * n)]);
            log_determinant += std::log(std::abs(d));
            sign *= d < 0 ? -1 : 1;
            condition = std::max(condition, std::abs(double(a[0]) / d));
        }
        for (const auto* permutation : {&p, &q}) {
            for (Index s = 0; s < n; ++s) {
                for (Index t = 0; t < s; ++t) {
                    if ((*permutation)[std::size_t(t)] > (*permutation)[std::size_t(s)]) {
                        sign = -sign;
                    }
                }
            }
        }
        // Pivots in full order tell the condition within a factor that n^2 covers on random sets;
        // static and Bunch-Kaufman pivots may be small, and lose as many digits.
        const auto parts = parts_of<double>(method, batch, found.values, b);
        const double growth = norm_inf(parts.sizes());
        const double size = n > 0 ? std::abs(double(a[0])) : 1;
        const double error = 10.0 * n * n * n * double(std::numeric_limits<T>::epsilon()) *
                             condition * std::max(1.0, growth / size);
        if (error >= 1) continue;
        EXPECT_NEAR(double(found.log_determinant[at]), log_determinant,
                    error * (1 + std::abs(log_determinant)))
            << method.name() << ", n = " << n;
        EXPECT_EQ(found.sign[at], Index(sign)) << method.name() << ", n = " << n;
        const Index* inertia = found.inertia.data() + 3 * at;
        EXPECT_EQ(inertia[0] + inertia[1], n);
        EXPECT_EQ(inertia[2], 0);
    }
}

/// The elements above the diagonal are not read, also with a relative threshold.
template <class T>
void expect_lower_triangle(const Method& method) {
    auto random = generator();
    const auto batch = random_batch<T>(random, method, 60, 1, 40);
    HostBatch<T> half = batch;
    for (Index b = 0; b < half.count(); ++b) {
        const Index n = half.rows(b);
        T* a = half.at(b);
        for (Index j = 0; j < n; ++j) {
            for (Index i = 0; i < j; ++i) a[i + j * n] = std::numeric_limits<T>::quiet_NaN();
        }
    }
    batched::FactorOptions<T> options;
    EXPECT_TRUE(same_bits(factored(context(), method, half, options),
                          factored(context(), method, batch, options)));
    options.threshold = T(0.1);
    options.relative = true;
    EXPECT_TRUE(same_bits(factored(context(), method, half, options),
                          factored(context(), method, batch, options)));
}

/// With a threshold no pivot stays below it, the residual stays within the perturbation, and the
/// reported perturbations equal those of the reference loops.
template <class T>
void expect_thresholds(const Method& method) {
    auto random = generator();
    const auto batch = random_batch<T>(random, method, fewer_run() ? 60 : 600, 0, 36);
    const T scale = method.symmetric() ? T(4) : T(1);
    std::vector<T> each;
    for (Index b = 0; b < batch.count(); ++b) {
        each.push_back(b % 4 == 0 ? T(0) : scale * T(0.05) * T(b % 7));
    }
    const Buffer<T> device = copy_to_buffer(context(), each);
    const T one = scale * T(0.125);
    const Buffer<T> shared = copy_to_buffer(context(), std::vector<T>{one});
    for (const int form : {0, 1, 2, 3}) {
        batched::FactorOptions<T> options;
        if (form == 0) options.threshold = one;
        if (form == 1) options.thresholds = device.data(), options.threshold_stride = 1;
        if (form == 2) options.thresholds = shared.data();
        if (form == 3) options.threshold = one, options.relative = true;
        const auto found = factored(context(), method, batch, options);
        expect_factors(method, batch, found, "threshold");
        Index perturbed = 0;
        for (Index b = 0; b < batch.count(); ++b) {
            const auto at = std::size_t(b);
            const Index n = batch.sizes[at];
            const auto a = dense_of<double>(method, batch, b).magnitudes().values;
            const double largest = n > 0 ? *std::max_element(a.begin(), a.end()) : 0;
            const double tau = form == 1   ? double(each[at])
                               : form == 3 ? double(one) * largest
                                           : double(one);
            EXPECT_EQ(found.info[at], 0);
            perturbed += found.perturbed[at] > 0;
            EXPECT_EQ(found.perturbed[at] > 0, found.perturbation[at] > T(0));
            const double eps = double(std::numeric_limits<T>::epsilon());
            const bool below = double(found.smallest[at]) < tau * (1 - 4 * eps);
            const bool above = double(found.smallest[at]) > tau * (1 + 4 * eps);
            if (below || above) {
                EXPECT_EQ(found.perturbed[at] > 0, below) << method.name();
            }
            const auto parts = parts_of<double>(method, batch, found.values, b);
            for (Index s = 0; s < n; ++s) {
                const double d = parts.d.at(s, s), l = parts.l.at(s, s);
                const bool pair = (s > 0 && parts.d.at(s, s - 1) != 0) ||
                                  (s + 1 < n && parts.d.at(s, s + 1) != 0);
                if (!pair) {
                    EXPECT_GE(std::abs(d) * l * l, tau * (1 - 4 * eps)) << method.name();
                }
                if (!pair || s + 1 == n || parts.d.at(s, s + 1) == 0) continue;
                const double e21 = parts.d.at(s, s + 1), e22 = parts.d.at(s + 1, s + 1);
                const double root = std::hypot((d - e22) / 2, e21);
                const double small = root - std::abs(d + e22) / 2;
                EXPECT_GE(small, tau * (1 - 4 * eps) - 8 * eps * root) << method.name();
            }
        }
        EXPECT_GT(perturbed, batch.count() / 60) << method.name();
    }
}

}  // namespace tessera::test
