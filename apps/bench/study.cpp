#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "bench.hpp"

namespace tessera::bench {

namespace {

constexpr double target = 1e-9;

/// u || |A| |x| || / ||b||: what rounding the elements of x alone may do to the relative residual.
/// A target below it is out of reach of an x in this precision.
double attainable_accuracy(const CsrView<double>& a, const std::vector<double>& x,
                           const std::vector<double>& b) {
    double sum = 0, b_square = 0;
    for (Index i = 0; i < a.rows; ++i) {
        double row = 0;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            row += std::abs(a.values[k] * x[std::size_t(a.column_indices[k])]);
        }
        sum += row * row;
        b_square += b[std::size_t(i)] * b[std::size_t(i)];
    }
    return std::numeric_limits<double>::epsilon() / 2 * std::sqrt(sum / b_square);
}

/// The first cycle after which the recursive residual met the target; null: none.
Json recursive_iterations(const SolveReport& report) {
    const auto met = std::ranges::find_if(report.residuals, [](double r) { return r <= target; });
    if (met == report.residuals.end()) return nullptr;
    return met - report.residuals.begin();
}

/// One entry of Table 1 of the block-Jacobi paper: IDR(4), x0 = 0, b uniform in [0, 1), relative
/// residual 1e-9; cycles of five products. `matrix` is in host memory, `a` the same for `context`.
Json solve_entry(const Context& context, const CsrView<double>& matrix, const CsrView<double>& a,
                 int bound, Side side, int seed, const StudyOptions& study) {
    Json line = {{"bound", bound}, {"side", side == Side::left ? "left" : "right"}, {"seed", seed}};
    const std::string text = bound == 1
                                 ? "jacobi,singular=identity"
                                 : "block_jacobi:" + std::to_string(bound) + ",singular=identity";
    const auto preconditioner = make_preconditioner<double>(context, Spec::parse(text), a);
    Buffer<double> b(context, a.rows), x(context, a.rows);
    fill_uniform(context, 1, b.view());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = target;
    options.max_iterations = study.max_iterations;
    options.stagnation_window = 0;
    options.side = side;
    options.check_interval = 16;
    const Spec solver = Spec::parse(study.solver + ",seed=" + std::to_string(seed));
    const SolveReport report =
        solve<double>(context, solver, CsrOperator<double>(context, a), preconditioner.get(),
                      std::as_const(b).view(), x.view(), options);
    line["status"] = to_string(report.status);
    line["iterations"] = report.iterations;
    line["recursive_iterations"] = recursive_iterations(report);
    line["true_relative_residual"] = report.true_relative_residual;
    line["attainable_accuracy"] =
        attainable_accuracy(matrix, copy_to_host(context, x), copy_to_host(context, b));
    line["operator_applications"] = report.operator_applications;
    line["restarts"] = report.restarts;
    line["singular_blocks"] = preconditioner->singular_blocks();
    line["seconds"] = report.seconds;
    return line;
}

}  // namespace

Json study(const Context& context, const Context& cpu, const std::string& folder,
           const std::vector<std::string>& cases, const StudyOptions& options) {
    Json result = document(context, "table1");
    result["solver"] = options.solver;
    for (const std::string& name : cases) {
        const NamedMatrix named = load(cpu, name, folder);
        const CsrView<double> host = named.matrix.view();
        const CsrMatrix<double> matrix = copy_to(context, host);
        for (const int bound : options.bounds) {
            for (const Side side : {Side::right, Side::left}) {
                for (int seed = 1; seed <= options.seeds; ++seed) {
                    Json line =
                        solve_entry(context, host, matrix.view(), bound, side, seed, options);
                    line["matrix"] = name;
                    std::fprintf(stderr, "%s\n", line.dump().c_str());
                    result["rows"].push_back(line);
                    // An entry that does not converge once is not worth the other seeds.
                    if (seed == 1 && line["status"] == "max_iterations") break;
                }
            }
        }
    }
    return result;
}

}  // namespace tessera::bench
