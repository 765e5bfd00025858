#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "support/command_line.hpp"

namespace tessera::test {
namespace {

/// Ctrl-C, mostly while the program waits for input from a pipe that nobody writes to.
class cli_interrupt : public CommandLineTest {
  protected:
    void SetUp() override {
        CommandLineTest::SetUp();
        if (!IsSkipped()) {
            ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
        }
    }

    /// The writing end, once the pipe is read: opening it fails before.
    int open_end() const {
        for (int k = 0; k < 6000; ++k) {
            const int end = ::open(path("pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            if (end >= 0) return end;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ADD_FAILURE() << "the pipe was not read";
        return -1;
    }

    /// Interrupts a program after the first byte of the pipe that it writes to.
    Outcome interrupt_once_written(pid_t child, int end) const {
        char byte = 0;
        for (int k = 0; k < 6000 && ::read(end, &byte, 1) != 1; ++k) {
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        EXPECT_EQ(byte, '%') << "nothing was written";
        ::kill(child, SIGINT);
        return wait(child);
    }

    /// Interrupts a program once it reads the pipe.
    Outcome interrupt(Words words) const {
        words.insert(words.begin(), program());
        const pid_t child = start(words);
        const int end = open_end();
        ::kill(child, SIGINT);
        const Outcome outcome = wait(child);
        ::close(end);
        return outcome;
    }
};

TEST_F(cli_interrupt, of_reading_says_so) {
    for (const Words& words : {Words{"solve", "pipe", "--device", "cpu"},
                               Words{"tune", "pipe", "--device", "cpu"}, Words{"info", "pipe"}}) {
        const Outcome outcome = interrupt(words);
        EXPECT_EQ(outcome.code, 130) << words[0];
        EXPECT_EQ(outcome.out, "") << words[0];
        EXPECT_EQ(outcome.err, "tessera: interrupted while reading pipe\n") << words[0];
    }
}

TEST_F(cli_interrupt, leaves_a_pipe_alone_that_is_written_to) {
    const pid_t child = start({program(), "solve", "pipe", "--device", "cpu"});
    const int end = open_end();
    const std::string text = "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    EXPECT_EQ(::write(end, text.data(), text.size()), ssize_t(text.size()));
    ::close(end);
    const Outcome outcome = wait(child);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
}

TEST_F(cli_interrupt, of_reading_block_sizes_says_so) {
    const Outcome outcome = interrupt(
        {"solve", "poisson2d:5", "--device", "cpu", "--precond", "block_jacobi:4,blocks=pipe"});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "tessera: interrupted while preparing to solve poisson2d:5\n");
}

TEST_F(cli_interrupt, before_and_between_says_what_was_prepared) {
    const Outcome outcome =
        interrupt({"solve", "poisson2d:5", "--device", "cpu", "--x0", "pipe", "--quiet"});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.err, "tessera: interrupted while preparing to solve poisson2d:5\n");
}

TEST_F(cli_interrupt, of_writing_leaves_what_was_there_and_nothing_else) {
    const std::string before = write("out.mtx.gz", "what was there\n");
    for (const Words& words : {Words{"convert", "poisson3d:80", "out.mtx.gz", "--threads", "1"},
                               Words{"solve", "poisson3d:80", "--rhs", "random", "--device", "cpu",
                                     "--threads", "1", "--solver", "minres", "--precond", "jacobi",
                                     "--max-iterations", "5", "--quiet", "--out", "out.mtx.gz"}}) {
        Words command = words;
        command.insert(command.begin(), program());
        const Outcome outcome = end_by(start_and_stop_writing(command), SIGINT);
        EXPECT_EQ(outcome.code, 130) << words[0];
        EXPECT_EQ(outcome.out, "") << words[0];
        EXPECT_EQ(outcome.err,
                  "tessera: interrupted while writing out.mtx.gz, which was not touched\n");
        EXPECT_EQ(text_of(before), "what was there\n") << words[0];
        EXPECT_EQ(temporary_files(), Words{}) << words[0];
    }
}

TEST_F(cli_interrupt, of_writing_in_place_says_so) {
    ASSERT_EQ(::mkfifo(path("out.mtx").c_str(), 0600), 0);
    const int end = ::open(path("out.mtx").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const pid_t child = start({program(), "convert", "poisson2d:200", "out.mtx"});
    const Outcome outcome = interrupt_once_written(child, end);
    ::close(end);
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.err, "tessera: interrupted while writing out.mtx\n");
}

TEST_F(cli_interrupt, a_solve_stops_after_an_iteration_with_its_results) {
    const pid_t child = start({program(),
                               "solve",
                               "poisson2d:200",
                               "--device",
                               "cpu",
                               "--threads",
                               "1",
                               "--solver",
                               "richardson",
                               "--precond",
                               "jacobi",
                               "--rtol",
                               "1e-14",
                               "--max-iterations",
                               "1000000000",
                               "--stagnation-window",
                               "0",
                               "--monitor",
                               "table",
                               "--json",
                               "run.json",
                               "--out",
                               "x.mtx"});
    ASSERT_GT(child, 0);
    // The first rows of the table show that the solve is running.
    const Outcome outcome = interrupt_after(child, "\n         3 ");
    EXPECT_EQ(outcome.code, 130) << outcome.err;
    const Json json = Json::parse(text_of(path("run.json")));
    EXPECT_EQ(json["status"], "interrupted");
    EXPECT_GT(json["iterations"].get<Offset>(), 0);
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")).size(), 40000u);
    EXPECT_TRUE(outcome.out.starts_with("NOT CONVERGED (interrupted)")) << outcome.out;
}

}  // namespace
}  // namespace tessera::test
