#pragma once

#include <algorithm>
#include <cmath>

#include "support/test.hpp"

// Small random systems of all kinds that break solvers, over the whole range of T.
namespace tessera::test {

template <class T>
struct RandomSystem {
    std::string name;
    CsrMatrix<T> matrix;  ///< In host memory.
    std::vector<T> b, start;
    SolveOptions options;
    bool has_non_finite = false;  ///< A or b has NaN or infinity: there is no solution.
};

template <class T>
class RandomSystems {
  public:
    explicit RandomSystems(std::uint64_t seed) : random_(seed) {}

    RandomSystem<T> make() {
        n_ = one_in(3) ? integer(1, 4) : one_in(2) ? integer(1, 12) : integer(1, 40);
        const auto size = std::size_t(n_);
        RandomSystem<T> system;
        std::vector<double> a = make_entries(system.name);
        std::vector<int> row(size, 0), column(size, 0);
        if (one_in(3)) grade(row, column, system.name);
        const int scale = exponent();
        system.name += " of " + std::to_string(n_) + " rows times 2^" + std::to_string(scale);
        const bool stores_zeros = one_in(8);
        std::vector<std::vector<Index>> pattern(size);
        std::vector<std::vector<T>> values(size);
        for (std::size_t i = 0; i < size; ++i) {
            for (std::size_t j = 0; j < size; ++j) {
                const double entry = a[i * size + j];
                if (entry == 0 && !stores_zeros) continue;
                pattern[i].push_back(Index(j));
                values[i].push_back(scaled(entry, row[i] + column[j] + scale));
            }
        }
        system.matrix = make_csr<T>(n_, n_, pattern, values);
        make_right_hand_side(a, system);
        make_start(system);
        if (one_in(25)) poison(system);
        make_options(system);
        return system;
    }

    Offset integer(Offset least, Offset most) {
        return std::uniform_int_distribution<Offset>(least, most)(random_);
    }
    bool one_in(int count) { return integer(1, count) == 1; }
    const std::string& any_of(const std::vector<std::string>& all) {
        return all[std::size_t(integer(0, Offset(all.size()) - 1))];
    }

  private:
    using limits = std::numeric_limits<T>;

    double uniform() { return std::uniform_real_distribution<double>(-1, 1)(random_); }

    /// Mostly moderate, else anywhere in the range of T, denormal numbers included.
    int exponent() {
        if (one_in(2)) return 0;
        if (one_in(2)) return int(integer(-20, 20));
        return int(integer(limits::min_exponent - limits::digits, limits::max_exponent));
    }

    /// value 2^exponent, finite.
    static T scaled(double value, int exponent) {
        const long double wide = std::ldexp(static_cast<long double>(value), exponent);
        const long double largest = limits::max();
        return T(std::clamp(wide, -largest, largest));
    }

