#include <algorithm>
#include <map>

#include "base/concat.hpp"
#include "support/faults.hpp"
#include "support/program.hpp"

namespace tessera {
namespace {
namespace faults = test::faults;
using test::text_of;

class faults_of_program : public test::ProgramTest {
  protected:
    /// Runs the command line within this binary's program.
    test::Outcome run_with(const std::string& fault, const test::Words& words) const {
        test::Words command{std::filesystem::read_symlink("/proc/self/exe").string(), "--tessera"};
        command.insert(command.end(), words.begin(), words.end());
        setenv("TESSERA_FAULT", (fault + " " + path("counts")).c_str(), 1);
        const test::Outcome outcome = wait(start(command));
        unsetenv("TESSERA_FAULT");
        return outcome;
    }

    std::vector<std::string> files() const {
        std::vector<std::string> names;
        for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
            names.push_back(entry.path().filename().string());
        }
        std::sort(names.begin(), names.end());
        return names;
    }

    /// Makes calls fail one after another: the program ends with an exit code of its own and says
    /// why, `outputs` are complete or as they were, and no other file is left.
    void check(const test::Words& words, const std::vector<std::string>& outputs, long sample);
};

void faults_of_program::check(const test::Words& words, const std::vector<std::string>& outputs,
                              long sample) {
    for (const std::string& name : outputs) write(name, "as it was");
    ASSERT_EQ(run_with("memory 0", words).code, 0) << text_of(path("stderr"));
    std::map<std::string, std::string> complete;
    for (const std::string& name : outputs) complete[name] = text_of(path(name));
    const std::vector<std::string> before = files();
    std::map<std::string, long> calls;
    std::ifstream counts(path("counts"));
    for (std::string kind; counts >> kind;) counts >> calls[kind];
    std::mt19937_64 random = test::generator();
    for (const auto& [kind, count] : calls) {
        int tried = 0;
        for (const long k :
             faults::calls_to_try(random, count, kind == "memory" ? sample : sample / 2)) {
            for (const std::string& name : outputs) write(name, "as it was");
            const std::string fault = concat(kind, " ", k, ++tried % 3 == 0 ? "+" : "");
            const test::Outcome outcome = run_with(fault, words);
            SCOPED_TRACE(fault + ": exit code " + std::to_string(outcome.code) + ", " +
                         outcome.err);
            ASSERT_TRUE(outcome.code == 0 || (outcome.code >= 2 && outcome.code <= 6));
            ASSERT_TRUE(outcome.code == 0 || !outcome.err.empty());
            for (const std::string& name : outputs) {
                const std::string now = text_of(path(name));
                ASSERT_TRUE(now == complete[name] || (now == "as it was" && outcome.code != 0))
                    << name << ": " << now;
            }
            ASSERT_EQ(files(), before);
        }
    }
}

TEST_F(faults_of_program, solve) {
    check({"solve", "elasticity2d:4", "--precond", "block_jacobi:8", "--device", "cpu", "--threads",
           "2", "--out", "x.mtx"},
          {"x.mtx"}, 60);
}

TEST_F(faults_of_program, convert_and_read) {
    check({"convert", "elasticity2d:4", "a.mtx.gz", "--threads", "2"}, {"a.mtx.gz"}, 30);
    check({"convert", "a.mtx.gz", "b.petsc", "--threads", "2"}, {"b.petsc"}, 30);
}

TEST_F(faults_of_program, tune) {
    check({"tune", "poisson2d:4", "--device", "cpu", "--threads", "1", "--precond", "jacobi",
           "--solver", "cg", "--format", "csr", "--save", "./options.json"},
          {"options.json"}, 20);
}

}  // namespace
}  // namespace tessera
