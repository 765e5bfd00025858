#include "precond/incomplete/probe.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "precond/incomplete/test_symmetric.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::test {

namespace {

/// Probes of a generated system with a multiple of the identity as a preconditioner.
class Probes {
  public:
    explicit Probes(const char* problem)
        : device_(context()),
          matrix_(
              copy_to(device_, problems::generate<double>(host(), Spec(problem)).matrix.view())),
          plan_(plan_spmv(device_, std::as_const(matrix_).view())) {}

    std::vector<double> run(double target, std::span<const double> best_residuals, Offset& products,
                            double same = 0.01, double factor = 1) const {
        const auto rows = std::size_t(matrix_.rows());
        const auto identity = [&](const double* r, double* z) {
            const std::span<double> to(z, rows);
            copy(device_, std::span<const double>(r, rows), to);
            if (factor != 1) axpby<double>(device_, 0.0, to, factor, to);
        };
        return incomplete::probe<double>(device_, matrix_.view(), plan_, identity, target,
                                         best_residuals, same, products);
    }

  private:
    Context device_;
    CsrMatrix<double> matrix_;
    SpmvPlan plan_;
};

std::vector<double> times(double factor, std::vector<double> residuals) {
    for (double& residual : residuals) residual *= factor;
    return residuals;
}

}  // namespace

TEST(probe, residuals_fall_until_the_target) {
    const Probes probes("poisson3d:8");
    Offset products = 0;
    const auto residuals = probes.run(0, {}, products);
    EXPECT_EQ(products, incomplete::probe_steps);
    EXPECT_EQ(Offset(residuals.size()), products);
    EXPECT_TRUE(std::ranges::is_sorted(residuals, std::greater<>()));
    EXPECT_LT(residuals.front(), 1);
    products = 0;
    const auto fewer = probes.run(residuals[4], {}, products);
    EXPECT_EQ(products, 5);
    EXPECT_EQ(fewer, std::vector<double>(residuals.begin(), residuals.begin() + 5));
}

TEST(probe, what_is_no_number_has_no_success) {
    const Probes probes("poisson3d:8");
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double factor : {std::nan(""), infinity, 1e200}) {
        Offset products = 0;
        EXPECT_EQ(probes.run(1e-3, {}, products, 0.01, factor).back(), infinity) << factor;
    }
}

TEST(probe, ends_where_it_is_decided) {
    const Probes probes("poisson3d:8");
    Offset products = 0;
    const auto residuals = probes.run(0, {}, products);
    ASSERT_LT(residuals[incomplete::min_probe_steps - 1], 0.1);
    const auto steps_beside = [&](const std::vector<double>& best_residuals) {
        Offset steps = 0;
        const auto found = probes.run(0, best_residuals, steps);
        EXPECT_TRUE(std::equal(found.begin(), found.end(), residuals.begin()));
        EXPECT_EQ(Offset(found.size()), steps);
        return steps;
    };
    EXPECT_EQ(steps_beside(residuals), incomplete::min_probe_steps);
    EXPECT_EQ(steps_beside(times(1 / 3.1, residuals)), incomplete::min_probe_steps);
    // Only worse residuals end a probe early.
    Offset all = 0;
    probes.run(0, residuals, all, 0);
    EXPECT_EQ(all, incomplete::probe_steps);
    // Better, or not much worse: all steps.
    EXPECT_EQ(steps_beside(times(1.1, residuals)), incomplete::probe_steps);
    EXPECT_EQ(steps_beside(times(1 / 2.5, residuals)), incomplete::probe_steps);
    // No comparison if the earlier probe stopped before this step.
    EXPECT_EQ(steps_beside({residuals[0], residuals[1]}), incomplete::probe_steps);
}

TEST(probe, a_leader_that_got_nowhere_decides_nothing) {
    const Probes probes("helmholtz:30");
    Offset products = 0;
    std::vector<double> slow = probes.run(0, {}, products);
    for (double& residual : slow) residual = std::max(residual, 0.51);
    EXPECT_EQ(probes.run(0, slow, products).size(), std::size_t(incomplete::probe_steps));
}

}  // namespace tessera::test
