#include <cstdio>

#include "bench.hpp"

namespace tessera::bench {

namespace {

/// One entry of Table 1 of the block-Jacobi paper: IDR(4), x0 = 0, b uniform in [0, 1), relative
/// residual 1e-9; cycles of five products.
Json solve_entry(const Context& context, const CsrView<double>& a, int bound, Side side, int seed,
                 Offset max_iterations) {
    Json line = {{"bound", bound}, {"side", side == Side::left ? "left" : "right"}, {"seed", seed}};
    const std::string text = bound == 1
                                 ? "jacobi,singular=identity"
                                 : "block_jacobi:" + std::to_string(bound) + ",singular=identity";
    const auto preconditioner = make_preconditioner<double>(context, Spec::parse(text), a);
    Buffer<double> b(context, a.rows), x(context, a.rows);
    fill_uniform(context, 1, b.view());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = 1e-9;
    options.max_iterations = max_iterations;
    options.stagnation_window = 0;
    options.side = side;
    options.check_interval = 16;
    IdrOptions idr_options;
    idr_options.seed = std::uint64_t(seed);
    const CsrOperator<double> matrix(context, a);
    const SolveReport report = idr<double>(context, matrix, preconditioner.get(),
                                           std::as_const(b).view(), x.view(), idr_options, options);
    line["status"] = to_string(report.status);
    line["iterations"] = report.iterations;
    line["true_relative_residual"] = report.true_relative_residual;
    line["singular_blocks"] = preconditioner->singular_blocks();
    line["seconds"] = report.seconds;
    return line;
}

}  // namespace

Json study(const Context& context, const Context& cpu, const std::string& folder,
           const std::vector<std::string>& cases, const std::vector<int>& bounds, int seeds,
           Offset max_iterations) {
    Json result = document(context, "table1");
    for (const std::string& name : cases) {
        const NamedMatrix named = load(cpu, name, folder);
        const CsrMatrix<double> matrix = copy_to(context, named.matrix.view());
        for (const int bound : bounds) {
            for (const Side side : {Side::right, Side::left}) {
                for (int seed = 1; seed <= seeds; ++seed) {
                    Json line =
                        solve_entry(context, matrix.view(), bound, side, seed, max_iterations);
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
