#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "support/command_line.hpp"

namespace tessera {
namespace {

using test::Outcome;
using test::program;
using test::Words;

/// Ctrl-C while the program waits for a file that never comes: a pipe that nobody writes to.
class cli_interrupt : public test::CommandLineTest {
  protected:
    void SetUp() override {
        CommandLineTest::SetUp();
        if (!IsSkipped()) {
            ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
        }
    }

    /// The end that is written to, once somebody reads: before, opening it fails.
    int open_end() const {
        for (int k = 0; k < 6000; ++k) {
            const int end = ::open(path("pipe").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
            if (end >= 0) return end;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ADD_FAILURE() << "the pipe was not read";
        return -1;
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

TEST_F(cli_interrupt, of_a_setup_says_so) {
    const Outcome outcome = interrupt(
        {"solve", "poisson2d:5", "--device", "cpu", "--precond", "block_jacobi:4,blocks=pipe"});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err, "tessera: interrupted while setting up block_jacobi:4,blocks=pipe\n");
}

TEST_F(cli_interrupt, before_and_between_says_what_was_prepared) {
    const Outcome outcome =
        interrupt({"solve", "poisson2d:5", "--device", "cpu", "--x0", "pipe", "--quiet"});
    EXPECT_EQ(outcome.code, 130);
    EXPECT_EQ(outcome.err, "tessera: interrupted while preparing to solve poisson2d:5\n");
}

}  // namespace
}  // namespace tessera
