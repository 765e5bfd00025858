#include <CLI/CLI.hpp>
#include <iostream>

#include "operations/batched.hpp"
#include "operations/block_ldlt.hpp"
#include "operations/factor.hpp"

namespace {

void add_batched(CLI::App& app, tessera::bench::BatchedOptions& to, std::string& sizes) {
    CLI::App* sub =
        app.add_subcommand("batched", "Inversion, solves, condition, norm, multiplication");
    const auto add_list_option = [&](const char* name, std::vector<std::string>& words,
                                     const char* help, const std::vector<std::string>& known) {
        sub->add_option(name, words, help)->delimiter(',')->check(CLI::IsMember(known));
    };
    add_list_option(
        "--op", to.ops, "Operations",
        {"invert", "solve", "condition", "norm", "norm_one", "multiply", "accuracy", "registers"});
    add_list_option("--type", to.types, "Types of the values", {"f32", "f64"});
    add_list_option("--layout", to.layouts, "Memory layouts of the batch",
                    {"uniform", "strided", "variable", "pointers"});
    sub->add_option("--sizes", sizes, "Matrix sizes, such as 4,8,16-32; the range for variable");
    sub->add_option("--batch", to.batches, "Numbers of matrices")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 27));
    sub->add_option("--seconds", to.seconds, "Minimum time per row in seconds");
    sub->add_flag("--peers", to.peers, "Also measure the papers' kernels, cuBLAS, OpenBLAS, Eigen");
}

void add_factor(CLI::App& app, tessera::bench::FactorBench& to, std::string& sizes) {
    CLI::App* sub = app.add_subcommand("factor", "Batched LDU, LL^T and LDL^T");
    const auto add_list_option = [&](const char* name, std::vector<std::string>& words,
                                     const char* help, const std::vector<std::string>& known) {
        sub->add_option(name, words, help)->delimiter(',')->check(CLI::IsMember(known));
    };
    add_list_option("--op", to.ops, "Factorisations", {"ldu", "llt", "ldlt"});
    add_list_option("--type", to.types, "Types of the values", {"f32", "f64"});
    add_list_option("--workspace", to.workspaces, "Workspace of the factorisation on a GPU",
                    {"fastest", "registers", "shared_memory"});
    sub->add_option("--sizes", sizes, "Matrix sizes, such as 4,8,16-32");
    sub->add_option("--batch", to.batches, "Numbers of matrices")
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 27));
    sub->add_option("--solve", to.solves,
                    "Also measure solves with these numbers of right-hand sides")
        ->delimiter(',')
        ->check(CLI::Range(1, 1000));
    sub->add_option("--seconds", to.seconds, "Minimum time per row in seconds");
    sub->add_flag("--peers", to.peers, "Also measure cuBLAS, cuSOLVER, OpenBLAS");
}

CLI::App* add_block_ldlt(CLI::App& app, tessera::bench::BlockLdltBench& to) {
    CLI::App* sub = app.add_subcommand("block_ldlt", "Indefinite systems");
    sub->add_option(
        "--way", to.configurations,
        "Preconditioner such as block_ldlt:8,fill={fill} ({fill}: 0, 1, ... until it converges), "
        "block_jacobi:32, none, or mumps, a direct solver");
    sub->add_option("--measure", to.what, "Measurements of each configuration")
        ->delimiter(',')
        ->check(CLI::IsMember({"setup", "apply", "solve", "reconstruction"}));
    sub->add_option("--dominance", to.dominance,
                    "Block diagonal dominance for blocks of these rows")
        ->delimiter(',')
        ->check(CLI::Range(1, 1024));
    sub->add_option("--max-fill", to.max_fill, "Maximum of {fill}")->check(CLI::Range(0, 1000));
    sub->add_option("--solver", to.solver, "Solver, as in tessera solve");
    sub->add_option("--rtol", to.rtol, "Relative residual");
    sub->add_option("--max-iterations", to.max_iterations,
                    "Maximum number of iterations of a solve");
    sub->add_option("--seconds", to.seconds, "Minimum time of each measurement");
    sub->add_option(
           "--limit", to.limit,
           "Time limit per row in seconds; then SIGALRM ends the program, and with --resume "
           "another run continues after it; 0: none")
        ->check(CLI::Range(0, 86400));
    sub->callback([&to] {
        if (to.configurations.empty() && to.dominance.empty())
            throw CLI::RequiredError("--way or --dominance");
    });
    return sub;
}

}  // namespace

