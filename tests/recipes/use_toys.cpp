// Solves with the toy preconditioner and the toy solver that CONTRIBUTING.md describes.
#include <algorithm>
#include <cstdio>

#include "tessera/tessera.hpp"

namespace {

int faults = 0;

void check(bool condition, const char* what) {
    if (condition) return;
    std::printf("wrong: %s\n", what);
    ++faults;
}

bool converges(const char* solver, const char* preconditioner) {
    using namespace tessera;
    const Context cpu = Context::cpu();
    const auto problem = problems::generate<double>(cpu, "poisson2d:5");
    Solver<double> toy(cpu, solver, preconditioner);
    toy.setup(problem.matrix);
    const std::vector<double> b(std::size_t(problem.matrix.rows()), 1);
    std::vector<double> x(b.size());
    const SolveReport report = toy.solve(b, x);
    std::printf("%s with %s: %s after %lld iterations\n", solver, preconditioner,
                to_string(report.status), static_cast<long long>(report.iterations));
    return report.status == Status::converged;
}

}  // namespace

int main() {
    using namespace tessera;
    const auto solvers = solver_names();
    check(std::ranges::count(solvers, "toy") == 1, "the solver is registered");
    check(solver_help().find("for which matrices") != std::string::npos, "the help of the solver");
    check(parse_solver("toy")->allows_left(), "the solver allows the left side");
    const auto preconditioners = preconditioner_names();
    check(std::ranges::count(preconditioners, "toy") == 1, "the preconditioner is registered");
    check(preconditioner_help().find("toy[:ORDER]") != std::string::npos,
          "the help of the preconditioner");
    check(converges("cg", "toy:3"), "cg with the toy preconditioner");
    check(converges("toy", "jacobi"), "the toy solver");
    check(converges("toy", "toy:1"), "both toys");

    const Context cpu = Context::cpu();
    const auto problem = problems::generate<double>(cpu, "poisson2d:5");
    const auto toy = make_preconditioner(cpu, "toy", problem.matrix);
    check(toy->describe() == "toy:2", "the default of an option");
    check(toy->report().values.size() == 1, "the report");
    try {
        make_preconditioner(cpu, "toy:10", problem.matrix);
        check(false, "an order out of range is refused");
    } catch (const InvalidArgument& error) {
        std::printf("refused: %s\n", error.what());
    }
    return faults == 0 ? 0 : 1;
}
