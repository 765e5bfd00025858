#pragma once

#include <nlohmann/json.hpp>

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
