#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "harness/result_file.hpp"

namespace tessera::bench {

namespace {

constexpr double target = 1e-9;

/// u || |A| |x| || / ||b||: the relative residual that rounding errors of the elements of x may
/// cause; no x of this precision has a smaller one in general.
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

/// The first cycle after which the recursive residual meets the target; null: none.
Json recursive_iterations(const SolveReport& report) {
    const auto met = std::ranges::find_if(report.residuals, [](double r) { return r <= target; });
    if (met == report.residuals.end()) return nullptr;
    return met - report.residuals.begin();
}

/// A matrix in host memory and for a Context, and one preconditioner.
struct Case {
    const CsrView<double>& host;
    const CsrView<double>& matrix;
    const Preconditioner<double>& preconditioner;
};

std::string preconditioner_text(int bound, const std::string& precision) {
    if (bound == 1) return "jacobi,singular=identity";
    const std::string text = "block_jacobi:" + std::to_string(bound) + ",singular=identity";
    return precision == "working" ? text : text + ",precision=" + precision;
}

/// One entry of Table 1 of the block-Jacobi paper: IDR(4), x0 = 0, b uniform in [0, 1), relative
/// residual 1e-9; cycles of five products. Completes `line`, which has side and seed.
void solve_entry(Json& line, const Context& context, const Case& given, const StudyOptions& study) {
    const CsrView<double>& a = given.matrix;
    Buffer<double> b(context, a.rows), x(context, a.rows);
    fill_uniform(context, 1, b.view());
    fill(context, 0.0, x.view());
    SolveOptions options;
    options.rtol = target;
    options.max_iterations = study.max_iterations;
    options.stagnation_window = 0;
    options.max_seconds = study.max_seconds;
    options.left_preconditioning = line["side"] == "left";
    options.check_interval = 16;
    const Spec solver = Spec(study.solver + ",seed=" + line["seed"].dump());
    const SolveReport report =
        solve<double>(context, solver, CsrOperator<double>(context, a), &given.preconditioner,
                      std::as_const(b).view(), x.view(), options);
    line["status"] = to_string(report.status);
    line["iterations"] = report.iterations;
    line["recursive_iterations"] = recursive_iterations(report);
    line["true_relative_residual"] = report.true_relative_residual;
    line["attainable_accuracy"] =
        attainable_accuracy(given.host, copy_to_host(context, x), copy_to_host(context, b));
    line["operator_applications"] = report.operator_applications;
    line["restarts"] = report.restarts;
    line["seconds"] = report.seconds;
}

/// The row of this measurement in an earlier result, or nullptr.
const Json* find_row(const Json& rows, const Json& key) {
    for (const Json& row : rows) {
        const auto same = [&](const auto& item) {
            return row.contains(item.key()) && row[item.key()] == item.value();
        };
        bool all = true;
        for (const auto& item : key.items()) all = all && same(item);
        if (all) return &row;
    }
    return nullptr;
}

/// Adds the entries of one preconditioner that are missing in `rows`.
void add_entries(Json& rows, const Context& context, const NamedMatrix& named,
                 const CsrView<double>& matrix, const Json& key, const StudyOptions& options) {
    const CsrView<double> host = named.matrix.view();
    std::unique_ptr<Preconditioner<double>> preconditioner;
    Json setup_results;
    for (const std::string& side : options.sides) {
        for (int seed = 1; seed <= options.seeds; ++seed) {
            Json line = key;
            line["side"] = side;
            line["seed"] = seed;
            if (const Json* row = find_row(rows, line)) {
                line = *row;
            } else {
                if (preconditioner == nullptr) {
                    const Spec spec = Spec(preconditioner_text(key["bound"], key["precision"]));
                    // The second setup finds the allocations of the first one in the pool.
                    const Timing setup = measure(
                        context, [&] { make_preconditioner<double>(context, spec, matrix); }, 0);
                    preconditioner = make_preconditioner<double>(context, spec, matrix);
                    setup_results["setup_milliseconds"] = setup.milliseconds;
                    setup_results["singular_blocks"] = preconditioner->singular_blocks();
                }
                line.update(setup_results);
                solve_entry(line, context, {host, matrix, *preconditioner}, options);
                line["commit"] = commit();
                std::fprintf(stderr, "%s\n", json_text(line).c_str());
                rows.push_back(line);
            }
            // An entry that does not converge is not repeated with other seeds.
            if (seed == 1 &&
                (line["status"] == "max_iterations" || line["status"] == "max_seconds"))
                break;
        }
    }
}

}  // namespace

Json study(const Context& context, const Context& cpu, const std::string& folder,
           const std::vector<std::string>& cases, const StudyOptions& options, const Json& before,
           const ResultFile& file) {
    Json result = document(context, "table1");
    result["solver"] = options.solver;
    result["rows"] = rows_of_earlier_run(before, result);
    for (const std::string& name : cases) {
        const NamedMatrix named = load(cpu, name, folder);
        const CsrMatrix<double> matrix = copy_to(context, named.matrix.view());
        for (const int bound : options.bounds) {
            for (const std::string& precision : options.precisions) {
                if (bound == 1 && precision != "working") continue;
                const Json key = {{"matrix", name},
                                  {"rows", named.matrix.view().rows},
                                  {"nonzeros", named.matrix.view().nonzeros},
                                  {"bound", bound},
                                  {"precision", precision}};
                add_entries(result["rows"], context, named, matrix.view(), key, options);
            }
        }
        file.save(result);
    }
    return result;
}

}  // namespace tessera::bench
