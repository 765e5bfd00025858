#include <algorithm>

#include "support/command_line.hpp"

namespace tessera::test {
namespace {

class cli : public CommandLineTest {
  protected:
    /// The command that `info` ends with, without its first word.
    std::string suggested(const std::string& matrix) const {
        const Outcome outcome = run({"info", matrix});
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const std::string mark = "\nTry: tessera";
        const std::size_t at = outcome.out.find(mark);
        return at == std::string::npos ? "" : outcome.out.substr(at + mark.size());
    }
};

TEST_F(cli, no_argument_gives_twelve_lines_with_three_examples) {
    const Outcome outcome = run({});
    EXPECT_EQ(outcome.code, 0);
    EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 12);
    // Each example has a line of its own.
    std::istringstream lines(outcome.out);
    int examples = 0;
    for (std::string line; std::getline(lines, line);) {
        examples += line.starts_with("  tessera ") && line.find("   ", 2) == std::string::npos &&
                    (line.find(':') != std::string::npos || line.find(".mtx") != std::string::npos);
    }
    EXPECT_EQ(examples, 3) << outcome.out;
}

TEST_F(cli, help_and_version) {
    EXPECT_EQ(run({"--help"}).code, 0);
    const Outcome help = run({"solve", "--help"});
    EXPECT_EQ(help.code, 0);
    for (const char* option : {"--solver",
                               "--precond",
                               "--rtol",
                               "--atol",
                               "--max-iterations",
                               "--max-seconds",
                               "--stagnation-window",
                               "--side",
                               "--device",
                               "--threads",
                               "--precision",
                               "--rhs",
                               "--x0",
                               "--seed",
                               "--json",
                               "--out",
                               "--monitor",
                               "--quiet",
                               "--allow-singular",
                               "--allow-empty-rows",
                               "--fix",
                               "--load",
                               "--traction",
                               "--body-force",
                               "--young",
                               "--poisson",
                               "--thickness",
                               "--plane",
                               "--orthotropic",
                               "--axes",
                               "--vtu"}) {
        expect_contains(help.out, option);
    }
    for (const std::string& name : problems::generator_names()) {
        expect_contains(help.out, name + ":");
        expect_contains(run({"info", "--help"}).out, name + ":");
    }
    for (const std::string& name : solver_names()) expect_contains(help.out, name);
    for (const char* key : {"smoothing", "angle=", "seed=", "strength=", "sizes=", "blocks=",
                            "element=", "jitter=", "grading=", "length="}) {
        expect_contains(help.out, key);
    }
    EXPECT_EQ(run({"--version"}).out,
              std::string("tessera ") + version() + " (" + commit() + ")\n");
}

TEST_F(cli, misspelt_words_name_the_nearest) {
    write("bcsstk01.mtx", "");
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"slove", "poisson2d:4"}, "'solve'"},
        {{"poisson2d:4"}, "tessera solve poisson2d:4"},
        {{"solve", "pisson2d:4"}, "'poisson2d:4'"},
        {{"solve", "bcstk01.mtx"}, "'bcsstk01.mtx'"},
        {{"solve", "poisson2d:4", "--solvr", "cg"}, "'--solver'"},
        {{"solve", "poisson2d:4", "--max-iteration=3"}, "'--max-iterations'"},
        {{"info", "poisson2d:4", "--jsn", "-"}, "'--json'"},
        {{"solve", "poisson2d:4", "--solver", "bicgstb"}, "'bicgstab'"},
        {{"solve", "poisson2d:4", "--precond", "blok_jacobi:4"}, "'block_jacobi'"},
        {{"solve", "poisson2d:4", "--precond", "block_jacobi:4,singluar=shift"}, "'singular'"},
        {{"solve", "poisson2d:4", "--rhs", "solution:once"}, "'solution:ones'"},
        {{"solve", "poisson2d:4", "--side", "rigth"}, "'right'"},
        {{"convert", "poisson2d:4", "out.mtx", "--symmetry", "generla"}, "'general'"}};
    for (const auto& [words, nearest] : cases) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        expect_contains(outcome.err, "did you mean " + nearest + "?");
    }
    expect_contains(run({"solve", "-"}).err,
                    "there is no file or problem '-'; the standard input is /dev/stdin");
}

