#include "precond/incomplete/test_factor.hpp"

namespace tessera::test {

namespace {

/// Algorithm 2 of the paper, corrected: P_i A_ij P_j^T ~ sum_k L_ik D_k L_jk^T with inner
/// permutations that follow the pivots of each sweep. L_ij is in the rows p_i and columns p_j.
class PermutedSweeps {
  public:
    PermutedSweeps(const Dense& a, const Dense& pattern, std::size_t k)
        : a_(a), k_(k), lower_(a.size()), diagonal_(identity(a.size())), stored_(pattern) {
        for (std::size_t s = 0; s < a.size(); ++s) order_.push_back(s);
    }

    void sweep(const Context& context, double tau) {
        const std::size_t n = a_.size();
        Dense lower(n), diagonal(n);
        std::vector<std::size_t> order(n), relative(n);
        for (std::size_t i = 0; i < n; i += k_) {
            const Dense block = schur(i, i, i);
            std::vector<double> f(k_ * k_);
            for (std::size_t e = 0; e < k_ * k_; ++e) {
                f[e] = 0.5 * block(e % k_, e / k_) + 0.5 * block(e / k_, e % k_);
            }
            std::vector<Index> pivots(k_);
            factor(context, tau, f, pivots);
            for (std::size_t s = 0; s < k_; ++s) {
                relative[i + s] = std::size_t(pivots[s]);
                order[i + s] = order_[i + relative[i + s]];
                lower(i + s, i + s) = 1;
                diagonal(i + s, i + s) = f[s + s * k_];
                for (std::size_t t = s + 1; t < k_; ++t) lower(i + t, i + s) = f[t + s * k_];
                if (s + 1 == k_) continue;
                diagonal(i + s, i + s + 1) = diagonal(i + s + 1, i + s) = f[s + (s + 1) * k_];
            }
        }
        for (std::size_t i = 0; i < n; i += k_) {
            for (std::size_t j = 0; j < i; j += k_) {
                if (stored_(i, j) == 0) continue;
                const Dense unordered = schur(i, j, j);
                Dense c(k_);
                for (std::size_t s = 0; s < k_; ++s) {
                    for (std::size_t t = 0; t < k_; ++t) {
                        c(s, t) = unordered(relative[i + s], relative[j + t]);
                    }
                }
                divide(c, lower, diagonal, j);
                for (std::size_t s = 0; s < k_; ++s) {
                    for (std::size_t t = 0; t < k_; ++t) lower(i + s, j + t) = c(s, t);
                }
            }
        }
        lower_ = lower;
        diagonal_ = diagonal;
        order_ = order;
    }

    /// L D L^T in the original rows and columns.
    Dense matrix() const {
        const Dense ordered = product(product(lower_, diagonal_), transposed(lower_));
        Dense m(a_.size());
        for (std::size_t i = 0; i < a_.size(); ++i) {
            for (std::size_t j = 0; j < a_.size(); ++j) m(order_[i], order_[j]) = ordered(i, j);
        }
        return m;
    }

  private:
    /// A_ij in the rows p_i and columns p_j minus the sum over the columns before `end`.
    Dense schur(std::size_t i, std::size_t j, std::size_t end) const {
        Dense c(k_);
        for (std::size_t s = 0; s < k_; ++s) {
            for (std::size_t t = 0; t < k_; ++t) {
                double sum = a_(order_[i + s], order_[j + t]);
                for (std::size_t u = 0; u < end; ++u) {
                    for (std::size_t v = u / k_ * k_; v < (u / k_ + 1) * k_; ++v) {
                        sum -= lower_(i + s, u) * diagonal_(u, v) * lower_(j + t, v);
                    }
                }
                c(s, t) = sum;
            }
        }
        return c;
    }

    void factor(const Context& context, double tau, std::vector<double>& f,
                std::vector<Index>& pivots) const {
        batched::PermutationsView<Index> permutations;
        permutations.rows = pivots.data();
        batched::FactorOptions<double> options;
        options.threshold = tau;
        const auto view = batched::BatchView<double>::uniform(1, Index(k_), f.data());
        batched::ldlt<double>(context, batched::Pivoting::full, view, view, permutations, {},
                              options);
    }

    /// C = C L_jj^-T D_j^-1.
    void divide(Dense& c, const Dense& lower, const Dense& diagonal, std::size_t j) const {
        for (std::size_t s = 0; s < k_; ++s) {
            for (std::size_t t = 0; t < k_; ++t) {
                for (std::size_t u = 0; u < t; ++u) c(s, t) -= c(s, u) * lower(j + t, j + u);
            }
            for (std::size_t t = 0; t < k_; ++t) {
                const double off = t + 1 < k_ ? diagonal(j + t, j + t + 1) : 0;
                if (off == 0) {
                    c(s, t) /= diagonal(j + t, j + t);
                    continue;
                }
                const double first = diagonal(j + t, j + t),
                             second = diagonal(j + t + 1, j + t + 1);
                const double determinant = (first / off) * second - off;
                const double x = c(s, t), y = c(s, t + 1);
                c(s, t) = (x * (second / off) - y) / determinant;
                c(s, t + 1) = (y * (first / off) - x) / determinant;
                ++t;
            }
        }
    }

    Dense a_;
    std::size_t k_;
    Dense lower_, diagonal_, stored_;
    std::vector<std::size_t> order_;
};

}  // namespace

TEST(permuted_sweeps, permutations_make_no_difference) {
    auto random = generator();
    const Context device = context();
    for (const Index k : {1, 4, 8}) {
        const Index rows = 10 * k;
        const auto matrix = symmetric_csr<double>(rows, random_indefinite(random, rows, 1.5 / k));
        auto factor = make_factor(device, matrix.view(), k, random_slots(random, rows, 1), 0,
                                  BlockLdltStage::jacobi, 0.1);
        const Dense a = in_grid(HostGrid(device, factor.grid()), matrix.view());
        factor.factor_diagonal(device);  // Sets the pattern; the sweeps start from zero.
        PermutedSweeps permuted(a, take_apart(device, factor).pattern, std::size_t(k));
        factor.start_sweeps();
        double tau = 0.1 * largest(a), bound = 0;
        for (int sweep = 0; sweep < 8; ++sweep, tau *= 0.95) {
            factor.set_threshold(device, tau / largest(a));
            factor.sweep(device);
            permuted.sweep(host(), tau);
            const TakenApart parts = take_apart(device, factor);
            // The rounding error of one sweep, and its amplification by another product with F^-1.
            const double amplified = largest(absolute(parts.lower)) * largest(parts.size) *
                                     largest(absolute(parts.inverse)) * double(k);
            bound = bound * (1 + amplified) + largest(parts.bound(gamma<double>(1)));
            const Dense difference = sum(1, parts.matrix(), -1, permuted.matrix());
            EXPECT_LE(largest(difference), bound) << "k = " << k << ", sweep " << sweep;
            // The bound is meaningful: it is far below the matrices.
            if (sweep < 2) {
                EXPECT_LT(bound, 1e-3 * largest(a));
            }
        }
    }
}

}  // namespace tessera::test
