#include "support/messages.hpp"
#include "support/program.hpp"

namespace tessera::test {
namespace {

/// The subcommand plot, with programs named python3 of the test.
class plot : public ProgramTest {
  protected:
    /// A folder with a python3 that imports tessera.plot or not, prints its arguments, and exits
    /// with 3.
    std::string python(const std::string& name, bool has_package, int mode = 0700) const {
        std::filesystem::create_directory(path(name));
        std::string script = "#!/bin/sh\nif [ \"$1\" = -c ]; then exit ";
        script += has_package ? "0" : "1";
        script += "; fi\necho " + name + " $PYTHONSAFEPATH\nprintf '<%s>' \"$@\"\nexit 3\n";
        const std::string file = write(name + "/python3", script);
        ::chmod(file.c_str(), mode_t(mode));
        return path(name);
    }

    Outcome run_with_path(const std::string& folders, Words words) const {
        words.insert(words.begin(), {"/usr/bin/env", "PATH=" + folders, program(), "plot"});
        return wait(start(words));
    }
};

const char* const no_python =
    "tessera: plot needs a python3 in PATH that has the package tessera; install it, in a copy of "
    "Tessera's repository, with: python3 -m pip install . matplotlib\n";

TEST_F(plot, without_a_python_that_has_the_package_the_message_says_what_to_install) {
    const std::string without = python("without", false);
    const std::string locked = python("locked", true, 0600);
    python("here", true);
    std::filesystem::create_directories(path("folder/python3"));
    for (const std::string& folders :
         {std::string(), path("missing"), without, locked, path("folder"), std::string("here:."),
          without + "::" + without + ":" + locked}) {
        const Outcome outcome = run_with_path(folders, {"run.json", "-o", "run.html"});
        EXPECT_EQ(outcome.code, 2) << folders;
        EXPECT_EQ(outcome.err, no_python) << folders;
        EXPECT_EQ(outcome.out, "") << folders;
    }
}

TEST_F(plot, the_first_python_with_the_package_gets_the_words_as_typed) {
    const std::string folders =
        python("without", false) + ":" + python("first", true) + ":" + python("second", true);
    const Outcome outcome = run_with_path(
        folders, {"--output=it's.svg", "--label", "", "--", "a b.json", "$(c).json", "-d.json"});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(outcome.out,
              "first 1\n<-m><tessera><plot><--output=it's.svg><--label><><--><a "
              "b.json><$(c).json><-d.json>");
}

TEST_F(plot, wrong_words_are_named_before_python_is_looked_for) {
    const std::string folders = python("first", true);
    const std::pair<Words, std::string> cases[] = {
        {{"run.json", "--outptu", "a.svg"}, "unknown option '--outptu'; did you mean '--output'?"},
        {{"run.json"}, "--output is required (see tessera plot --help)"},
        {{"-o", "a.svg"}, "FILE is required (see tessera plot --help)"},
        {{"run.json", "-o", "a.svg", "-o", "b.svg"},
         "--output is given more than once (see tessera plot --help)"},
        {{"run.json", "-o", ""},
         "--output: the name of the file is empty; give one (see tessera plot --help)"}};
    for (const auto& [words, message] : cases) {
        const Outcome outcome = run_with_path(folders, words);
        EXPECT_EQ(outcome.code, 2);
        EXPECT_EQ(outcome.err, "tessera: " + message + "\n");
        EXPECT_EQ(outcome.out, "");
    }
}

TEST_F(plot, its_help_needs_no_python) {
    const Outcome outcome = run_with_path("", {"--help"});
    EXPECT_EQ(outcome.code, 0);
    expect_contains(outcome.out, "-o,--output");
    expect_contains(outcome.out, "pip install . matplotlib, in a copy of");
}

}  // namespace
}  // namespace tessera::test
