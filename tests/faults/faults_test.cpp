#include "support/faults.hpp"

#include <filesystem>
#include <map>
#include <new>

#include "base/concat.hpp"
#include "support/test.hpp"

namespace tessera {
namespace {
namespace faults = test::faults;
using faults::Kind;
using test::context;

/// Generates, finds blocks, sets up, solves, writes and reads; returns what must repeat bitwise.
std::vector<double> round_trip(const Context& device, const std::string& file) {
    const Context host = Context::cpu(2);
    const auto problem = problems::generate<double>(host, Spec("elasticity2d:6"));
    const CsrMatrix<double> matrix = copy_to(device, problem.matrix.view());
    const Index n = matrix.rows();
    std::vector<double> results;
    Buffer<double> b(device, n), x(device, n);
    fill_uniform(device, 3, b.view());
    const auto add = [&](const Buffer<double>& of_device) {
        const std::vector<double> values = copy_to_host(device, of_device);
        results.insert(results.end(), values.begin(), values.end());
    };
    const CsrOperator<double> a(device, matrix.view());
    for (const char* text : {"block_jacobi:8", "block_ldlt:4", "chebyshev:3"}) {
        const auto m = make_preconditioner<double>(device, text, matrix.view());
        m->update(device, matrix.view());
        fill(device, 0.0, x.view());
        SolveOptions options;
        options.max_iterations = 6;
        options.check_interval = 2;
        solve<double>(device, Spec("gmres:4"), a, m.get(), std::as_const(b).view(), x.view(),
                      options);
        add(x);
    }
    for (const std::string& solver : solver_names()) {
        fill(device, 0.0, x.view());
        SolveOptions options;
        options.max_iterations = 6;
        options.check_interval = 2;  // The second batch is captured as a graph.
        solve<double>(device, Spec(solver), a, nullptr, std::as_const(b).view(), x.view(), options);
        add(x);
    }
    for (const std::string& format : format_names()) {
        const auto stored = make_operator<double>(device, matrix.view(), parse_format(format));
        stored->apply(device, std::as_const(b).view(), x.view());
        add(x);
    }
    io::write_matrix<double>(host, file, problem.matrix.view());
    const CsrMatrix<double> back = io::read_matrix<double>(host, file);
    results.push_back(double(back.nonzeros()));
    return results;
}

/// What went wrong when one call failed; empty: nothing.
std::string try_fault(const Context& device, const std::string& file, Kind kind, long k,
                      bool lasting, const std::vector<double>& expected) {
    const Offset memory = device.memory_bytes();
    std::string wrong;
    faults::arm(kind, k, lasting);
    try {
        const bool same = round_trip(device, file) == expected;
        faults::disarm();
        if (!same) wrong = "another result";
    } catch (const Error&) {
        faults::disarm();
    } catch (const std::bad_alloc&) {
        faults::disarm();
    } catch (const std::exception& error) {
        faults::disarm();
        wrong = std::string("an error that is not of the library: ") + error.what();
    }
    device.synchronize();
    if (device.memory_bytes() != memory) wrong += ", other memory is in use than before";
    return wrong.empty() ? "" : concat(faults::to_string(kind), " ", k, ": ", wrong);
}

/// After any call failed the context gives the same results as before, and no memory is lost.
TEST(faults, every_failing_call_is_a_clean_error_of_the_library) {
    const Context device = context();
    std::mt19937_64 random = test::generator();
    const std::string folder = test::scratch_folder(), file = folder + "/matrix.mtx";
    const std::vector<double> expected = round_trip(device, file);
    std::map<Kind, long> calls;
    faults::arm(Kind::memory, 0);
    ASSERT_EQ(round_trip(device, file), expected);
    faults::disarm();
    for (const Kind kind : faults::kinds) calls[kind] = faults::calls(kind);
    ASSERT_GT(calls[Kind::memory], 1000);
    ASSERT_GT(calls[Kind::file], 5);
    ASSERT_TRUE(!device.on_gpu() || calls[Kind::cuda] > 200);
    int tried = 0, failed = 0;
    for (const Kind kind : faults::kinds) {
        for (const long k : faults::calls_to_try(random, calls[kind], 500)) {
            const std::string wrong = try_fault(device, file, kind, k, tried % 3 == 2, expected);
            ASSERT_EQ(wrong, "");
            failed += faults::failed();  // Not where a graph was shortened by the time it took.
            ++tried;
            ASSERT_TRUE(tried % 20 != 0 || round_trip(device, file) == expected);
        }
    }
    EXPECT_EQ(round_trip(device, file), expected);
    EXPECT_GT(failed, tried * 9 / 10);
    std::printf("%d calls failed on purpose\n", failed);
    std::filesystem::remove_all(folder);
}

/// Where a call for memory fails while the first attempt of auto is set up, another one solves.
TEST(faults, auto_takes_another_way_where_memory_fails) {
    const Context device = context();
    const auto problem = problems::generate<double>(Context::cpu(2), Spec("elasticity2d:12"));
    const CsrMatrix<double> matrix = copy_to(device, problem.matrix.view());
    Buffer<double> b(device, matrix.rows()), x(device, matrix.rows());
    fill_uniform(device, 3, b.view());
    const auto solves = [&](Solver<double>& solver) {
        fill(device, 0.0, x.view());
        return solver.solve(std::as_const(b).view(), x.view()).status == Status::converged;
    };
    long calls = 0;
    {
        Solver<double> solver(device, "auto", "auto");
        faults::arm(Kind::memory, 0);
        solver.setup(matrix);
        faults::disarm();
        calls = faults::calls(Kind::memory);
        ASSERT_GT(solver.attempts().size(), 1U);
        ASSERT_EQ(solver.attempt(), 0);
        ASSERT_TRUE(solves(solver));
    }
    std::mt19937_64 random = test::generator();
    int others = 0;
    for (const long k : faults::calls_to_try(random, calls, 40)) {
        Solver<double> solver(device, "auto", "auto");
        faults::arm(Kind::memory, k);
        try {
            solver.setup(matrix);
            faults::disarm();
        } catch (const OutOfMemory&) {  // Where the matrix is looked at.
            faults::disarm();
            continue;
        } catch (const std::bad_alloc&) {
            faults::disarm();
            continue;
        }
        EXPECT_TRUE(solves(solver)) << "call " << k;
        if (solver.attempt() == 0) continue;
        ++others;
        const std::string reason = solver.attempts().at(std::size_t(solver.attempt())).reason;
        EXPECT_NE(reason.find(" cannot be set up (out of "), std::string::npos) << reason;
    }
    EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace tessera
