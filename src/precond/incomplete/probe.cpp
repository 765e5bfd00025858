#include "precond/incomplete/probe.hpp"

#include <cmath>
#include <limits>

#include "tessera/vector_ops.hpp"

namespace tessera::incomplete {

namespace {

constexpr std::uint64_t seed = 25;

/// Whether it is clear which of two probes is better: the residuals are close to those of the best
/// earlier one, or much larger.
bool is_decided(const std::vector<double>& residuals, std::span<const double> best_residuals,
                double tolerance) {
    const std::size_t step = residuals.size() - 1;
    if (residuals.size() < min_probe_steps || step >= best_residuals.size()) return false;
    const bool close =
        std::abs(residuals[step] - best_residuals[step]) < tolerance * best_residuals[step];
    return (close && best_residuals[step] <= 0.5) || residuals[step] >= 3 * best_residuals[step];
}

template <class T>
double dot_product(const Context& context, std::span<const T> x, std::span<const T> y,
                   Buffer<T>& dot_result) {
    dot(context, x, y, dot_result.data());
    return double(copy_to_host(context, dot_result)[0]);
}

}  // namespace

/// Simpler GMRES (H. F. Walker, L. Zhou, Numer. Linear Algebra Appl. 1, 1994): orthonormal vectors
/// q_j span A M^-1 K, K the Krylov space, and the residual is b minus its projection on them.
template <class T>
std::vector<double> probe(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          const std::function<void(const T*, T*)>& precondition, double target,
                          std::span<const double> best_residuals, double tolerance,
                          Offset& products) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto n = std::size_t(matrix.rows);
    Buffer<T> basis(context, Offset(n) * probe_steps), r(context, Offset(n)), z(context, Offset(n));
    Buffer<T> dot_result(context, 1), components(context, probe_steps);
    const auto norm = [&](std::span<const T> x) {
        return std::sqrt(dot_product<T>(context, x, x, dot_result));
    };
    fill_normal(context, seed, r.view());
    const double length = norm(r.view());
    if (length == 0) return {0.0};
    std::vector<double> residuals;
    for (int step = 0; step < probe_steps; ++step) {
        const auto basis_so_far = basis.view().first(std::size_t(step) * n);
        const auto q = basis.view().subspan(basis_so_far.size(), n);
        precondition(step == 0 ? r.data() : q.data() - n, z.data());
        multiply(context, matrix, plan, T(1), std::as_const(z).view(), T(0), q);
        ++products;
        const auto projection = components.view().first(std::size_t(step));
        for (int pass = 0; pass < 2 && step > 0; ++pass) {
            dots<T>(context, step, basis_so_far, q, projection.data());
            axpby<T>(context, T(0), projection, T(-1), projection);
            combine<T>(context, step, basis_so_far, projection.data(), T(1), q);
        }
        const double size = norm(q);
        if (size != 0) axpby<T>(context, T(0), q, T(1 / size), q);
        axpby<T>(context, T(-dot_product<T>(context, q, r.view(), dot_result)), q, T(1), r.view());
        double relative = norm(r.view()) / length;
        if (!std::isfinite(size) || !std::isfinite(relative)) relative = infinity;
        residuals.push_back(relative);
        if (relative == infinity || relative <= target || size == 0) break;
        if (is_decided(residuals, best_residuals, tolerance)) break;
    }
    return residuals;
}

template decltype(probe<float>) probe<float>;
template decltype(probe<double>) probe<double>;

}  // namespace tessera::incomplete
