#include "commands/self_test.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "report/text.hpp"
#include "tessera/tessera.hpp"

namespace tessera::cli {

namespace {

/// A dense block, column-major.
struct Dense {
    Index size = 0;
    std::vector<double> values;
    double& at(Index i, Index j) {
        return values[std::size_t(j) * std::size_t(size) + std::size_t(i)];
    }
    double at(Index i, Index j) const {
        return values[std::size_t(j) * std::size_t(size) + std::size_t(i)];
    }
};

Dense extract(const CsrView<double>& matrix, Index first, Index size) {
    Dense block{size, std::vector<double>(std::size_t(size) * std::size_t(size), 0.0)};
    for (Index i = 0; i < size; ++i) {
        for (Offset k = matrix.row_offsets[first + i]; k < matrix.row_offsets[first + i + 1]; ++k) {
            const Index j = matrix.column_indices[k] - first;
            if (j >= 0 && j < size) block.at(i, j) = matrix.values[k];
        }
    }
    return block;
}

double infinity_norm(const Dense& block) {
    double norm = 0;
    for (Index i = 0; i < block.size; ++i) {
        double sum = 0;
        for (Index j = 0; j < block.size; ++j) sum += std::abs(block.at(i, j));
        norm = std::max(norm, sum);
    }
    return norm;
}

/// ||A B - I||, infinity norm.
double residual(const Dense& a, const Dense& b) {
    Dense product{a.size, std::vector<double>(a.values.size(), 0.0)};
    for (Index i = 0; i < a.size; ++i) {
        for (Index j = 0; j < a.size; ++j) {
            double sum = i == j ? -1 : 0;
            for (Index k = 0; k < a.size; ++k) sum += a.at(i, k) * b.at(k, j);
            product.at(i, j) = sum;
        }
    }
    return infinity_norm(product);
}

TestItem test_solve(const Context& context) {
    const auto problem = problems::generate<double>(Context::cpu(), "poisson2d:50");
    const CsrMatrix<double> matrix = copy_to(context, problem.matrix.view());
    const CsrOperator<double> product(context, matrix.view());
    const auto preconditioner =
        make_preconditioner<double>(context, "block_jacobi:32", matrix.view());
    Buffer<double> b(context, matrix.rows());
    Buffer<double> x(context, matrix.rows());
    fill(context, 1.0, b.view());
    fill(context, 0.0, x.view());
    const SolveOptions options;
    const SolveReport report = cg<double>(context, product, preconditioner.get(),
                                          std::as_const(b).view(), x.view(), options);
    return {
        "poisson2d:50, cg, block_jacobi:32",
        report.status == Status::converged && report.true_relative_residual <= default_rtol<double>,
        format("%s in %lld iterations, residual %.1e", to_string(report.status),
               static_cast<long long>(report.iterations), report.true_relative_residual)};
}

/// Every inverse X of a block B must satisfy ||X B - I|| or ||B X - I|| <= n^2 eps ||B|| ||X||:
/// Gauss-Jordan with partial pivoting bounds one of them by n eps ||B|| ||X|| times the pivot
/// growth, which on random blocks stays below n (Trefethen and Schreiber 1990).
TestItem test_inversion(const Context& context) {
    const auto problem =
        problems::generate<double>(Context::cpu(), "random_blocks:2000,sizes=1-32");
    const CsrView<double> host = problem.matrix.view();
    const CsrMatrix<double> matrix = copy_to(context, host);
    const BlockJacobi<double> inverted(context, matrix.view(),
                                       find_blocks(context, matrix.view(), default_block_bound));
    const std::vector<Index> starts = copy_to_host(context, inverted.blocks().block_offsets);
    const std::vector<double> inverses = copy_to_host(context, inverted.copy_inverses(context));
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t b = 0; b + 1 < starts.size(); ++b) {
        const Index n = starts[b + 1] - starts[b];
        const std::size_t entries = std::size_t(n) * std::size_t(n);
        const Dense block = extract(host, starts[b], n);
        const Dense inverse{n,
                            std::vector<double>(inverses.begin() + std::ptrdiff_t(at),
                                                inverses.begin() + std::ptrdiff_t(at + entries))};
        at += entries;
        const double bound = double(n) * n * std::numeric_limits<double>::epsilon() *
                             infinity_norm(block) * infinity_norm(inverse);
        const double smaller = std::min(residual(inverse, block), residual(block, inverse));
        // NaN counts as worst.
        worst = smaller <= bound ? std::max(worst, smaller / bound)
                                 : std::numeric_limits<double>::infinity();
        if (std::isinf(worst)) break;
    }
    return {"random_blocks, inverses", inverted.singular_blocks() == 0 && worst <= 1,
            format("%zu blocks, residual at most %.2g of its bound", starts.size() - 1, worst)};
}

TestItem guarded(const char* name, const std::function<TestItem()>& test) {
    try {
        return test();
    } catch (const std::exception& error) {
        return {name, false, error.what()};
    }
}

}  // namespace

std::vector<TestItem> self_test(const Context& context) {
    return {guarded("solve", [&] { return test_solve(context); }),
            guarded("invert", [&] { return test_inversion(context); })};
}

}  // namespace tessera::cli
