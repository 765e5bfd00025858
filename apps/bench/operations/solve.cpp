#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <optional>
#include <sstream>

#include "harness/bench.hpp"
#include "papers/refinement.hpp"
#include "peers/direct_peers.hpp"
#include "peers/spmv_peers.hpp"

namespace tessera::bench {

namespace {

/// One configuration to solve: "SOLVER PRECONDITIONER FORMAT".
struct Configuration {
    std::string solver, preconditioner, format;
};

Configuration parse_configuration(const std::string& text) {
    Configuration configuration;
    std::istringstream words(text);
    std::string more;
    if (!(words >> configuration.solver >> configuration.preconditioner >> configuration.format) ||
        words >> more) {
        throw InvalidArgument("a configuration to solve is 'SOLVER PRECONDITIONER FORMAT', not '" +
                              text + "'");
    }
    return configuration;
}

/// A polynomial uses the format of the products, as in `tessera solve`, unless it names its own.
void inherit_format(Configuration& configuration) {
    const Spec spec = Spec(configuration.preconditioner);
    const bool multiplies =
        std::ranges::none_of(std::array{"none", "jacobi", "block_jacobi", "block_ldlt", "amg"},
                             [&](const char* other) { return spec.name() == other; });
    if (!multiplies || !Spec(spec).word("format", "").empty()) return;
    if (configuration.format != "csr" && configuration.format != "cusparse_csr") {
        configuration.preconditioner += ",format=" + configuration.format;
    }
}

/// A matrix and a right-hand side in the memory of a Context.
struct LoadedSystem {
    std::string name;
    CsrMatrix<double> matrix;
    Buffer<double> right_hand_side;
    Shared<NodeCoordinates> coordinates;
    Index block = 1;  ///< Natural block size of the matrix.
};

LoadedSystem load_system(const Context& context, const Context& cpu, const std::string& name,
                         const std::string& folder) {
    LoadedSystem system;
    system.name = name;
    const NamedMatrix named = load(cpu, name, folder);
    system.matrix = copy_to(context, named.matrix.view());
    system.right_hand_side = copy_to_buffer(
        context, named.load.empty() ? std::vector<double>(std::size_t(named.matrix.rows()), 1.0)
                                    : named.load);
    system.coordinates = named.coordinates;
    system.block = format_statistics(context, system.matrix.view(), {}).block;
    return system;
}

double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Solves one system in one configuration.
class Solver {
  public:
    Solver(const Context& context, const LoadedSystem& system, const Configuration& configuration)
        : context_(context), system_(system), spec_(Spec(configuration.solver)) {
        const CsrView<double> a = system.matrix.view();
        const bool refines = spec_.name() == "refinement";
        if (!refines) time_preconditioner(configuration.preconditioner);
        // After the setups, which need most memory.
        const auto begin = std::chrono::steady_clock::now();
#if TESSERA_WITH_CUDA
        if (configuration.format == "cusparse_csr") product_ = cusparse_csr_operator(context, a);
#endif
        const FormatOptions format =
            product_ ? FormatOptions{} : parse_format(Spec(configuration.format));
        if (!product_) product_ = make_operator(context, a, format);
        context.synchronize();
        product_seconds_ = since(begin);
        if (refines) time_refinement(configuration.preconditioner, format);
    }

    /// Seconds of the preconditioner's setup, and of its update with the same values: on a GPU the
    /// fastest of three.
    double setup_seconds() const { return setup_seconds_; }
    double update_seconds() const { return update_seconds_; }
    /// Seconds of the conversion of the matrix for products.
    double product_seconds() const { return product_seconds_; }
    const Amg<double>* amg() const { return dynamic_cast<Amg<double>*>(preconditioner_.get()); }

    SolveReport operator()(const SolveOptions& options) {
        Buffer<double> x(context_, system_.matrix.rows());
        fill(context_, 0.0, x.view());
        const std::span<const double> b = system_.right_hand_side.view();
        if (refinement_) return refinement_->solve(b, x.view(), options);
        return tessera::solve<double>(context_, spec_, *product_, preconditioner_.get(), b,
                                      x.view(), options);
    }

  private:
    void time_refinement(const std::string& text, const FormatOptions& format) {
        const auto begin = std::chrono::steady_clock::now();
        refinement_.emplace(context_, system_.matrix.view(), *product_, *parse_preconditioner(text),
                            format);
        context_.synchronize();
        setup_seconds_ = since(begin);
        update_seconds_ = std::numeric_limits<double>::infinity();
    }

    /// Sets the preconditioner up and updates it, on a GPU three times each; keeps it and the
    /// shortest times.
    void time_preconditioner(const std::string& text) {
        const auto config = parse_preconditioner(Spec(text));
        setup_seconds_ = update_seconds_ = std::numeric_limits<double>::infinity();
        for (int k = 0; k < (context_.on_gpu() ? 3 : 1); ++k) {
            preconditioner_.reset();  // Its memory serves the next one.
            const auto begin = std::chrono::steady_clock::now();
            preconditioner_ =
                config->make(context_, system_.matrix.view(), {.coordinates = system_.coordinates});
            context_.synchronize();
            setup_seconds_ = std::min(setup_seconds_, since(begin));
        }
        if (!preconditioner_) return;
        for (int k = 0; k < (context_.on_gpu() ? 3 : 1); ++k) {
            const auto begin = std::chrono::steady_clock::now();
            preconditioner_->update(context_, system_.matrix.view());
            context_.synchronize();
            update_seconds_ = std::min(update_seconds_, since(begin));
        }
    }

