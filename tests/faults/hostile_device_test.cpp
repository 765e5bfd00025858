#include <sys/wait.h>
#include <unistd.h>

#include "support/test.hpp"

namespace tessera {
namespace {
using test::context;

/// Misuse and faults of a GPU, each in a process of its own.
class hostile_device : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!context().on_gpu()) GTEST_SKIP() << "is about GPUs";
        GTEST_FLAG_SET(death_test_style, "threadsafe");
    }
};

/// The message of the DeviceError that `work` throws, or another text.
template <class Work>
std::string device_error(Work&& work) {
    try {
        work();
        return "no error";
    } catch (const DeviceError& error) {
        return error.what();
    } catch (const std::exception& error) {
        return std::string("another error: ") + error.what();
    }
}

bool solves_on_the_cpu() {
    const Context cpu = Context::cpu(2);
    const auto problem = problems::generate<double>(cpu, Spec("poisson2d:20"));
    const CsrOperator<double> a(cpu, problem.matrix.view());
    Buffer<double> b(cpu, a.rows()), x(cpu, a.rows());
    fill(cpu, 1.0, b.view());
    fill(cpu, 0.0, x.view());
    return solve<double>(cpu, Spec("cg"), a, nullptr, std::as_const(b).view(), x.view()).status ==
           Status::converged;
}

/// Exit code 0 if all is as it must be in the child of a fork.
int use_cuda_in_child(const Context& of_parent) {
    const std::string advice = "fork before that";
    const auto advises = [&](const std::string& text) {
        if (text.find(advice) == std::string::npos) std::fprintf(stderr, "%s\n", text.c_str());
        return text.find(advice) != std::string::npos;
    };
    if (!advises(device_error([&] { const Buffer<double> buffer(of_parent, 1000); }))) return 1;
    if (!advises(device_error([&] { of_parent.synchronize(); }))) return 2;
    if (!advises(device_error([&] { Context::cuda(0); }))) return 3;
    std::string why;
    if (Context::from_name("auto", 1, &why).on_gpu() || !advises(why)) return 4;
    return solves_on_the_cpu() ? 0 : 5;
}

TEST_F(hostile_device, in_the_child_of_a_fork_cuda_is_refused_and_the_cpu_works) {
    const auto parent = [] {
        const Context used = context();
        const Buffer<double> buffer(used, 1000);
        const pid_t child = fork();
        if (child == 0) {
            alarm(30);
            _exit(use_cuda_in_child(used));
        }
        int status = 0;
        waitpid(child, &status, 0);
        fill(used, 1.0, Buffer<double>(used, 10).view());
        used.synchronize();
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 100);
    };
    EXPECT_EXIT(parent(), ::testing::ExitedWithCode(0), "");
}

/// A product whose matrix has columns far beyond x.
TEST_F(hostile_device, a_kernel_that_faults_is_a_device_error_and_the_cpu_works) {
    const auto faulting = [] {
        {
            const Context doomed = context();
            CsrMatrix<double> matrix(doomed, 1, 1, 1);
            const std::vector<Offset> offsets{0, 1};
            const std::vector<Index> columns{1 << 30};
            copy_from_host(doomed, offsets, matrix.row_offsets().view());
            copy_from_host(doomed, columns, matrix.column_indices().view());
            Buffer<double> x(doomed, 1), y(doomed, 1);
            fill(doomed, 1.0, x.view());
            const SpmvPlan plan = plan_spmv<double>(doomed, matrix.view());
            const auto product = [&] {
                multiply<double>(doomed, matrix.view(), plan, 1, x.view(), 0, y.view());
                doomed.synchronize();
            };
            const std::string first = device_error(product), second = device_error(product);
            std::fprintf(stderr, "first: %s; then: %s\n", first.c_str(), second.c_str());
            if (first.find("cudaError") != 0 || second.find("cudaError") != 0) _exit(1);
        }
        exit(solves_on_the_cpu() ? 0 : 2);  // With all destructors.
    };
    EXPECT_EXIT(faulting(), ::testing::ExitedWithCode(0), "first: cudaError.*; then: cudaError");
}

}  // namespace
}  // namespace tessera
