#include "operations/block_ldlt.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

namespace tessera::bench {

namespace {

/// A system in the memory of a Context and on the host.
struct LinearSystem {
    std::string name;
    HostSystem host;
    CsrMatrix<double> matrix;
    Buffer<double> right_hand_side;
    std::unique_ptr<Operator<double>> product;

    /// `named` must outlive it.
    LinearSystem(const Context& context, const Context& cpu, const NamedMatrix& named)
        : name(named.name), host{named.matrix.view(), {}} {
        const CsrView<double> a = host.matrix;
        Buffer<double> x(cpu, a.rows), b(cpu, a.rows);
        fill_uniform(cpu, 1, x.view());
        CsrOperator<double>(cpu, a).apply(cpu, std::as_const(x).view(), b.view());
        host.right_hand_side.assign(b.data(), b.data() + a.rows);
        matrix = copy_to(context, a);
        right_hand_side = copy_to_buffer(context, host.right_hand_side);
        product = make_operator(context, std::as_const(matrix).view(), FormatOptions{});
    }
};

bool is_requested(const BlockLdltBench& bench, const char* what) {
    return std::ranges::find(bench.what, what) != bench.what.end();
}

double seconds_of(const Context& context, const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    context.synchronize();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    return elapsed.count();
}

void add_report(Json& row, const BlockLdlt<double>& ldlt) {
    const BlockLdltReport& report = ldlt.report();
    const BlockLdltOptions& options = ldlt.options();
    row["block"] = options.block;
    row["fill"] = options.fill;
    row["method"] = to_string(options.method);
    row["ordering"] = to_string(report.ordering);
    row["levels"] = report.levels;
    row["pairs"] = report.pairs;
    row["stored_blocks"] = report.stored_blocks;
    row["stored_share"] = report.stored_share;
    row["memory"] = report.bytes;
    row["stage"] = to_string(report.stage);
    row["sweeps"] = report.sweeps;
    row["best_sweep"] = report.best_sweep;
    row["restarts"] = report.restarts;
    row["perturbed"] = report.perturbed;
    row["delayed"] = report.delayed;
    row["estimated_error"] = Json::array();
    for (const double error : report.reconstruction)
        row["estimated_error"].push_back(finite(error));
    row["probe_products"] = report.probe_products;
    row["outcome"] = report.outcome;
    row["symbolic_seconds"] = report.symbolic_seconds;
}

/// Least memory traffic of an application: V twice or blocks once, F^-1 once, six vectors or two.
double bytes_of(const Preconditioner<double>& preconditioner) {
    const double n = preconditioner.rows();
    if (const auto* ldlt = dynamic_cast<const BlockLdlt<double>*>(&preconditioner)) {
        const BlockLdltReport& report = ldlt->report();
        if (report.stage == BlockLdltStage::none) return 16 * n;
        const double square = double(ldlt->options().block) * ldlt->options().block;
        return 8 * (square * double(2 * report.stored_blocks - report.block_rows) + 6 * n);
    }
    const auto* jacobi = dynamic_cast<const BlockJacobi<double>*>(&preconditioner);
    return (jacobi != nullptr ? double(jacobi->report().stored_bytes) : 0) + 16 * n;
}

/// Milliseconds of work that has run before; slow work is repeated only once.
double milliseconds_of(const Context& context, const std::function<void()>& work, double seconds) {
    const double once = seconds_of(context, work);
    return once > 0.05 ? 1e3 * std::min(once, seconds_of(context, work))
                       : measure(context, work, seconds).milliseconds;
}

void add_times(Json& row, const Context& context, const LinearSystem& system,
               Preconditioner<double>& preconditioner, const BlockLdltBench& bench) {
    const CsrView<double> a = std::as_const(system.matrix).view();
    if (is_requested(bench, "setup")) {
        const auto update = [&] { preconditioner.update(context, a); };
        row["numeric_milliseconds"] = milliseconds_of(context, update, bench.seconds);
    }
    if (!is_requested(bench, "apply")) return;
    Buffer<double> z(context, a.rows);
    const auto apply = [&] {
        preconditioner.apply(context, system.right_hand_side.view(), z.view());
    };
    const double milliseconds = milliseconds_of(context, apply, bench.seconds);
    const double bytes = bytes_of(preconditioner);
    row["apply_milliseconds"] = milliseconds;
    row["apply_bytes"] = bytes;
    row["fraction_of_copy"] = bytes / (1e-3 * milliseconds) / context.copy_bandwidth();
}

SolveReport run_solver(const Context& context, const LinearSystem& system,
                       const Preconditioner<double>* preconditioner, Buffer<double>& x,
                       const BlockLdltBench& bench, Offset most) {
    SolveOptions options;
    options.rtol = bench.rtol;
    options.max_iterations = most;
    options.stagnation_window = 0;
    fill(context, 0.0, x.view());
    return solve<double>(context, Spec(bench.solver), *system.product, preconditioner,
                         system.right_hand_side.view(), x.view(), options);
}

void add_solve(Json& row, const Context& context, const LinearSystem& system,
               const Preconditioner<double>* preconditioner, const BlockLdltBench& bench) {
    Buffer<double> x(context, system.matrix.rows());
    if (context.on_gpu()) run_solver(context, system, preconditioner, x, bench, 3);
    const SolveReport report =
        run_solver(context, system, preconditioner, x, bench, bench.max_iterations);
    row["status"] = to_string(report.status);
    row["iterations"] = report.iterations;
    row["products"] = report.operator_applications + row.value("probe_products", Offset(0));
    // The paper stops after four restarts of 25 steps.
    const std::size_t last = std::min<std::size_t>(100, report.residuals.size() - 1);
    row["residual_after_100"] = finite(report.residuals[last]);
    row["seconds"] = report.seconds;
    add_errors(row, system.host, copy_to_host(context, x));
}

/// The rows of a document, saved one by one. While it is measured, a row has the status "running";
/// the time limit changes that to "cut" and ends the program.
class Rows {
  public:
    Rows(Json& document, const ResultFile& file, int limit)
        : document_(document), rows_(document["rows"]), file_(file), limit_(limit) {}

