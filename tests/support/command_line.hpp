#pragma once

#include <chrono>
#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/messages.hpp"
#include "support/program.hpp"

namespace tessera::test {

using Json = nlohmann::json;

/// Runs the command line.
class CommandLineTest : public ProgramTest {
  protected:
    Outcome solve(Words words) const {
        words.insert(words.begin(), {"solve", "--device", "cpu", "--threads", "2"});
        return run(words);
    }

    /// Interrupts a program after it printed something on stderr.
    Outcome interrupt_after(pid_t child, const std::string& said) const {
        const auto begin = std::chrono::steady_clock::now();
        while (text_of(path("stderr")).find(said) == std::string::npos &&
               std::chrono::steady_clock::now() - begin < std::chrono::seconds(60)) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
        ::kill(child, SIGINT);
        return wait(child);
    }

    Json solve_json(Words words) const {
        words.insert(words.end(), {"--json", "-"});
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return Json::parse(outcome.out, nullptr, false);
    }

    /// A symmetric nonsingular matrix whose leading 2 x 2 block is singular.
    std::string singular_block_file() const {
        return write("singular.mtx",
                     "%%MatrixMarket matrix coordinate real symmetric\n4 4 6\n1 1 1\n2 1 1\n2 2 1\n"
                     "3 1 1\n3 3 2\n4 4 1\n");
    }
};

}  // namespace tessera::test
