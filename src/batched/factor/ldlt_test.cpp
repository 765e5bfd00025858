#include "batched/test_factor_suite.hpp"

namespace tessera::test {

namespace {

/// Symmetric matrices of up to 36 rows, random and not.
template <class T>
Zoo<T> symmetric_matrices(std::mt19937_64& random) {
    Zoo<T> zoo;
    for (Index n = 1; n <= 36; ++n) {
        add_symmetric(zoo, random, n);
        for (int k = 0; k < 4; ++k) zoo.add("random", n, random_symmetric<T>(random, n));
    }
    return zoo;
}

/// Eigenvalues by cyclic Jacobi rotations.
std::vector<long double> eigenvalues(Dense<long double> a) {
    const double small = norm_inf(a) * 1e-15;
    for (bool rotated = true; rotated;) {
        rotated = false;
        for (Index p = 0; p < a.n; ++p) {
            for (Index q = p + 1; q < a.n; ++q) {
                if (!(std::abs(a.at(p, q)) > small)) continue;
                rotated = true;
                const long double theta = (a.at(q, q) - a.at(p, p)) / (2 * a.at(p, q));
                const long double t =
                    std::copysign(1 / (std::abs(theta) + std::hypot(1.0L, theta)), theta);
                const long double c = 1 / std::hypot(1.0L, t), s = t * c;
                for (Index k = 0; k < a.n; ++k) {
                    const long double x = a.at(k, p), y = a.at(k, q);
                    a.at(k, p) = c * x - s * y;
                    a.at(k, q) = s * x + c * y;
                }
                for (Index k = 0; k < a.n; ++k) {
                    const long double x = a.at(p, k), y = a.at(q, k);
                    a.at(p, k) = c * x - s * y;
                    a.at(q, k) = s * x + c * y;
                }
            }
        }
    }
    std::vector<long double> values;
    for (Index i = 0; i < a.n; ++i) values.push_back(a.at(i, i));
    return values;
}

/// False where rounding may decide the inertia: an eigenvalue is below 10 n eps ||A||, or, for
/// static pivoting, below 10 n eps times the size of the factors.
template <class T>
bool expect_inertia(const Method& method, const Zoo<T>& zoo, const HostFactors<T>& found, Index b,
                    const std::vector<long double>& spectrum) {
    const auto at = std::size_t(b);
    const Index n = zoo.batch.sizes[at];
    const auto a = dense_of<long double>(method, zoo.batch, b);
    double size = norm_inf(a);
    if (method.pivoting == Pivoting::fixed) {
        if (found.info[at] != 0) return false;
        size = norm_inf(parts_of<long double>(method, zoo.batch, found.values, b).sizes());
    }
    const double bound = 10.0 * n * double(std::numeric_limits<T>::epsilon()) * size;
    Index positive = 0, negative = 0;
    for (const long double value : spectrum) {
        if (!(std::abs(value) > bound)) return false;
        ++(value > 0 ? positive : negative);
    }
    const Index* inertia = found.inertia.data() + 3 * at;
    EXPECT_EQ(inertia[0], positive) << method.name() << ", " << zoo.names[at] << ", n = " << n;
    EXPECT_EQ(inertia[1], negative) << method.name() << ", " << zoo.names[at] << ", n = " << n;
    EXPECT_EQ(inertia[2], 0);
    EXPECT_EQ(found.sign[at], negative % 2 == 0 ? 1 : -1);
    return true;
}

}  // namespace

TESSERA_FACTOR_TESTS(ldlt)

TESSERA_FACTOR_TEST(ldlt, only_the_lower_triangle_is_read, expect_lower_triangle)

TEST(ldlt, inertia_is_that_of_the_matrix) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const auto zoo = symmetric_matrices<T>(random);
        const Method any{Factorisation::ldlt, Pivoting::full};
        std::vector<std::vector<long double>> spectra;
        for (Index b = 0; b < zoo.batch.count(); ++b) {
            spectra.push_back(eigenvalues(dense_of<long double>(any, zoo.batch, b)));
        }
        for (const Method& method : methods_of(Factorisation::ldlt)) {
            const auto found = factored(context(), method, zoo.batch);
            Index compared = 0;
            for (Index b = 0; b < zoo.batch.count(); ++b)
                compared += expect_inertia(method, zoo, found, b, spectra[std::size_t(b)]);
            EXPECT_GE(compared, zoo.batch.count() / 2) << method.name();
        }
    });
}

}  // namespace tessera::test
