#include "precond/block_ldlt/probe.hpp"

#include <cmath>
#include <limits>

#include "tessera/vector_ops.hpp"

namespace tessera::block_ldlt {

namespace {

constexpr std::uint64_t seed = 25;

/// The least-squares problem of GMRES: a column of the Hessenberg matrix after the other.
class Residual {
  public:
    /// Takes h_0 .. h_steps of the next column; returns the norm of the residual over that of b.
    double add(std::vector<double> column) {
        const std::size_t step = cosines_.size();
        for (std::size_t i = 0; i < step; ++i) {
            const double upper = column[i];
            column[i] = cosines_[i] * upper + sines_[i] * column[i + 1];
            column[i + 1] = cosines_[i] * column[i + 1] - sines_[i] * upper;
        }
        const double length = std::hypot(column[step], column[step + 1]);
        // What is no number stays none.
        cosines_.push_back(length == 0 ? 1 : column[step] / length);
        sines_.push_back(length == 0 ? 0 : column[step + 1] / length);
        norm_ *= std::abs(sines_.back());
        return norm_;
    }

  private:
    std::vector<double> cosines_, sines_;
    double norm_ = 1;
};

/// Whether more steps would tell nothing new beside the residuals of another probe.
bool decided(const std::vector<double>& residuals, std::span<const double> leader, double same) {
    const std::size_t step = residuals.size() - 1;
    if (residuals.size() < fewest_steps || step >= leader.size()) return false;
    const bool close = std::abs(residuals[step] - leader[step]) < same * leader[step];
    return (close && leader[step] <= 0.5) || residuals[step] >= 3 * leader[step];
}

template <class T>
double norm(const Context& context, std::span<const T> x, Buffer<T>& scalar) {
    dot(context, x, x, scalar.data());
    return std::sqrt(double(copy_to_host(context, scalar)[0]));
}

}  // namespace

template <class T>
std::vector<double> probe(const Context& context, const CsrView<T>& matrix, const SpmvPlan& plan,
                          const std::function<void(const T*, T*)>& precondition, double target,
                          std::span<const double> leader, double same, Offset& products) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    const auto n = std::size_t(matrix.rows);
    Buffer<T> basis(context, Offset(n) * (probe_steps + 1)), z(context, Offset(n));
    Buffer<T> scalar(context, 1), products_with_basis(context, probe_steps + 1);
    const auto vector = [&](int j) { return basis.view().subspan(std::size_t(j) * n, n); };
    fill_normal(context, seed, vector(0));
    const double length = norm<T>(context, vector(0), scalar);
    if (length == 0) return {0.0};
    axpby<T>(context, T(0), vector(0), T(1 / length), vector(0));
    Residual residual;
    std::vector<double> residuals;
    for (int step = 0; step < probe_steps; ++step) {
        precondition(vector(step).data(), z.data());
        multiply(context, matrix, plan, T(1), std::as_const(z).view(), T(0), vector(step + 1));
        ++products;
        std::vector<double> column(std::size_t(step) + 2, 0);
        for (int pass = 0; pass < 2; ++pass) {
            const int count = step + 1;
            const auto earlier = std::span<const T>(basis.data(), std::size_t(count) * n);
            dots<T>(context, count, earlier, vector(count), products_with_basis.data());
            const auto known = products_with_basis.view().first(std::size_t(count));
            std::vector<T> h(known.size()), negative(known.size());
            copy_to_host<T>(context, known, h);
            for (int i = 0; i < count; ++i) {
                column[std::size_t(i)] += double(h[std::size_t(i)]);
                negative[std::size_t(i)] = -h[std::size_t(i)];
            }
            copy_from_host(context, std::span<const T>(negative), known);
            combine<T>(context, count, earlier, products_with_basis.data(), T(1), vector(count));
        }
        const double next = norm<T>(context, vector(step + 1), scalar);
        column[std::size_t(step) + 1] = next;
        const double relative = residual.add(std::move(column));
        residuals.push_back(std::isfinite(relative) ? relative : infinity);
        if (!std::isfinite(relative) || relative <= target || next == 0) break;
        if (decided(residuals, leader, same)) break;
        axpby<T>(context, T(0), vector(step + 1), T(1 / next), vector(step + 1));
    }
    return residuals;
}

#define TESSERA_INSTANTIATE(T)                                                                \
    template std::vector<double> probe<T>(const Context&, const CsrView<T>&, const SpmvPlan&, \
                                          const std::function<void(const T*, T*)>&, double,   \
                                          std::span<const double>, double, Offset&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::block_ldlt
