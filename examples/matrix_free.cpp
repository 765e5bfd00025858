// Solves with an operator that has no matrix, here fourth-order differences on a line, and block
// Jacobi of a matrix that approximates it: second-order differences.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <tessera/tessera.hpp>

using namespace tessera;

namespace {

constexpr Index rows = 400;

/// y = A x, (x_(i-2) - 16 x_(i-1) + 30 x_i - 16 x_(i+1) + x_(i+2)) / 12 + 0.01 x_i; zero outside.
class FourthOrder final : public Operator<double> {
  public:
    Index rows() const override { return ::rows; }
    Index columns() const override { return ::rows; }
    void apply(const Context& context, std::span<const double> x,
               std::span<double> y) const override {
        axpby<double>(context, 30.0 / 12 + 0.01, x, 0.0, y);
        for (const auto [distance, weight] : {Weight{1, -16.0 / 12}, Weight{2, 1.0 / 12}}) {
            axpby<double>(context, weight, x.first(x.size() - distance), 1.0, y.subspan(distance));
            axpby<double>(context, weight, x.subspan(distance), 1.0, y.first(y.size() - distance));
        }
    }

  private:
    struct Weight {
        std::size_t distance;
        double weight;
    };
};

/// (-1, 2.01, -1)
CsrMatrix<double> second_order(const Context& cpu) {
    CsrMatrix<double> matrix(cpu, rows, rows, 3 * rows - 2);
    Offset k = 0;
    for (Index i = 0; i < rows; ++i) {
        matrix.row_offsets().data()[i] = k;
        for (Index j = std::max(i - 1, 0); j <= std::min(i + 1, rows - 1); ++j) {
            matrix.column_indices().data()[k] = j;
            matrix.values().data()[k++] = i == j ? 2.01 : -1;
        }
    }
    matrix.row_offsets().data()[rows] = k;
    return matrix;
}

}  // namespace

int main() {
    const Context cpu = Context::cpu();
    const Context context = Context::from_name("auto");  // The GPU if there is one.
    const auto approximation = copy_to(context, second_order(cpu));
    const auto m = make_preconditioner(context, "block_jacobi:16,blocks=uniform:16", approximation);
    const FourthOrder a;
    const auto b = copy_to_buffer(context, std::vector<double>(rows, 1.0));
    auto x = copy_to_buffer(context, std::vector<double>(rows, 0.0));
    const SolveReport plain = cg(context, a, nullptr, b, x);
    fill(context, 0, x);
    const SolveReport report = cg(context, a, m, b, x);
    std::printf("%s after %lld iterations, without block Jacobi after %lld\n",
                to_string(report.status), static_cast<long long>(report.iterations),
                static_cast<long long>(plain.iterations));
    return report.status == Status::converged && report.iterations < plain.iterations ? 0 : 1;
}
