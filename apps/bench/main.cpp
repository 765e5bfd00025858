#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

#include "bench.hpp"

int main(int argc, char** argv) {
    using namespace tessera;
    CLI::App app{"Benchmarks of Tessera; JSON of schema tessera-bench/1", "tessera-bench"};
    app.require_subcommand(1);
    std::string device = "auto", json = "-", folder;
    int threads = 0;
    bench::StudyOptions options;
    std::vector<std::string> matrices;
    std::vector<int> bounds;
    const auto common = [&](CLI::App* sub) {
        sub->add_option("matrices", matrices, "Files of --folder, or generator texts")->required();
        sub->add_option("--device", device, "auto, cpu, cuda[:k]");
        sub->add_option("--threads", threads, "Threads of the CPU");
        sub->add_option("--folder", folder, "Where the matrix files are");
        sub->add_option("--json", json, "Result file, or - for stdout");
        return sub;
    };
    CLI::App* jacobi = common(app.add_subcommand("block_jacobi", "Find blocks, setup, apply"));
    jacobi->add_option("--bounds", bounds, "Block size bounds");
    CLI::App* spmv = common(app.add_subcommand("spmv", "CSR products, every number of lanes"));
    CLI::App* study = common(app.add_subcommand("table1", "IDR(4) cycles over block sizes"));
    study->add_option("--bounds", bounds, "Block size bounds; 1 is scalar Jacobi");
    study->add_option("--solver", options.solver, "idr[:s][,angle=,smoothing]");
    study->add_option("--seeds", options.seeds, "Shadow seeds an entry");
    study->add_option("--max-iterations", options.max_iterations, "Cycles at most");
    CLI11_PARSE(app, argc, argv);
    if (bounds.empty()) {
        bounds = study->parsed() ? std::vector<int>{1, 8, 12, 16, 24, 32}
                                 : std::vector<int>{4, 8, 12, 16, 20, 24, 28, 32};
    }
    try {
        options.bounds = bounds;
        const Context cpu = Context::cpu(threads);
        const Context context = Context::from_name(device, threads);
        const bench::Json result =
            jacobi->parsed() ? bench::block_jacobi(context, cpu, folder, matrices, bounds)
            : spmv->parsed() ? bench::spmv(context, cpu, folder, matrices)
                             : bench::study(context, cpu, folder, matrices, options);
        if (json == "-") {
            std::cout << result.dump(1) << "\n";
        } else {
            std::ofstream file(json);
            file << result.dump(1) << "\n";
            if (!file) throw Error("cannot write " + json);
        }
    } catch (const std::exception& error) {
        std::cerr << "tessera-bench: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