    /// The row with all of `key`: from an earlier run, or completed by `measure` (no row, if that
    /// returns false).
    Json add(const Json& key, const std::function<bool(Json&)>& measure) {
        const std::size_t place = find(key);
        if (place < rows_.size() && is_done(rows_[place])) return rows_[place];
        Json row = key;
        row["limit"] = limit_;
        begin(place, row);
        row = key;
        const bool finished = measure(row);
        ResultFile::cancel_time_limit();
        if (finished) {
            rows_[place] = row;
            std::fprintf(stderr, "%s\n", json_text(row).c_str());
        } else {
            rows_.erase(place);
        }
        file_.save(document_);
        return row;
    }

  private:
    std::size_t find(const Json& key) const {
        std::size_t place = 0;
        const auto same = [&](const auto& item) {
            const Json& row = rows_[place];
            return row.contains(item.key()) && row[item.key()] == item.value();
        };
        while (place < rows_.size() && !std::ranges::all_of(key.items(), same)) ++place;
        return place;
    }

    /// False for a row that was only started, or that was ended by a shorter limit than this run's.
    bool is_done(const Json& row) const {
        const std::string status = row.value("status", "");
        if (status == "cut") return limit_ > 0 && row.value("limit", 0) >= limit_;
        return status != "running";
    }

    void begin(std::size_t place, Json row) {
        if (place == rows_.size()) rows_.push_back(nullptr);
        row["status"] = "running";
        rows_[place] = row;
        file_.save(document_);
        rows_[place]["status"] = "cut";
        file_.set_time_limit(limit_, document_);
    }