    const Context& context_;
    const LoadedSystem& system_;
    Spec spec_;
    std::unique_ptr<Operator<double>> product_;
    std::unique_ptr<Preconditioner<double>> preconditioner_;
    std::optional<paper::Refinement> refinement_;  ///< The solver "refinement".
    double setup_seconds_ = 0, update_seconds_ = 0, product_seconds_ = 0;
};

Json measured_configuration(const Context& context, const LoadedSystem& system,
                            const std::string& text, const SolveBench& bench) {
    std::string text_with_block = text;
    for (auto at = text_with_block.find("{b}"); at != std::string::npos;
         at = text_with_block.find("{b}")) {
        text_with_block.replace(at, 3, std::to_string(system.block));
    }
    Configuration configuration = parse_configuration(text_with_block);
    inherit_format(configuration);
    Solver solver(context, system, configuration);
    SolveOptions options;
    options.rtol = bench.rtol;
    options.max_iterations = 50000;
    options.stagnation_window = 0;
    std::vector<double> seconds;
    SolveReport report;
    if (context.on_gpu()) {  // Loads the kernels.
        SolveOptions few = options;
        few.max_iterations = 20;
        solver(few);
    }
    for (int k = 0; k < bench.runs; ++k) {
        report = solver(options);
        seconds.push_back(report.seconds);
    }
    std::sort(seconds.begin(), seconds.end());
    Json row = {{"op", "solve"},
                {"matrix", system.name},
                {"rows", system.matrix.rows()},
                {"nonzeros", system.matrix.nonzeros()},
                {"solver", configuration.solver},
                {"preconditioner", configuration.preconditioner},
                {"format", configuration.format},
                {"rtol", bench.rtol},
                {"status", to_string(report.status)},
                {"iterations", report.iterations},
                {"operator_applications", report.operator_applications},
                {"recoveries", report.recoveries},
                {"true_relative_residual", report.true_relative_residual},
                {"setup_seconds", solver.setup_seconds()},
                {"product_seconds", solver.product_seconds()},
                {"peak_bytes", context.peak_memory_bytes()},
                {"seconds", seconds[seconds.size() / 2]},
                {"spread", (seconds.back() - seconds.front()) / seconds[seconds.size() / 2]}};
    if (std::isfinite(solver.update_seconds())) row["update_seconds"] = solver.update_seconds();
    if (solver.amg() != nullptr) {
        row["operator_complexity"] = solver.amg()->operator_complexity();
        row["levels"] = solver.amg()->levels().size();
    }
    return row;
}

/// A solve by exact factors of another library.
Json measured_peer(const Context& cpu, const LoadedSystem& system, const std::string& solver,
                   const SolveBench& bench) {
    const CsrMatrix<double> copied = copy_to_host(cpu, system.matrix.view());
    const CsrView<double> matrix = copied.view();
    const std::vector<double> b = copy_to_host(cpu, system.right_hand_side);
    std::vector<double> x;
    std::vector<DirectPeerResult> runs;
    for (int k = 0; k < bench.runs; ++k) {
        x = b;
        runs.push_back(solve_by_peer(solver, matrix, x));
    }
    std::ranges::sort(runs, {}, &DirectPeerResult::seconds);
    const DirectPeerResult& middle = runs[runs.size() / 2];
    double residual = 0, norm = 0;
    for (Index i = 0; i < matrix.rows; ++i) {
        double rest = b[std::size_t(i)];
        for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
            rest -= matrix.values[k] * x[std::size_t(matrix.column_indices[k])];
        }
        residual = std::hypot(residual, rest);
        norm = std::hypot(norm, b[std::size_t(i)]);
    }
    return {{"op", "solve"},
            {"matrix", system.name},
            {"rows", matrix.rows},
            {"nonzeros", matrix.nonzeros},
            {"solver", solver},
            {"status", middle.status},
            {"true_relative_residual", residual / norm},
            {"setup_seconds", middle.setup_seconds},
            {"seconds", middle.solve_seconds}};
}

}  // namespace

Json solves(const Context& context, const Context& cpu, const std::string& folder,
            const std::vector<std::string>& matrices, const SolveBench& bench) {
    Json result = document(context, "solve");
    for (const std::string& name : matrices) {
        const LoadedSystem system = load_system(context, cpu, name, folder);
        for (const std::string& configuration : bench.configurations) {
            const Json line = is_direct_peer(configuration)
                                  ? measured_peer(cpu, system, configuration, bench)
                                  : measured_configuration(context, system, configuration, bench);
            std::fprintf(stderr, "%s\n", json_text(line).c_str());
            result["rows"].push_back(line);
        }
    }
    return result;
}

}  // namespace tessera::bench