    /// Entries of size 1, row by row.
    std::vector<double> make_entries(std::string& name) {
        const auto n = std::size_t(n_);
        std::vector<double> a(n * n, 0.0);
        const bool whole = one_in(4);  // Singular systems with exact right-hand sides.
        const auto number = [&] { return whole ? double(integer(-3, 3)) : uniform(); };
        const int density = int(integer(1, 4));
        const int kind = int(integer(0, 9));
        static const char* names[] = {
            "dominant symmetric", "dominant",   "general", "symmetric", "Gram",
            "diagonal",           "triangular", "skew",    "rank one",  "Hilbert"};
        name = std::string(whole ? "integer " : "") + names[kind];
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                const bool present = i == j || one_in(density);
                double& entry = a[i * n + j];
                double& mirror = a[j * n + i];
                if (kind == 5 ? i == j : kind == 6 ? j <= i && present : present) entry = number();
                if (kind == 9) entry = 1 / double(i + j + 1);
                if (kind == 5) entry = std::ldexp(entry, i == j ? -int(integer(0, 60)) : 0);
                const bool symmetric = kind == 0 || kind == 3;
                if (symmetric && j < i) entry = mirror;
                if (kind == 7 && j <= i) entry = i == j ? 0 : -mirror;
            }
        }
        if (kind == 8) {
            std::vector<double> u(n), v(n);
            for (double& element : u) element = number();
            for (double& element : v) element = number();
            for (std::size_t k = 0; k < n * n; ++k) a[k] = u[k / n] * v[k % n];
        }
        if (kind == 4) a = gram(a);
        if (kind <= 1) {
            for (std::size_t i = 0; i < n; ++i) {
                double sum = 1;
                for (std::size_t j = 0; j < n; ++j) sum += i == j ? 0 : std::abs(a[i * n + j]);
                a[i * n + i] = sum;
            }
        }
        if (one_in(6)) clear(a, name);
        if (kind <= 4 && kind != 1 && kind != 2 && one_in(4)) disturb(a, name);
        return a;
    }

    /// B^T B of the first rows of B: semidefinite.
    std::vector<double> gram(const std::vector<double>& b) {
        const auto n = std::size_t(n_), rank = std::size_t(integer(1, n_));
        std::vector<double> a(n * n, 0.0);
        for (std::size_t k = 0; k < n * n; ++k) {
            for (std::size_t r = 0; r < rank; ++r) a[k] += b[r * n + k / n] * b[r * n + k % n];
        }
        return a;
    }

    /// Changes entries of a symmetric matrix as rounding does: most have no mirror image then.
    void disturb(std::vector<double>& a, std::string& name) {
        for (double& entry : a) {
            if (one_in(6)) entry += 10 * double(limits::epsilon()) * uniform();
        }
        name += " up to rounding";
    }

    /// Clears a row, a column, or both.
    void clear(std::vector<double>& a, std::string& name) {
        const auto n = std::size_t(n_), k = std::size_t(integer(0, n_ - 1));
        const Offset what = integer(1, 3);
        for (std::size_t i = 0; i < n; ++i) {
            if (what & 1) a[k * n + i] = 0;
            if (what & 2) a[i * n + k] = 0;
        }
        name += what == 1 ? " without a row" : what == 2 ? " without a column" : " without both";
    }

    /// Exponents of a scaling of rows, columns or both alike.
    void grade(std::vector<int>& row, std::vector<int>& column, std::string& name) {
        const int width = int(one_in(2) ? integer(1, 30) : integer(1, limits::max_exponent));
        const Offset what = integer(1, 3);
        for (std::size_t i = 0; i < row.size(); ++i) {
            const int power = int(integer(-width, width)) / 2;
            if (what & 1) row[i] = power;
            if (what & 2) column[i] = power;
        }
        name += what == 1 ? " graded by rows" : what == 2 ? " graded by columns" : " graded";
    }

    void make_right_hand_side(const std::vector<double>& a, RandomSystem<T>& system) {
        const auto n = std::size_t(n_);
        std::vector<double> b(n, 0.0);
        const Offset kind = integer(0, 9);
        const bool whole = system.name.starts_with("integer");
        for (double& element : b) element = whole ? double(integer(-3, 3)) : uniform();
        if (kind <= 4) {
            const std::vector<double> x = b;
            const CsrView<T> view = system.matrix.view();
            for (std::size_t i = 0; i < n; ++i) {  // In the range of A, exactly for whole numbers.
                b[i] = 0;
                for (std::size_t j = 0; j < n; ++j) b[i] += a[i * n + j] * x[j];
                const bool graded = system.name.find("graded") != std::string::npos;
                if (!graded || !one_in(2)) continue;
                long double sum = 0;
                for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                    sum += static_cast<long double>(view.values[k]) *
                           static_cast<long double>(x[std::size_t(view.column_indices[k])]);
                }
                b[i] = double(std::clamp<long double>(sum, limits::lowest(), limits::max()));
            }
        }
        const int scale = exponent();
        system.name += ", b times 2^" + std::to_string(scale);
        for (double& element : b) {
            if (kind == 5) element *= one_in(3);
            if (kind == 6) element = std::ldexp(element, exponent() / 2);
            if (kind == 7 && one_in(8)) element = 0;
            system.b.push_back(scaled(element, scale));
        }
        if (kind == 8) std::fill(system.b.begin(), system.b.end(), T(0));
    }

    void make_start(RandomSystem<T>& system) {
        system.start.assign(std::size_t(n_), T(0));
        if (!one_in(4)) return;
        const int scale = exponent();
        system.name += ", start times 2^" + std::to_string(scale);
        for (T& element : system.start) element = scaled(uniform(), scale);
        if (!one_in(4)) return;
        system.start[std::size_t(integer(0, n_ - 1))] =
            one_in(2) ? limits::infinity() : limits::quiet_NaN();
        system.name += " with a number that is not finite";
    }

    void poison(RandomSystem<T>& system) {
        const T poison = one_in(2) ? limits::infinity() : limits::quiet_NaN();
        const bool in_matrix = one_in(2) && system.matrix.nonzeros() > 0;
        T* const values = in_matrix ? system.matrix.values().data() : system.b.data();
        values[integer(0, in_matrix ? system.matrix.nonzeros() - 1 : n_ - 1)] = poison;
        system.has_non_finite = true;
        system.name += in_matrix ? ", A is not finite" : ", b is not finite";
    }

    void make_options(RandomSystem<T>& system) {
        static constexpr double tolerances[] = {1e-8, 1e-8, 1e-8, 1e-4,   1e-12,
                                                1e-2, 0.5,  0,    1e-300, 10};
        system.options.rtol = tolerances[integer(0, 9)];
        if (one_in(6)) system.options.atol = std::ldexp(1.0, int(integer(-1074, 1023)));
        system.options.max_iterations = integer(0, 150);
        system.options.stagnation_window = integer(0, 40);
        system.options.check_interval = int(integer(0, 9));
        system.options.left_preconditioning = one_in(5);
        system.name += ", rtol " + std::to_string(*system.options.rtol) + ", atol " +
                       std::to_string(system.options.atol);
    }

    std::mt19937_64 random_;
    Index n_ = 1;
};

}  // namespace tessera::test