int main(int argc, char** argv) {
    using namespace tessera;
    bench::handle_signals();
    CLI::App app{"Benchmarks of Tessera; JSON of schema tessera-bench/1", "tessera-bench"};
    app.require_subcommand(1);
    std::string device = "auto", json = "-", folder;
    int threads = 0;
    bool resume = false;
    bench::StudyOptions options;
    std::vector<std::string> matrices;
    std::vector<int> bounds;
    const auto common = [&](CLI::App* sub) {
        sub->add_option("--device", device, "auto, cpu, cuda[:k]");
        sub->add_option("--threads", threads, "Number of CPU threads");
        sub->add_option("--json", json, "Result file, or - for stdout");
        return sub;
    };
    const auto on_matrices = [&](CLI::App* sub) {
        sub->add_option("matrices", matrices, "Files of --folder, or generated problems")
            ->required();
        sub->add_option("--folder", folder, "Folder of the matrix files");
        return common(sub);
    };
    bench::BatchedOptions batched_options;
    std::string sizes;
    add_batched(app, batched_options, sizes);
    CLI::App* batched = common(app.get_subcommand("batched"));
    bench::FactorBench factor_options;
    std::string factor_sizes;
    add_factor(app, factor_options, factor_sizes);
    CLI::App* factor = common(app.get_subcommand("factor"));
    CLI::App* jacobi =
        on_matrices(app.add_subcommand("block_jacobi", "Finding blocks, setup, application"));
    bench::BlockJacobiBench jacobi_options;
    const auto add_list_option = [&](const char* name, auto& to, const char* help) {
        jacobi->add_option(name, to, help)->delimiter(',');
    };
    add_list_option("--bounds", bounds, "Block size bounds");
    add_list_option("--type", jacobi_options.types, "Types of the values: f64, f32");
    add_list_option("--precisions", jacobi_options.precisions,
                    "Storage: working, adaptive, f64, f32, bf16, f16");
    add_list_option("--extractions", jacobi_options.extractions,
                    "automatic (or shared_multiple); of the paper: cached, shared_full, shared");
    add_list_option("--vectors", jacobi_options.vectors, "Numbers of vectors applied to at once");
    jacobi->add_flag("--uniform", jacobi_options.uniform,
                     "All blocks have as many rows as the bound");
    jacobi->add_flag("--sparse", jacobi_options.as_sparse_matrix,
                     "Also apply the inverses as a CSR matrix");
    jacobi->add_flag("--paper", jacobi_options.paper_rows,
                     "Also measure the paper's inversion, and a pass over A");
    jacobi->add_option("--seconds", jacobi_options.seconds, "Minimum time per row in seconds");
    CLI::App* spmv = on_matrices(app.add_subcommand("spmv", "Products in each format"));
    bench::SpmvBench spmv_options;
    spmv->add_option("--format", spmv_options.formats,
                     "Formats such as sbell:{b},slice=32; {b}: natural block size");
    spmv->add_option("--type", spmv_options.types, "Types of the vectors: f64, f32")
        ->delimiter(',');
    spmv->add_flag("--peers", spmv_options.peers, "Also measure cuSPARSE");
    spmv->add_flag("--conversions", spmv_options.conversions,
                   "Also measure conversions from CSR and back");
    spmv->add_option("--seconds", spmv_options.seconds, "Minimum time per row in seconds");
    bench::BlockLdltBench ldlt_options;
    CLI::App* solve = on_matrices(app.add_subcommand("solve", "Time to a true residual"));
    bench::SolveBench solve_options;
    solve
        ->add_option("--way", solve_options.configurations,
                     "'SOLVER PRECONDITIONER FORMAT'; {b}: natural block size; "
                     "format cusparse_csr: CSR product of cuSPARSE. Or exact factors of another "
                     "library on the CPU: klu, superlu")
        ->required();
    solve->add_option("--rtol", solve_options.rtol, "Relative residual");
    solve->add_option("--runs", solve_options.runs, "Number of timed runs")
        ->check(CLI::Range(1, 100));
    CLI::App* ldlt = on_matrices(add_block_ldlt(app, ldlt_options));
    CLI::App* study = on_matrices(app.add_subcommand("table1", "IDR(4) cycles over block sizes"));
    study->add_option("--bounds", bounds, "Block size bounds; 1 is scalar Jacobi")->delimiter(',');
    study->add_option("--solver", options.solver, "Solver: idr[:s][,angle=,smoothing]");
    study->add_option("--seeds", options.seeds, "Number of shadow space seeds per entry");
    study->add_option("--max-iterations", options.max_iterations, "Maximum number of cycles");
    study->add_option("--max-seconds", options.max_seconds, "Time limit per solve in seconds");
    study
        ->add_option("--precisions", options.precisions,
                     "Storage: working, adaptive, f32, bf16, f16")
        ->delimiter(',');
    study->add_option("--sides", options.sides, "Sides of the preconditioner: right, left")
        ->delimiter(',');
    for (CLI::App* sub : {study, ldlt}) {
        sub->add_flag("--resume", resume, "Measure only rows missing in the file of --json");
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success& help) {
        const int code = app.exit(help);
        if (std::cout.flush()) return code;
        std::cerr << "tessera-bench: stdout cannot be written\n";
        return 1;
    } catch (const CLI::ParseError& error) {
        const auto parsed = app.get_subcommands();
        const auto words = app.remaining();
        std::string what = error.what();
        if (parsed.empty() && !words.empty() && !words.front().starts_with("-")) {
            std::vector<std::string> names;
            for (const CLI::App* sub : app.get_subcommands(nullptr)) {
                names.push_back(sub->get_name());
            }
            what = unknown_word_message("benchmark", words.front(), names);
        }
        std::cerr << "tessera-bench: " << io::printable(what) << " (see tessera-bench "
                  << (parsed.empty() ? "" : parsed.front()->get_name() + " ") << "--help)\n";
        return 2;
    }
    if (resume && json == "-") {
        std::cerr << "tessera-bench: --resume continues a result file; name it with --json FILE\n";
        return 1;
    }
    if (bounds.empty()) {
        bounds = study->parsed() ? std::vector<int>{1, 8, 12, 16, 24, 32}
                                 : std::vector<int>{4, 8, 12, 16, 20, 24, 28, 32};
    }
    try {
        options.bounds = bounds;
        jacobi_options.bounds = bounds;
        if (!sizes.empty()) batched_options.sizes = bench::parse_sizes(sizes);
        if (!factor_sizes.empty()) factor_options.sizes = bench::parse_sizes(factor_sizes);
        const Context cpu = Context::cpu(threads);
        const Context context = Context::from_name(device, threads);
        const bench::ResultFile file(json);
        const bench::Json before = resume ? file.read() : bench::Json();
        const bench::Json result =
            batched->parsed()  ? bench::batched(context, batched_options)
            : factor->parsed() ? bench::factor(context, factor_options)
            : jacobi->parsed() ? bench::block_jacobi(context, cpu, folder, matrices, jacobi_options)
            : spmv->parsed()   ? bench::spmv(context, cpu, folder, matrices, spmv_options)
            : ldlt->parsed()
                ? bench::block_ldlt(context, cpu, folder, matrices, ldlt_options, before, file)
            : solve->parsed() ? bench::solves(context, cpu, folder, matrices, solve_options)
                              : bench::study(context, cpu, folder, matrices, options, before, file);
        file.print(result);
        file.save(result);
        if (result.value("failed_checks", 0) > 0) return 1;
    } catch (const std::exception& error) {
        std::cerr << "tessera-bench: " << io::printable(error.what()) << "\n";
        return 1;
    }
    return 0;
}
