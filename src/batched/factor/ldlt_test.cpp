#include <dlfcn.h>

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

// LAPACK where it is installed (Debian: liblapack3), by its Fortran interface: every argument by
// address; strings have a hidden length.
using Dsyevd = void(const char* jobs, const char* triangle, const int* n, double* a, const int* ld,
                    double* w, double* work, const int* work_size, int* iwork,
                    const int* iwork_size, int* info, std::size_t, std::size_t);
using Dsytrf = void(const char* triangle, const int* n, double* a, const int* ld, int* pivots,
                    double* work, const int* work_size, int* info, std::size_t);

template <class Function>
Function* lapack(const char* name) {
    static void* const library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
    return library == nullptr ? nullptr : reinterpret_cast<Function*>(dlsym(library, name));
}

/// Eigenvalues by LAPACK's divide and conquer.
std::vector<long double> lapack_eigenvalues(Dense<double> a) {
    const int n = a.n;
    std::vector<double> values(std::size_t(n), 0), work(std::size_t(2 * n + 1), 0);
    const int work_size = int(work.size()), one = 1;
    int integers = 0, info = -1;
    lapack<Dsyevd>("dsyevd_")("N", "L", &n, a.values.data(), &n, values.data(), work.data(),
                              &work_size, &integers, &one, &info, 1, 1);
    EXPECT_EQ(info, 0);
    return {values.begin(), values.end()};
}

/// Positive and negative eigenvalues of D in LAPACK's LDL^T, whose pivots are Bunch-Kaufman's.
std::array<Index, 2> lapack_inertia(Dense<double> a) {
    const int n = a.n;
    std::vector<int> pivots(std::size_t(n), 0);
    std::vector<double> work(std::size_t(64 * n), 0);
    const int work_size = int(work.size());
    int info = -1;
    lapack<Dsytrf>("dsytrf_")("L", &n, a.values.data(), &n, pivots.data(), work.data(), &work_size,
                              &info, 1);
    EXPECT_GE(info, 0);
    std::array<Index, 2> found{};
    for (Index s = 0; s < n; ++s) {
        if (pivots[std::size_t(s)] > 0) {
            found[0] += a.at(s, s) > 0;
            found[1] += a.at(s, s) < 0;
        } else {  // Two rows, whose eigenvalues have different signs.
            ++found[0], ++found[1], ++s;
        }
    }
    return found;
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
        bool clean = false;
        size = norm_inf(parts_of<long double>(method.factorisation, n,
                                              found.values.data() + zoo.batch.offsets[at], clean)
                            .sizes());
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

const Method any_ldlt{Factorisation::ldlt, Pivoting::full};

/// Every method's inertia against the signs of `spectrum(zoo, b)`.
template <class Spectrum>
void expect_inertias(Spectrum&& spectrum) {
    for_reals([&](auto real) {
        using T = decltype(real);
        auto random = generator();
        const auto zoo = symmetric_matrices<T>(random);
        std::vector<std::vector<long double>> spectra;
        for (Index b = 0; b < zoo.batch.count(); ++b) spectra.push_back(spectrum(zoo, b));
        for (const Method& method : methods_of(Factorisation::ldlt)) {
            const auto found = factored(context(), method, zoo.batch);
            Index compared = 0;
            for (Index b = 0; b < zoo.batch.count(); ++b)
                compared += expect_inertia(method, zoo, found, b, spectra[std::size_t(b)]);
            EXPECT_GE(compared, zoo.batch.count() / 2) << method.name();
        }
    });
}

}  // namespace

TESSERA_FACTOR_TESTS(ldlt)

TESSERA_FACTOR_TEST(ldlt, only_the_lower_triangle_is_read, expect_lower_triangle)

TEST(ldlt, inertia_is_that_of_the_matrix) {
    expect_inertias([](const auto& zoo, Index b) {
        return eigenvalues(dense_of<long double>(any_ldlt, zoo.batch, b));
    });
}

TEST(ldlt, inertia_is_that_of_lapack) {
    if (lapack<Dsyevd>("dsyevd_") == nullptr || lapack<Dsytrf>("dsytrf_") == nullptr) {
        GTEST_SKIP() << "liblapack.so.3 is not installed";
    }
    expect_inertias([](const auto& zoo, Index b) {
        return lapack_eigenvalues(dense_of<double>(any_ldlt, zoo.batch, b));
    });
    const Method method{Factorisation::ldlt, Pivoting::bunch_kaufman};
    auto random = generator();
    const auto zoo = symmetric_matrices<double>(random);
    const auto found = factored(context(), method, zoo.batch);
    Index compared = 0;
    for (Index b = 0; b < zoo.batch.count(); ++b) {
        const auto a = dense_of<double>(any_ldlt, zoo.batch, b);
        if (!expect_inertia(method, zoo, found, b, lapack_eigenvalues(a))) continue;
        const Index* inertia = found.inertia.data() + 3 * std::size_t(b);
        EXPECT_EQ(lapack_inertia(a), (std::array<Index, 2>{inertia[0], inertia[1]}))
            << zoo.names[std::size_t(b)] << ", n = " << a.n;
        ++compared;
    }
    EXPECT_GE(compared, zoo.batch.count() / 2);
}

}  // namespace tessera::test
