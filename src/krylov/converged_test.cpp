#include <cfloat>
#include <map>

#include "krylov/test_random_systems.hpp"
#include "krylov/test_systems.hpp"
#include "support/messages.hpp"

// Whatever the system, a report says `converged` only of an x whose residual meets the tolerance.
namespace tessera::test {

namespace {

/// Exponents of 15 bits: neither products nor squares of doubles over- or underflow.
#if LDBL_MANT_DIG == 113
using Quad = long double;
#else
using Quad = __float128;
#endif

/// In quadruple precision; residuals are exact next to rounding errors in T.
struct Truth {
    double norm_b = 0;  ///< ||b||, saturated to the range of double.
    long double wide_b = 0;
    long double residual = 0;  ///< ||b - A x||, NaN if x is not finite.
    long double rounding = 0;  ///< Bound of the error of b - A x computed in T.
    double relative = 0;       ///< Bound of the relative error of a norm computed in T.
};

template <class T>
long double root(Quad sum) {
    return std::sqrt(static_cast<long double>(sum));
}

template <class T>
Truth truth_of(const CsrView<T>& a, const std::vector<T>& b, const std::vector<T>& x) {
    using limits = std::numeric_limits<T>;
    Truth truth;
    Quad squares_b = 0, squares_r = 0, squares_bound = 0;
    long double largest = 0;
    for (Index i = 0; i < a.rows; ++i) {
        const Quad right = Quad(b[std::size_t(i)]);
        Quad sum = right, absolute = right < 0 ? -right : right;
        const Offset entries = a.row_offsets[i + 1] - a.row_offsets[i];
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Quad term = Quad(a.values[k]) * Quad(x[std::size_t(a.column_indices[k])]);
            sum -= term;
            absolute += term < 0 ? -term : term;
            largest = std::max(largest, std::abs(static_cast<long double>(a.values[k])));
        }
        // A product of a row of k entries has the error gamma_(k+2) |A| |x| at most, the difference
        // one rounding more.
        const Quad bound = Quad(gamma<T>(double(entries) + 3)) * absolute;
        squares_b += right * right;
        squares_r += sum * sum;
        squares_bound += bound * bound;
    }
    truth.wide_b = root<T>(squares_b);
    truth.residual = root<T>(squares_r);
    // Underflow: the solver scales b so that ||b|| is sqrt(min) / eps^2 at least, and where it
    // scales it down, sqrt(max eps) / 2^(max_exponent / 3). Then each of k + 2 operations of a row,
    // each element of b, and each product of A with the rounding of an element of x adds a denormal
    // number at most.
    constexpr long double eps = limits::epsilon(), denormal = limits::denorm_min();
    const long double low = std::sqrt(static_cast<long double>(limits::min())) / (eps * eps);
    const long double high = std::sqrt(limits::max() * eps);
    const long double scaled = std::ldexp(high, -(limits::max_exponent / 3));
    const long double rows = a.rows;
    long double underflow = rows * (rows + 3) * denormal / low;
    if (truth.wide_b > high) underflow += rows * rows * (largest + 1) * denormal / scaled;
    truth.rounding = root<T>(squares_bound) + underflow * truth.wide_b;
    // The sum of n squares and its root, gamma_n and two roundings, twice.
    truth.relative = gamma<T>(2.0 * a.rows + 8);
    return truth;
}

template <class T>
void check(const RandomSystem<T>& system, const SolveReport& report, const std::vector<T>& x) {
    const auto finite = [](T element) { return std::isfinite(element); };
    const bool converged = report.status == Status::converged;
    EXPECT_EQ(report.message.empty(), converged) << report.message;
    if (system.has_non_finite) {
        EXPECT_FALSE(converged);
        return;
    }
    if (!std::ranges::all_of(x, finite)) {
        EXPECT_FALSE(converged) << "x is not finite";
        return;
    }
    const Truth truth = truth_of<T>(system.matrix.view(), system.b, x);
    const long double reported = report.true_relative_residual;
    if (std::isfinite(report.true_relative_residual)) {
        EXPECT_LE(std::abs(reported * truth.wide_b - truth.residual),
                  truth.rounding + 3 * truth.relative * (truth.residual + truth.rounding))
            << "reported " << reported << ", true " << truth.residual / truth.wide_b;
    } else {
        EXPECT_FALSE(converged);
    }
    if (converged) {
        const long double target = std::max<long double>(
            *system.options.rtol * truth.wide_b * (1 + truth.relative), system.options.atol);
        EXPECT_LE(truth.residual, target * (1 + truth.relative) + truth.rounding)
            << "relative to b: " << truth.residual / truth.wide_b;
    }
    // With left preconditioning, and after the preconditioner has recovered, a restart may begin at
    // a larger true residual.
    if (system.options.left_preconditioning || report.recoveries > 0) return;
    if (!std::ranges::all_of(system.start, finite)) return;
    const Truth before = truth_of<T>(system.matrix.view(), system.b, system.start);
    const long double larger = std::max(truth.residual, before.residual);
    EXPECT_LE(truth.residual,
              before.residual + truth.rounding + before.rounding + 4 * truth.relative * larger)
        << "the start was better";
}

/// The preconditioners with the options that change their arithmetic.
std::vector<std::string> all_preconditioners() {
    const std::map<std::string, std::vector<std::string>> variants = {
        {"jacobi", {",singular=shift", ",singular=identity", ",singular=generalised"}},
        {"block_jacobi",
         {":4", ":3,blocks=uniform:2,singular=shift", ":8,singular=identity",
          ":16,singular=generalised", ":8,precision=adaptive,singular=shift",
          ":8,precision=f16,singular=shift", ":5,precision=bf16,singular=generalised",
          ":8,precision=f32"}},
        {"block_ldlt",
         {":1", ":4,method=level,positive_definite", ":8,fill=1", ":4,fill=2,method=level",
          ":4,solve_sweeps=3", ":8,pivoting=static,matching=off"}},
        {"chebyshev", {":1", ":3,scaling=none", ",precision=f32", ",bound=gershgorin"}},
        {"neumann", {":2,values=f16,format=sbell", ":5,scaling=none"}},
        {"least_squares", {",values=bf16,format=bell:2", ":2,precision=f32,scaling=none"}},
    };
    std::vector<std::string> all;
    for (const std::string& name : preconditioner_names()) {
        all.push_back(name);
        const auto found = variants.find(name);
        if (found == variants.end()) continue;
        for (const std::string& options : found->second) all.push_back(name + options);
    }
    return all;
}

struct Counts {
    Offset solves = 0, converged = 0, refused = 0, failed = 0;
};

/// Solves with one solver, preconditioner and format.
template <class T>
SolveReport solve_with(const RandomSystem<T>& system, const std::string& solver,
                       const std::string& preconditioner, const std::string& format,
                       std::vector<T>& x) {
    const Context where = context();
    const CsrMatrix<T> matrix = copy_to(where, system.matrix);
    const auto a = make_operator<T>(where, matrix.view(), parse_format(Spec(format)));
    const Buffer<T> b = copy_to_buffer(where, system.b);
    Buffer<T> device_x = copy_to_buffer(where, system.start);
    const auto m = make_preconditioner(where, Spec(preconditioner), matrix.view());
    const SolveReport report =
        solve<T>(where, Spec(solver), *a, m.get(), b.view(), device_x.view(), system.options);
    x = copy_to_host(where, device_x);
    return report;
}

template <class T>
void solve_random_systems(Offset systems) {
    const std::vector<std::string> solvers = all_solvers();
    const auto preconditioners = all_preconditioners();
    const auto formats = format_names();
    const std::uint64_t seed = generator()();
    Counts counts;
    for (Offset k = 0; k < systems && counts.failed < 10; ++k) {
        RandomSystems<T> random(seed + std::uint64_t(k));
        const RandomSystem<T> system = random.make();
        for (int combination = 0; combination < 8; ++combination) {
            const std::string& solver = random.any_of(solvers);
            const std::string& preconditioner = random.any_of(preconditioners);
            const std::string& format = random.any_of(formats);
            SCOPED_TRACE("system " + std::to_string(k) + ", " + system.name + "; " + solver +
                         (system.options.left_preconditioning ? " (left), " : ", ") +
                         preconditioner + ", " + format);
            std::vector<T> x;
            try {
                const SolveReport report = solve_with(system, solver, preconditioner, format, x);
                check(system, report, x);
                counts.failed += ::testing::Test::HasFailure();
                ++counts.solves;
                counts.converged += report.status == Status::converged;
            } catch (const InvalidArgument&) {
                ++counts.refused;  // Such as block_ldlt of a nonsymmetric matrix.
            }
        }
    }
    std::printf("%lld solves, %lld converged, %lld refused\n", (long long)counts.solves,
                (long long)counts.converged, (long long)counts.refused);
    // Most kinds have no solution, or none that is found.
    EXPECT_GT(counts.converged, counts.solves / 10);
    EXPECT_GT(counts.solves, 4 * systems);
}

/// Each solve waits for a GPU many times.
Offset system_count() { return full_run() ? 100'000 : context().on_gpu() ? 60 : 500; }

}  // namespace

TEST(converged, is_true_in_double) { solve_random_systems<double>(system_count()); }
TEST(converged, is_true_in_float) { solve_random_systems<float>(system_count()); }

}  // namespace tessera::test
