#include <cstring>
#include <map>

#include "support/messages.hpp"
#include "support/test.hpp"

#if TESSERA_WITH_CUDA
#include <cuda_runtime.h>
#endif

namespace tessera::test {

namespace {

#if TESSERA_WITH_CUDA

void* no_memory(Offset, CUstream_st*, void*) { return nullptr; }

/// Counts what it gives, by cudaMallocAsync from the default pool of the device.
struct CountingAllocator {
    std::map<void*, Offset> live;
    Offset calls = 0;
    bool wrong_release = false;
    CUstream_st* stream = nullptr;

    DeviceAllocator functions() {
        return {[](Offset bytes, CUstream_st* on, void* data) {
                    return static_cast<CountingAllocator*>(data)->allocate(bytes, on);
                },
                [](void* memory, Offset bytes, CUstream_st* on, void* data) {
                    static_cast<CountingAllocator*>(data)->release(memory, bytes, on);
                },
                this};
    }
    void* allocate(Offset bytes, CUstream_st* on) {
        wrong_release = wrong_release || on != stream;
        void* memory = nullptr;
        if (cudaMallocAsync(&memory, std::size_t(bytes), on) != cudaSuccess) return nullptr;
        live[memory] = bytes;
        ++calls;
        return memory;
    }
    void release(void* memory, Offset bytes, CUstream_st* on) {
        const auto found = live.find(memory);
        wrong_release =
            wrong_release || found == live.end() || found->second != bytes || on != stream;
        live.erase(found);
        cudaFreeAsync(memory, on);
    }
};

class caller_stream : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!context().on_gpu()) GTEST_SKIP() << "is about GPUs";
        ASSERT_EQ(cudaStreamCreateWithFlags(&own_, cudaStreamNonBlocking), cudaSuccess);
    }
    void TearDown() override {
        if (own_ != nullptr) cudaStreamDestroy(own_);
    }
    std::vector<cudaStream_t> streams() const {
        return {own_, nullptr, cudaStreamLegacy, cudaStreamPerThread};
    }
    cudaStream_t own_ = nullptr;
};

/// The caller copies b to the device, solves and copies x back on one stream, and waits once.
TEST_F(caller_stream, work_before_and_after_a_call_is_in_order) {
    const auto problem = problems::generate<double>(host(), Spec("poisson2d:60"));
    const auto rows = std::size_t(problem.matrix.rows());
    for (const cudaStream_t stream : streams()) {
        const Context device = Context::cuda(0, stream);
        EXPECT_EQ(device.stream(), stream);
        const CsrMatrix<double> matrix = copy_to(device, problem.matrix);
        Buffer<double> b(device, Offset(rows)), x(device, Offset(rows));
        double *from = nullptr, *to = nullptr;  // Page-locked: these copies do not wait.
        ASSERT_EQ(cudaMallocHost(&from, rows * sizeof(double)), cudaSuccess);
        ASSERT_EQ(cudaMallocHost(&to, rows * sizeof(double)), cudaSuccess);
        Solver<double> solver(device, "cg", "chebyshev:4", "sbell");
        solver.setup(matrix);
        std::vector<double> first;
        for (int k = 0; k < 4; ++k) {
            for (std::size_t i = 0; i < rows; ++i) from[i] = double(k + 1) * double(1 + i % 7);
            cudaMemsetAsync(x.data(), 0, rows * sizeof(double), stream);
            cudaMemcpyAsync(b.data(), from, rows * sizeof(double), cudaMemcpyDefault, stream);
            const SolveReport report = solver.solve(b.view(), x.view());
            cudaMemcpyAsync(to, x.data(), rows * sizeof(double), cudaMemcpyDefault, stream);
            ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
            EXPECT_EQ(report.status, Status::converged);
            if (k == 0) first.assign(to, to + rows);
            for (std::size_t i = 0; i < rows; ++i) {
                ASSERT_NEAR(to[i], double(k + 1) * first[i], 1e-5 * std::abs(to[i])) << k;
            }
        }
        cudaFreeHost(from);
        cudaFreeHost(to);
    }
}

TEST_F(caller_stream, all_memory_is_of_the_allocator) {
    CountingAllocator counting;
    counting.stream = own_;
    {
        const Context device = Context::cuda(0, own_, counting.functions());
        const auto problem = problems::generate<double>(host(), Spec("elasticity2d:20"));
        const CsrMatrix<double> matrix = copy_to(device, problem.matrix);
        Buffer<double> b(device, matrix.rows()), x(device, matrix.rows());
        fill<double>(device, 1.0, b.view());
        for (const char* preconditioner : {"block_jacobi:8", "chebyshev:4", "block_ldlt:8"}) {
            Solver<double> solver(device, "cg", preconditioner);
            solver.setup(matrix);
            Offset calls = 0;
            for (int k = 0; k < 3; ++k) {
                fill<double>(device, 0.0, x.view());
                EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
                if (k == 0) calls = counting.calls;
            }
            EXPECT_EQ(counting.calls, calls) << "later solves allocate";
            solver.update(matrix);
        }
        EXPECT_GT(counting.live.size(), 0u);
    }
    EXPECT_TRUE(counting.live.empty());
    EXPECT_FALSE(counting.wrong_release);
    EXPECT_EQ(cudaStreamSynchronize(own_), cudaSuccess);
}

TEST_F(caller_stream, an_empty_allocator_is_out_of_memory) {
    const DeviceAllocator empty{&no_memory, [](void*, Offset, CUstream_st*, void*) {}, nullptr};
    const Context device = Context::cuda(0, own_, empty);
    EXPECT_THROW(Buffer<double>(device, 10), OutOfMemory);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(caller_stream, the_default_pool_is_left_as_it_was) {
    cudaMemPool_t pool = nullptr;
    ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
    const auto state = [&] {
        std::vector<std::uint64_t> values;
        for (const auto attribute : {cudaMemPoolAttrReleaseThreshold, cudaMemPoolAttrUsedMemCurrent,
                                     cudaMemPoolAttrReservedMemCurrent}) {
            std::uint64_t value = 0;
            EXPECT_EQ(cudaMemPoolGetAttribute(pool, attribute, &value), cudaSuccess);
            values.push_back(value);
        }
        return values;
    };
    const auto before = state();
    {
        const Context device = Context::cuda(0, own_);
        const Buffer<double> buffer(device, 1 << 20);
        device.synchronize();
        EXPECT_EQ(state(), before);
    }
    EXPECT_EQ(state(), before);
}

#else

TEST(caller_stream, needs_the_cuda_backend) { GTEST_SKIP() << "this build has no CUDA backend"; }

#endif

}  // namespace

}  // namespace tessera::test