TEST_F(cli, wrong_use_gives_exit_code_2_one_line_and_no_json) {
    const std::string broken = write("broken.mtx",
                                     "%%MatrixMarket matrix coordinate real general\n"
                                     "2 2 1\n1 x 1\n");
    const std::string blocks = "block_jacobi:8,blocks=" + write("blocks.txt", "3 3\n");
    const std::vector<Words> cases = {{"solve"},
                                      {"solve", broken},
                                      {"solve", "."},
                                      {"solve", "poisson2d:"},
                                      {"solve", "poisson2d:0"},
                                      {"solve", "poisson2d:4,jitter=1"},
                                      {"solve", "convection3d:10", "--precond", "block_ldlt:4"},
                                      {"solve", "poisson2d:4", "--fix", "left"},
                                      {"solve", "poisson2d:4", "--precond", blocks},
                                      {"solve", "poisson2d:4", "--rtol", "few"},
                                      {"solve", "poisson2d:4", "--rtol", "inf"},
                                      {"solve", "poisson2d:4", "--max-iterations", "-1"},
                                      {"solve", "poisson2d:4", "--threads", "-1"},
                                      {"solve", "poisson2d:4", "--device", "gpu"},
                                      {"solve", "poisson2d:4", "--solver", "idr:0"},
                                      {"solve", "poisson2d:4", "--solver", "auto:3"},
                                      {"solve", "poisson2d:4", "--precond", "block_jacobi:65"},
                                      {"solve", "poisson2d:4", "--precond", "ilu:0"},
                                      {"solve", "poisson2d:4", "--rhs", "random:x"},
                                      {"solve", "poisson2d:4", "--rhs", "random:-1"},
                                      {"solve", "poisson2d:4", "ones", "--rhs", "ones"},
                                      {"solve", "poisson2d:4", "ones", "more"},
                                      {"solve", "poisson2d:4", "--x0", "nothing.mtx"},
                                      {"solve", "poisson2d:4", "--nullspace", "constants"},
                                      {"solve", "poisson2d:4", "--out", "x.txt"},
                                      {"solve", "poisson2d:4", "--out", "no/folder/x.mtx"},
                                      {"convert", "poisson2d:4"},
                                      {"convert", "poisson2d:4", "out.txt"}};
    for (const Words& words : cases) {
        Words with_json = words;
        if (words[0] == "solve") with_json.insert(with_json.end(), {"--json", "run.json"});
        const Outcome outcome = run(with_json);
        std::string line;
        for (const std::string& word : words) line += word + " ";
        EXPECT_EQ(outcome.code, 2) << line << outcome.err;
        EXPECT_TRUE(outcome.err.starts_with("tessera: ")) << outcome.err;
        EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
        EXPECT_FALSE(std::filesystem::exists(path("run.json"))) << line;
    }
    expect_contains(run({"solve", broken}).err, "broken.mtx:3:");
    expect_contains(run({"solve", "poisson2d:4", "--nullspace", "constants"}).err,
                    "did you mean 'constant'? Valid: constant, rigid_body, or a file");
    EXPECT_EQ(run({"solve", "poisson2d:4", "--rtol"}).err,
              "tessera: --rtol needs a value (see tessera solve --help)\n");
    EXPECT_EQ(run({"solve", "poisson2d:4", "--rtol", "1e-3", "--rtol", "1e-4"}).err,
              "tessera: --rtol is given more than once (see tessera solve --help)\n");
    // Not similar to any option of tune.
    EXPECT_EQ(run({"tune", "poisson2d:4", "--monitor", "none"}).err,
              "tessera: unknown option '--monitor'; tessera tune --help lists all\n");
    if (!std::filesystem::exists(test::program() + "-bench")) return;
    const Outcome bench = run({"bench", "spmv"});
    EXPECT_EQ(bench.code, 2);
    EXPECT_EQ(bench.err, "tessera-bench: matrices is required (see tessera-bench spmv --help)\n");
    const Outcome unknown = run({"bench", "spmw"});
    EXPECT_EQ(unknown.code, 2);
    expect_contains(unknown.err, "unknown benchmark 'spmw'; did you mean 'spmv'? Valid: ");
}

