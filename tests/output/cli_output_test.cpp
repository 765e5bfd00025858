#include "support/command_line.hpp"

namespace tessera::test {
namespace {

/// Files that the command line writes, whatever happens to it.
class cli_output : public CommandLineTest {
  protected:
    Words convert(const std::string& problem, const std::string& out) const {
        return {program(), "convert", problem, out, "--threads", "1"};
    }

    /// Takes a second or more.
    Words slow_convert() const { return convert("poisson3d:80", "out.mtx.gz"); }

    Outcome shell(const std::string& command) const {
        return wait(start({"/bin/bash", "-c", command}));
    }
};

TEST_F(cli_output, the_later_of_two_writers_wins_whole) {
    const auto written = [&](const std::string& problem, const std::string& name) {
        EXPECT_EQ(wait(start(convert(problem, name))).code, 0) << problem;
        return text_of(path(name));
    };
    const std::string problems[] = {"poisson2d:150", "poisson2d:151"};
    const std::string texts[] = {written(problems[0], "a.mtx"), written(problems[1], "b.mtx")};
    for (int k = 0; k < 12; ++k) {
        const pid_t first = start(convert(problems[k % 2], "y.mtx"));
        const pid_t second = start(convert(problems[1 - k % 2], "y.mtx"));
        EXPECT_EQ(wait(first).code, 0);
        EXPECT_EQ(wait(second).code, 0);
        const std::string text = text_of(path("y.mtx"));
        EXPECT_TRUE(text == texts[0] || text == texts[1]) << text.size();
    }
    EXPECT_EQ(temporary_files(), Words{});
}

TEST_F(cli_output, nothing_beside_the_file_is_touched) {
    const std::string other = write("y.mtx.part", "of somebody else\n");
    EXPECT_EQ(wait(start(convert("poisson2d:5", "y.mtx"))).code, 0);
    EXPECT_EQ(text_of(other), "of somebody else\n");
    for (const std::size_t length : {252, 255}) {
        const std::string name = std::string(length - 4, 'x') + ".mtx";
        EXPECT_EQ(run({"solve", "poisson2d:5", "--quiet", "--out", name}).code, 0);
        EXPECT_TRUE(std::filesystem::exists(path(name))) << length;
    }
}

TEST_F(cli_output, links_are_kept) {
    write("target.json", "what was there");
    std::filesystem::create_symlink("target.json", path("link.json"));
    std::filesystem::create_symlink("made.json", path("dangling.json"));
    std::filesystem::create_symlink("loop.json", path("loop.json"));
    for (const std::string name : {"link.json", "dangling.json"}) {
        EXPECT_EQ(run({"info", "poisson2d:5", "--json", name}).code, 0) << name;
        EXPECT_TRUE(std::filesystem::is_symlink(path(name))) << name;
    }
    for (const std::string name : {"target.json", "made.json"}) {
        EXPECT_EQ(Json::parse(text_of(path(name)), nullptr, false)["rows"], 25) << name;
    }
    for (const Words& words :
         {Words{"info", "poisson2d:5", "--json", "loop.json"}, Words{"info", "loop.json"},
          Words{"solve", "poisson2d:5", "loop.json"},
          Words{"solve", "poisson2d:5", "--x0", "loop.json"}}) {
        const Outcome outcome = run(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        expect_contains(outcome.err, "loop.json");
        expect_contains(outcome.err, "Too many levels of symbolic links");
    }
}

TEST_F(cli_output, signals_remove_the_temporary_file) {
    const std::string target = write("target", "what was there\n");
    std::filesystem::create_symlink("target", path("out.mtx.gz"));
    for (const int signal : {SIGTERM, SIGHUP}) {
        const Outcome outcome = end_by(start_and_stop_writing(slow_convert()), signal);
        EXPECT_EQ(outcome.code, 128 + signal);
        EXPECT_EQ(outcome.err, "");
        EXPECT_EQ(temporary_files(), Words{}) << signal;
        EXPECT_EQ(text_of(target), "what was there\n") << signal;
    }
    EXPECT_EQ(end_by(start_and_stop_writing(slow_convert()), SIGKILL).code, 128 + SIGKILL);
    EXPECT_EQ(text_of(target), "what was there\n");
    EXPECT_TRUE(std::filesystem::is_symlink(path("out.mtx.gz")));
}

TEST_F(cli_output, a_limit_of_file_sizes_is_an_error) {
    const std::string target = write("x.mtx", "what was there\n");
    const Outcome outcome =
        shell("ulimit -f 8; exec " + program() + " convert poisson2d:100 x.mtx");
    EXPECT_EQ(outcome.code, 2);
    EXPECT_EQ(outcome.err, "tessera: x.mtx: cannot be written: File too large\n");
    EXPECT_EQ(text_of(target), "what was there\n");
    EXPECT_EQ(temporary_files(), Words{});
}

}  // namespace
}  // namespace tessera::test
