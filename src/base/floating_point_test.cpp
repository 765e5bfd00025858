#include "tessera/detail/floating_point.hpp"

#include <thread>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "base/parallel.hpp"
#include "krylov/test_systems.hpp"

// The program around the library may have set the floating-point environment of its threads.
namespace tessera::test {

namespace {

#if defined(__x86_64__)
using Control = unsigned;  // MXCSR
constexpr Control usual = 0x1f80;
constexpr Control flags = 0x3f;
/// Denormal numbers flushed; traps of overflow, division by zero and invalid; rounding down, up and
/// to zero. Each with a flag of an earlier underflow.
constexpr Control environments[] = {usual | 0x8050, (usual & ~0x680u) | 0x10, usual | 0x2010,
                                    usual | 0x4010, usual | 0x6010};

Control get_control() { return _mm_getcsr(); }
void set_control(Control control) { _mm_setcsr(control); }
#else
using Control = std::uint64_t;  // FPCR of AArch64, and above its 32 bits FPSR.
constexpr Control usual = 0;
constexpr Control flags = Control(0x1f) << 32;
constexpr Control underflow = Control(0x8) << 32;
/// Denormal numbers flushed; one NaN for all; rounding down, up and to zero. Each with a flag of an
/// earlier underflow.
constexpr Control environments[] = {underflow | 1 << 24, underflow | 1 << 25, underflow | 2 << 22,
                                    underflow | 1 << 22, underflow | 3 << 22};

Control get_control() {
    std::uint64_t control = 0, status = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return control | status << 32;
}
void set_control(Control control) {
    asm volatile("msr fpcr, %0" : : "r"(control & 0xffffffff) : "memory");
    asm volatile("msr fpsr, %0" : : "r"(control >> 32) : "memory");
}
#endif

/// f() in an environment; returns the one after it.
template <class F>
Control control_after(Control environment, F&& f) {
    const Control before = get_control();
    set_control(environment);
    f();
    const Control after = get_control();
    set_control(before);
    return after;
}

}  // namespace

TEST(floating_point, the_environment_of_before_returns) {
    for (const Control environment : environments) {
        Control within = 0;
        const Control after = control_after(environment, [&] {
            const detail::DefaultFloatingPoint guard;
            within = get_control();
            set_control(usual | flags);  // As after exceptions.
        });
        EXPECT_EQ(within & ~flags, usual);
        EXPECT_EQ(after, environment);
    }
}

TEST(floating_point, loops_run_in_the_default_environment_on_all_threads) {
    for (const Control environment : environments) {
        std::vector<Control> within(64, 0);
        Control after = 0;
        std::thread caller([&] {  // With a team of its own, whose threads start in `environment`.
            after = control_after(environment, [&] {
                parallel_parts(3, 64, 64, [&](Offset part, Offset, Offset) {
                    std::this_thread::sleep_for(std::chrono::microseconds(100));
                    within[std::size_t(part)] = get_control() & ~flags;
                });
            });
        });
        caller.join();
        EXPECT_EQ(within, std::vector<Control>(64, usual));
        EXPECT_EQ(after, environment);
    }
}

/// With a right-hand side of denormal numbers, and with squares that overflow on the way.
TEST(floating_point, solves_give_the_same_bits_in_every_environment) {
    const Context where = context();
    const CsrMatrix<double> on_host = laplacian_2d<double>(20);
    const CsrMatrix<double> matrix = copy_to(where, on_host.view());
    for (const char* preconditioner : {"none", "jacobi", "amg", "direct"}) {
        for (const double size : {1e-310, 1.0, 1e200}) {
            const Buffer<double> b = copy_to_buffer(where, std::vector<double>(400, size));
            SolveReport report;
            const auto solve = [&] {
                Solver<double> solver(where, "cg", preconditioner);
                solver.setup(matrix.view());
                Buffer<double> x = copy_to_buffer(where, std::vector<double>(400));
                report = solver.solve(b.view(), x.view());
                return copy_to_host(where, x);
            };
            const std::vector<double> expected = solve();
            EXPECT_EQ(report.status, Status::converged) << preconditioner << " " << size;
            for (const Control environment : environments) {
                std::vector<double> found;
                control_after(environment, [&] { found = solve(); });
                EXPECT_EQ(report.status, Status::converged);
                EXPECT_TRUE(same_bits(found, expected)) << preconditioner << " " << environment;
            }
        }
    }
}

TEST(floating_point, public_calls_leave_the_environment_as_it_was) {
    const Context cpu = Context::cpu(2);
    const CsrMatrix<double> matrix = laplacian_2d<double>(20);
    const std::vector<double> b(400, 1.0);
    const CsrOperator<double> a(cpu, matrix);
    std::vector<double> x(400);
    double square = 0;
    std::unique_ptr<Preconditioner<double>> amg;
    Solver<double> solver(cpu, "cg", "jacobi");
    const std::function<void()> calls[] = {
        [&] { dot<double>(cpu, b, b, &square); },
        [&] { amg = make_preconditioner(cpu, "amg", matrix.view()); },
        [&] { amg->apply(cpu, b, x); },
        [&] { solver.setup(matrix.view()); },
        [&] { solver.update(matrix.view()); },
        [&] { solver.solve(b, x); },
        [&] { solve(cpu, "gmres", a, amg, b, x); },
    };
    for (const Control environment : environments) {
        for (std::size_t k = 0; k < std::size(calls); ++k) {
            EXPECT_EQ(control_after(environment, calls[k]), environment) << "call " << k;
        }
    }
}

}  // namespace tessera::test