TEST_F(cli, not_square_and_wrong_sizes) {
    const std::string wide =
        write("wide.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n");
    const Outcome outcome = solve({wide});
    EXPECT_EQ(outcome.code, 2);
    expect_contains(outcome.err, "2 x 3");
    const std::string b = write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    expect_contains(solve({"poisson2d:2", b}).err, "expected vectors of 4 elements, found 2");
    EXPECT_EQ(run({"info", wide}).code, 0);
}

TEST_F(cli, missing_device_gives_exit_code_5_with_json) {
    if (!cuda_devices().empty()) GTEST_SKIP() << "there is a CUDA device";
    const Outcome outcome = run({"solve", "poisson2d:4", "--device", "cuda", "--json", "-"});
    EXPECT_EQ(outcome.code, 5);
    EXPECT_EQ(Json::parse(outcome.out)["status"], "error");
    // Small matrices have no need of a GPU.
    EXPECT_EQ(run({"solve", "poisson2d:4"}).err.find("CUDA"), std::string::npos);
    const Outcome automatic = run({"solve", "poisson2d:700"});
    EXPECT_EQ(automatic.code, 0);
    EXPECT_EQ(std::count(automatic.err.begin(), automatic.err.end(), '\n'), 1) << automatic.err;
    expect_contains(automatic.err, "CUDA");
}