    Json& document_;
    Json& rows_;
    const ResultFile& file_;
    int limit_;
};

Json key_of(const LinearSystem& system, const std::string& configuration) {
    const CsrView<double>& a = system.host.matrix;
    return {{"op", "precondition"},
            {"matrix", system.name},
            {"rows", a.rows},
            {"nonzeros", a.nonzeros},
            {"preconditioner", configuration}};
}

/// Measures one preconditioner, or none, on a system. If its setup fails, the row has the message.
void measure_configuration(Json& row, const Context& context, const LinearSystem& system,
                           const std::string& configuration, const BlockLdltBench& bench) {
    const CsrView<double> a = std::as_const(system.matrix).view();
    std::unique_ptr<Preconditioner<double>> preconditioner;
    try {
        row["setup_seconds"] = seconds_of(context, [&] {
            preconditioner = make_preconditioner<double>(context, Spec(configuration), a);
        });
        const auto* ldlt = dynamic_cast<const BlockLdlt<double>*>(preconditioner.get());
        if (ldlt != nullptr) add_report(row, *ldlt);
        if (preconditioner != nullptr) add_times(row, context, system, *preconditioner, bench);
        if (ldlt != nullptr && is_requested(bench, "reconstruction")) {
            row["reconstruction"] =
                finite(reconstruction_error(system.host.matrix, ldlt->factor(context),
                                            ldlt->options().block, context.threads()));
        }
        if (is_requested(bench, "solve"))
            add_solve(row, context, system, preconditioner.get(), bench);
    } catch (const Error& error) {
        row["status"] = "error";
        row["message"] = error.what();
    }
}

Json add_configuration(Rows& rows, const Context& context, const LinearSystem& system,
                       const std::string& configuration, const BlockLdltBench& bench) {
    return rows.add(key_of(system, configuration), [&](Json& row) {
        if (configuration == "mumps") return add_mumps(row, system.host);
        measure_configuration(row, context, system, configuration, bench);
        return true;
    });
}

/// The configuration with fill 0, 1, 2, ... until one converges, its probes counted.
void add_fills(Rows& rows, const Context& context, const LinearSystem& system,
               const std::string& configuration, const BlockLdltBench& bench) {
    const std::string mark = "{fill}";
    const auto position = configuration.find(mark);
    for (int level = 0; level <= bench.max_fill; ++level) {
        std::string with = configuration;
        with.replace(position, mark.size(), std::to_string(level));
        const Json row = add_configuration(rows, context, system, with, bench);
        const std::string status = row.value("status", "");
        const bool reached =
            status == "converged" && row.value("products", Offset(0)) <= bench.max_iterations;
        if (reached || status == "error" || status == "cut") return;
        if (row.value("stored_share", 0.0) > bench.largest_share) return;
    }
}

void add_dominance(Rows& rows, const Context& cpu, const NamedMatrix& named, Index k) {
    const CsrView<double> a = named.matrix.view();
    const auto add = [&](const char* state, const std::function<Json()>& measure) {
        const Json key = {{"op", "dominance"},
                          {"matrix", named.name},
                          {"rows", a.rows},
                          {"block", k},
                          {"state", state}};
        rows.add(key, [&](Json& row) {
            row.update(measure());
            return true;
        });
    };
    add("natural", [&] { return dominance(a, k); });
    add("matched", [&] { return matched_dominance(cpu, a, k); });
}

/// Loads kernels and grows the memory pool before the measurements.
void warm_up(const Context& context, const Context& cpu, const BlockLdltBench& bench) {
    const NamedMatrix named = load(cpu, "kkt:200", "");
    const LinearSystem small(context, cpu, named);
    for (std::string configuration : bench.configurations) {
        if (configuration == "mumps") continue;
        if (const auto at = configuration.find("{fill}"); at != std::string::npos)
            configuration.replace(at, 6, "0");
        BlockLdltBench quick = bench;
        quick.max_iterations = 5;
        quick.seconds = 0;
        Json row;
        measure_configuration(row, context, small, configuration, quick);
    }
}

}  // namespace

Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(nullptr); }

void add_errors(Json& row, const HostSystem& system, const std::vector<double>& x) {
    const CsrView<double>& a = system.matrix;
    double square = 0, b_square = 0, largest = 0, a_norm = 0, x_norm = 0, b_norm = 0;
    for (Index i = 0; i < a.rows; ++i) {
        const double b = system.right_hand_side[std::size_t(i)];
        long double rest = b;
        double sum = 0;
        for (Offset e = a.row_offsets[i]; e < a.row_offsets[i + 1]; ++e) {
            rest -= (long double)a.values[e] * x[std::size_t(a.column_indices[e])];
            sum += std::abs(a.values[e]);
        }
        square += double(rest * rest);
        b_square += b * b;
        largest = std::max(largest, double(std::abs(rest)));
        a_norm = std::max(a_norm, sum);
        x_norm = std::max(x_norm, std::abs(x[std::size_t(i)]));
        b_norm = std::max(b_norm, std::abs(b));
    }
    const double residual = std::sqrt(square / b_square);
    row["true_relative_residual"] = finite(residual);
    row["backward_error"] =
        std::isfinite(residual) ? Json(largest / (a_norm * x_norm + b_norm)) : Json(nullptr);
}

Json block_ldlt(const Context& context, const Context& cpu, const std::string& folder,
                const std::vector<std::string>& matrices, const BlockLdltBench& bench,
                const Json& before, const ResultFile& file) {
    Json result = document(context, "block_ldlt");
    result["solver"] = bench.solver;
    result["rtol"] = bench.rtol;
    result["max_iterations"] = bench.max_iterations;
    result["measure"] = std::set<std::string>(bench.what.begin(), bench.what.end());
    result["rows"] = rows_of_earlier_run(before, result);
    Rows rows(result, file, bench.limit);
    warm_up(context, cpu, bench);
    for (const std::string& name : matrices) {
        const NamedMatrix named = load(cpu, name, folder);
        for (const int k : bench.dominance) add_dominance(rows, cpu, named, Index(k));
        const LinearSystem system(context, cpu, named);
        for (const std::string& configuration : bench.configurations) {
            if (configuration.find("{fill}") != std::string::npos) {
                add_fills(rows, context, system, configuration, bench);
            } else {
                add_configuration(rows, context, system, configuration, bench);
            }
        }
    }
    return result;
}

}  // namespace tessera::bench
