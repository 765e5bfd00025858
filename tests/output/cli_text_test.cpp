#include "support/command_line.hpp"

namespace tessera::test {
namespace {

/// What the command line prints: of names from outside, of failures, and commands to type.
class cli_text : public CommandLineTest {
  protected:
    Outcome shell(const std::string& command) const {
        return wait(start({"/bin/bash", "-c", command}));
    }

    /// Runs a printed command, which begins with "tessera".
    Outcome run_printed(const std::string& command) const {
        EXPECT_TRUE(command.starts_with("tessera ")) << command;
        return shell(program() + command.substr(std::string("tessera").size()));
    }

    /// The text from a mark to the end of its line.
    static std::string line_after(const std::string& text, const std::string& mark) {
        const std::size_t at = text.find(mark);
        if (at == std::string::npos) return "";
        const std::size_t begin = at + mark.size();
        return text.substr(begin, text.find('\n', begin) - begin);
    }

    std::string matrix_file(const std::string& name) const {
        return write(name,
                     "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 2\n2 2 2\n"
                     "3 3 2\n");
    }
};

/// A byte that is not UTF-8, a command to the terminal, a new line and quotes.
const std::string hostile_name = "a\xff\x1b[31m\n'b\" $c.mtx";
const std::string shown_name = "a\\xff\\x1b[31m\\x0a'b\" $c.mtx";

TEST_F(cli_text, json_is_valid_whatever_the_names_are) {
    matrix_file(hostile_name);
    for (const Words& words : {Words{"info"}, Words{"solve", "--device", "cpu"},
                               Words{"tune", "--precond", "jacobi", "--device", "cpu"}}) {
        Words command = words;
        command.insert(command.end(), {hostile_name, "--json", "-"});
        const Outcome outcome = run(command);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        const Json json = Json::parse(outcome.out, nullptr, false);
        ASSERT_TRUE(json.is_object()) << outcome.out;
        const Json name = words[0] == "info"    ? json["name"]
                          : words[0] == "solve" ? json["matrix"]["name"]
                                                : json["matrix"];
        EXPECT_EQ(name, "a\xef\xbf\xbd\x1b[31m\n'b\" $c.mtx") << words[0];
        for (const char* key : {"suggestion", "command"}) {
            if (!json.contains(key)) continue;
            EXPECT_EQ(run_printed(json[key]).code, 0) << json[key];
        }
    }
}

TEST_F(cli_text, the_terminal_gets_no_commands_of_names) {
    matrix_file(hostile_name);
    const std::vector<Words> commands = {
        {"info", hostile_name},
        {"solve", hostile_name, "--device", "cpu", "--precond", "none"},
        {"solve", hostile_name, "--device", "cpu", "--max-iterations", "0", "--out", hostile_name},
        {"solve", "no" + hostile_name},
        {"solve", hostile_name, "--solver", hostile_name},
        {"solve", hostile_name, hostile_name},
        {"solve", hostile_name, "--" + hostile_name},
        {"tune", hostile_name, "--device", "cpu", "--precond", "jacobi"},
        {"tune", "poisson2d:4", "--precond", "block_jacobi:4,blocks=" + hostile_name},
        {"solve", "poisson2d:4", "--config", "./" + hostile_name},
        {"convert", hostile_name, "x" + hostile_name},
        {"compare", hostile_name, hostile_name},
        {hostile_name}};
    for (const Words& words : commands) {
        const Outcome outcome = run(words);
        const std::string text = outcome.out + outcome.err;
        EXPECT_EQ(text.find('\x1b'), std::string::npos) << words[0];
        EXPECT_EQ(text.find('\xff'), std::string::npos) << words[0];
        EXPECT_EQ(text.find("\n'b"), std::string::npos) << words[0];
    }
    expect_contains(run({"info", hostile_name}).out, shown_name + "\n");
    expect_contains(run({"solve", "no" + hostile_name}).err, "'no" + shown_name + "'");
}

TEST_F(cli_text, printed_commands_run_for_every_name) {
    for (const std::string name :
         {"-a.mtx", "--", "a b.mtx", "it's \"b\".mtx", "$(touch x) `y`.mtx", "a\\b.mtx", "~.mtx",
          "*", hostile_name.c_str()}) {
        matrix_file(name);
        for (const Words& words :
             {Words{"info", "--", name},
              Words{"tune", "--precond", "jacobi", "--device", "cpu", "--", name}}) {
            const Outcome outcome = run(words);
            ASSERT_EQ(outcome.code, 0) << name << outcome.err;
            const std::string command = words[0] == "info"
                                            ? line_after(outcome.out, "\nTry: ")
                                            : line_after(outcome.out, "The fastest:\n  ");
            EXPECT_EQ(run_printed(command).code, 0) << command;
        }
    }
    const std::string printed = run({"a b.mtx"}).err;
    EXPECT_EQ(printed,
              "tessera: a command must come first; did you mean tessera solve 'a b.mtx'?\n");
}

TEST_F(cli_text, an_option_is_added_before_names_that_begin_with_a_dash) {
    write("-s.mtx",
          "%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n2 1 1\n2 2 1\n");
    const Words words = {"solve",     "--device",        "cpu", "--solver", "minres",
                         "--precond", "block_jacobi:32", "--",  "-s.mtx"};
    const std::string mark = "try:\n  ";
    EXPECT_EQ(line_after(run(words).err, mark),
              "tessera solve --device cpu --solver minres "
              "--precond block_jacobi:32,singular=shift -- "
              "-s.mtx");
}

TEST_F(cli_text, output_to_a_full_disk_is_an_error) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
    for (const std::string words :
         {"", "--help", "--version", "solve --help", "info poisson2d:5", "devices",
          "solve poisson2d:5 --device cpu", "solve poisson2d:5 --device cpu --json -"}) {
        const Outcome outcome = shell(program() + " " + words + " > /dev/full");
        EXPECT_EQ(outcome.code, 2) << words;
        expect_contains(outcome.err,
                        "tessera: stdout cannot be written: No space left on device\n");
    }
    EXPECT_EQ(shell(program() + " info poisson2d:5 >&-").code, 2);
}

TEST_F(cli_text, out_of_memory_has_an_exit_code_of_its_own) {
    const std::string limited = "ulimit -v 200000; exec " + program() + " ";
    if (shell(limited + "--version").code != 0)
        GTEST_SKIP() << "the program needs more (sanitizer)";
    // 3 10^6 rows need more than the limit, which leaves room for the program itself.
    for (const std::string words : {"info poisson3d:150", "convert poisson3d:150 x.mtx",
                                    "solve poisson3d:150 --device cpu --threads 1 --json run.json",
                                    "tune poisson3d:150 --device cpu --threads 1"}) {
        const Outcome outcome = shell(limited + words);
        EXPECT_EQ(outcome.code, 6) << words;
        expect_contains(outcome.err, " of host memory, but ");
    }
    EXPECT_EQ(Json::parse(text_of(path("run.json")), nullptr, false)["status"], "error");
    EXPECT_FALSE(std::filesystem::exists(path("x.mtx")));
    for (const char* command : {"--help", "solve", "convert"}) {
        Words words = {command, "--help"};
        if (words[0] == "--help") words.pop_back();
        expect_contains(run(words).out, "6 out of memory");
    }
}

TEST_F(cli_text, numbers_are_read_and_printed_exactly) {
    // 2^53 + 1 is no double; a leading 0 does not mean octal.
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"9007199254740993", "9007199254740993"},
        {"9223372036854775807", "9223372036854775807"},
        {"010", "10"},
        {"+12", "12"}};
    for (const auto& [given, read] : cases) {
        const Outcome outcome =
            run({"tune", "poisson2d:3", "--device", "cpu", "--seed", given, "--max-iterations",
                 given, "--rtol", "1.23456789012e-7", "--json", "-"});
        const Json json = Json::parse(outcome.out, nullptr, false);
        ASSERT_TRUE(json.is_object()) << outcome.err;
        const std::string command = json["command"];
        expect_contains(command, " --seed " + read + " ");
        expect_contains(command, " --max-iterations " + read + " ");
        expect_contains(command, " --rtol 1.23456789012e-07 ");
    }
    EXPECT_EQ(solve_json({"poisson2d:9", "--rtol", "1d-3"})["residuals"],
              solve_json({"poisson2d:9", "--rtol", "1e-3"})["residuals"]);
    const auto residuals = [&](const std::string& seed) {
        return solve_json({"random_blocks:9,seed=" + seed, "--rhs", "random:" + seed})["residuals"];
    };
    EXPECT_NE(residuals("9007199254740993"), residuals("9007199254740992"));
}

}  // namespace
}  // namespace tessera::test