TEST_F(cli, outputs_are_checked_before_anything_is_read) {
    const std::string matrix = write("a.mtx",
                                     "%%MatrixMarket matrix coordinate real general\n1 1 1\n"
                                     "1 1 2\n");
    const std::string b = write("b.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n");
    const std::string old = write("old.mtx", "old");
    std::filesystem::create_symlink(old, path("link.mtx"));
    const std::string options = write(
        "c.json",
        R"({"schema": "tessera-options/1", "solver": "cg", "preconditioner": "none", "format": )"
        R"("csr", "side": "right", "matrix": "a.mtx", "device": "cpu"})");
    const std::string before = text_of(matrix) + text_of(b) + text_of(old) + text_of(options);
    const std::string long_name(300, 'x');
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"solve", matrix, b, "--out", "a.mtx"}, "'a.mtx' is read by this command"},
        {{"solve", matrix, b, "--out", "./b.mtx"}, "is read by this command"},
        {{"solve", matrix, "--x0", b, "--json", b}, "is read by this command"},
        {{"solve", matrix, "--precond", "amg,coordinates=b.mtx", "--out", b}, "is read by this"},
        {{"solve", matrix, "--precond", "amg,near_null=b.mtx", "--json", b}, "is read by this"},
        {{"solve", matrix, "--config", "./c.json", "--json", "c.json"}, "is read by this"},
        {{"tune", matrix, "--save", "./a.mtx"}, "--save: './a.mtx' is read by this"},
        {{"tune", matrix, "--save", "./x.json", "--json", "x.json"}, "the same file"},
        {{"solve", matrix, "--out", "x.mtx", "--json", "x.mtx"}, "the same file"},
        {{"solve", matrix, "--out", "x.mtx", "--json", "./x.mtx"}, "the same file"},
        {{"solve", matrix, "--out", old, "--json", "link.mtx"}, "--out and --json name the same"},
        {{"solve", matrix, "--json", ""}, "the name of the file is empty"},
        {{"solve", matrix, "--out", ""}, "the name of the file is empty"},
        {{"solve", matrix, ""}, "b: the text is empty"},
        {{"solve", matrix, "--rhs", ""}, "--rhs: the text is empty"},
        {{"solve", matrix, "--x0", ""}, "--x0: the text is empty"},
        {{"solve", matrix, "--config", ""}, "--config: the text is empty"},
        {{"tune", matrix, "--save", ""}, "--save: the text is empty"},
        {{"solve", matrix, "--out", long_name + ".mtx"}, "cannot be written"},
        {{"solve", matrix, "--json", "none/r.json"}, "there is no folder"},
        {{"solve", matrix, long_name}, "no such file"},
        {{"info", matrix, "--json", matrix}, "is read by this command"},
        {{"convert", matrix, matrix}, "is read by this command"},
        {{"convert", matrix, ""}, "the name of the file is empty"},
        {{"convert", matrix, "none/c.mtx"}, "there is no folder"},
        {{"convert", matrix, "/proc/none.mtx"}, "cannot be written"}};
    for (const auto& [words, message] : cases) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        expect_contains(outcome.err, message);
        EXPECT_EQ(outcome.err.find("internal"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(text_of(matrix) + text_of(b) + text_of(old) + text_of(options), before);
}

TEST_F(cli, large_numbers_are_called_large) {
    for (const char* option : {"--max-iterations", "--threads", "--rtol"}) {
        const std::string large = "1" + std::string(400, '0');
        expect_contains(run({"solve", "poisson2d:2", option, large}).err, "is too large");
    }
    expect_contains(run({"solve", "poisson2d:2", "--threads", "3000000000"}).err, "2147483647");
}

TEST_F(cli, info_describes_a_matrix) {
    const Outcome outcome = run({"info", "elasticity2d:6", "--json", "-"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["schema"], "tessera-info/2");
    EXPECT_EQ(json["rows"], 2 * 6 * 7);
    EXPECT_EQ(json["entries_per_row"]["min"], 8);
    EXPECT_EQ(json["entries_per_row"]["max"], 18);
    EXPECT_TRUE(json["symmetry"]["pattern"].get<bool>());
    EXPECT_EQ(json["diagonal"]["missing"], 0);
    EXPECT_EQ(json["natural_blocks"]["sizes"], Json({{"2", 42}}));
    ASSERT_EQ(json["agglomerated_blocks"].size(), 4u);
    EXPECT_EQ(json["agglomerated_blocks"][0]["inverse_bytes"], 21 * 16 * 8);
    ASSERT_EQ(json["formats"].size(), 7u);
    EXPECT_EQ(json["formats"][0]["format"], "csr");
    EXPECT_EQ(json["formats"][0]["bytes"], json["csr_bytes"]);
    EXPECT_EQ(json["formats"][4]["format"], "bcsr:2");
    EXPECT_EQ(json["formats"][4]["padding"], 1.0);
    EXPECT_EQ(json["formats"][4]["index_bits"], 32);
    EXPECT_GT(json["formats"][5]["padding"], 1.0);
    EXPECT_EQ(json["formats"][5]["index_bits"], 16);
    const Outcome table = run({"info", "convection3d:4"});
    expect_contains(table.out, "sbell:1,slice=32,sort_window=all");
    expect_contains(table.out, "values no");
    expect_contains(
        table.out, "then  bicgstab with jacobi, format csr, at most 100 iterations, 40 on trial\n");
    expect_contains(table.out, "then  idr:8,smoothing with block_jacobi:32,singular=shift");
    EXPECT_EQ(json["auto_cpu"][0]["solver"], "richardson");
    EXPECT_EQ(json["auto_cpu"][1]["preconditioner"], "jacobi");
    EXPECT_EQ(json["auto_cuda"][0]["preconditioner"], "amg");
    // The suggested command runs.
    const std::string suggestion = json["suggestion"];
    ASSERT_TRUE(suggestion.starts_with("tessera solve ")) << suggestion;
    EXPECT_EQ(wait(start({"/bin/sh", "-c", program() + suggestion.substr(7)})).code, 0);
}

TEST_F(cli, info_sees_singular_blocks) {
    const Outcome outcome = run({"info", write("null.mtx",
                                               "%%MatrixMarket matrix coordinate real general\n"
                                               "2 2 4\n1 1 1\n1 2 1\n2 1 1\n2 2 1\n")});
    EXPECT_EQ(outcome.code, 0);
    expect_contains(outcome.out, "bound 32                  1        2           32 B          1");
}

TEST_F(cli, info_suggests_what_solves_indefinite_systems) {
    for (const std::string problem : {"kkt:300", "stokes:10,beta=1"}) {
        const std::string suggestion = suggested(problem);
        expect_contains(run({"info", problem}).out, "then  sqmr with block_ldlt:8,fill=1,");
        EXPECT_EQ(wait(start({"/bin/sh", "-c", program() + suggestion})).code, 0) << suggestion;
    }
}

TEST_F(cli, info_suggests_a_right_hand_side_for_a_matrix_with_empty_rows) {
    // Two systems, each without and with three empty rows.
    for (const bool indefinite : {false, true}) {
        for (const int empty : {0, 3}) {
            std::ostringstream matrix;
            matrix << "%%MatrixMarket matrix coordinate real symmetric\n"
                   << 40 + empty << " " << 40 + empty << " 79\n1 1 4\n";
            for (int row = 2; row <= 40; ++row) {
                const double diagonal = indefinite && row % 3 == 0 ? -4 : 4;
                matrix << row << " " << row - 1 << " 1\n"
                       << row << " " << row << " " << diagonal << "\n";
            }
            const std::string suggestion = suggested(write("rows.mtx", matrix.str()));
            EXPECT_EQ(suggestion.find("solution:random") != std::string::npos, empty > 0);
            EXPECT_EQ(wait(start({"/bin/sh", "-c", program() + suggestion})).code, 0) << suggestion;
        }
    }
    expect_contains(run({"info", "rows.mtx"}).out, "singular         empty rows: b must be 0");
}

TEST_F(cli, convert_keeps_every_bit) {
    const auto original = problems::generate<double>(host(), "elasticity2d:5");
    for (const char* name : {"a.mtx", "a.mtx.gz", "a.petsc"}) {
        ASSERT_EQ(run({"convert", "elasticity2d:5", name}).code, 0) << name;
        io::FileHeader header;
        const auto back = io::read_matrix<double>(host(), path(name), &header);
        const auto a = original.matrix.view();
        const auto b = back.view();
        ASSERT_EQ(a.nonzeros, b.nonzeros);
        EXPECT_TRUE(std::equal(a.values, a.values + a.nonzeros, b.values)) << name;
        EXPECT_TRUE(std::equal(a.column_indices, a.column_indices + a.nonzeros, b.column_indices));
    }
    ASSERT_EQ(run({"convert", "poisson2d:5", "s.mtx"}).code, 0);
    ASSERT_EQ(run({"convert", "poisson2d:5", "g.mtx", "--symmetry", "general"}).code, 0);
    expect_contains(text_of(path("s.mtx")), " symmetric\n");
    expect_contains(text_of(path("g.mtx")), " general\n");
}

TEST_F(cli, devices_pass_their_test) {
    const Outcome outcome = run({"devices", "--test", "--json", "-"});
    EXPECT_EQ(outcome.code, 0) << outcome.out;
    const Json json = Json::parse(outcome.out);
    EXPECT_EQ(json["schema"], "tessera-devices/1");
    EXPECT_EQ(json["cpu"]["instruction_sets"].size(), instruction_sets().size());
    EXPECT_EQ(json["cuda"].size(), cuda_devices().size());
    ASSERT_EQ(json["test"].size(), 2 * (1 + cuda_devices().size()));
    for (const Json& item : json["test"]) EXPECT_TRUE(item["passed"].get<bool>()) << item;
    expect_contains(run({"devices"}).out,
                    std::string("instruction sets: ") + to_string(instruction_sets().front()));
}

}  // namespace
}  // namespace tessera::test
