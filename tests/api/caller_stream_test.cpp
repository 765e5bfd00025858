#include <cstring>
#include <limits>
#include <map>
#include <optional>

#include "support/messages.hpp"
#include "support/test.hpp"
#include "tessera/systems.hpp"

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
    Offset largest = std::numeric_limits<Offset>::max();  ///< More bytes are refused.
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
        if (bytes > largest) return nullptr;
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

/// An update of adaptive block Jacobi needs more memory for blocks that are worse conditioned.
TEST_F(caller_stream, block_jacobi_after_an_update_that_ran_out_of_memory) {
    CountingAllocator counting;
    counting.stream = own_;
    const Context device = Context::cuda(0, own_, counting.functions());
    constexpr Index blocks = 400, size = 4, rows = blocks * size;
    const auto matrix_of = [&](bool hilbert) {
        std::vector<std::vector<Index>> columns(rows);
        std::vector<std::vector<double>> values(rows);
        for (Index i = 0; i < rows; ++i) {
            for (Index k = 0; k < size; ++k) {
                const double near_identity = i % size == k ? 2.0 : 0.1;
                columns[std::size_t(i)].push_back(i / size * size + k);
                values[std::size_t(i)].push_back(hilbert ? 1.0 / (1 + i % size + k)
                                                         : near_identity);
            }
        }
        return copy_to(device, make_csr<double>(rows, rows, columns, values));
    };
    const CsrMatrix<double> good = matrix_of(false), bad = matrix_of(true);
    BlockJacobiOptions options;
    options.precision = BlockPrecision::adaptive;
    BlockJacobi<double> jacobi(device, good.view(), uniform_partition(device, rows, size), options);
    counting.largest = blocks * size * size * 3;
    EXPECT_THROW(jacobi.update(device, bad.view()), OutOfMemory);
    Buffer<double> r(device, rows), z(device, rows);
    fill<double>(device, 1.0, r.view());
    EXPECT_THROW(jacobi.apply(device, r.view(), z.view()), InvalidArgument);
    counting.largest = std::numeric_limits<Offset>::max();
    jacobi.update(device, bad.view());
    jacobi.apply(device, r.view(), z.view());
    const BlockJacobi<double> anew(device, bad.view(), uniform_partition(device, rows, size),
                                   options);
    Buffer<double> expected(device, rows);
    anew.apply(device, r.view(), expected.view());
    EXPECT_EQ(copy_to_host(device, z), copy_to_host(device, expected));
}

TEST_F(caller_stream, what_the_allocator_has_ready_is_free) {
    CountingAllocator counting;
    counting.stream = own_;
    DeviceAllocator functions = counting.functions();
    const Offset without = Context::cuda(0, own_, functions).free_memory();
    functions.ready = [](CUstream_st*, void*) { return Offset(1) << 50; };
    const Offset with = Context::cuda(0, own_, functions).free_memory();
    EXPECT_GT(without, 0);
    EXPECT_LT(without, Offset(1) << 50);
    EXPECT_GT(with, Offset(1) << 50);
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

/// A graph that the caller records on its stream.
class CallersGraph {
  public:
    template <class Work>
    CallersGraph(cudaStream_t stream, Work work,
                 cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal)
        : stream_(stream) {
        EXPECT_EQ(cudaStreamBeginCapture(stream, mode), cudaSuccess);
        work();
        cudaGraph_t graph = nullptr;
        EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
        EXPECT_EQ(cudaGraphInstantiate(&executable_, graph, 0), cudaSuccess);
        cudaGraphDestroy(graph);
    }
    ~CallersGraph() { cudaGraphExecDestroy(executable_); }
    CallersGraph(const CallersGraph&) = delete;
    CallersGraph& operator=(const CallersGraph&) = delete;
    void launch() const { EXPECT_EQ(cudaGraphLaunch(executable_, stream_), cudaSuccess); }

  private:
    cudaStream_t stream_;
    cudaGraphExec_t executable_ = nullptr;
};

// Libraries capture on streams of their own, in the strictest mode.
TEST_F(caller_stream, a_context_is_made_while_its_stream_is_captured) {
    const Context device = Context::cuda(0);
    Buffer<double> a = copy_to_buffer(device, std::vector<double>{4, 1, 1, 3, 2, 0, 0, 8});
    const Buffer<double> b = copy_to_buffer(device, std::vector<double>{5, 4, 2, 8});
    Buffer<double> x(device, 4);
    Buffer<double> inverses(device, 8);
    using View = batched::BatchView<double>;
    std::optional<Context> inside;
    const CallersGraph graph(
        own_,
        [&] {
            inside.emplace(Context::cuda(0, own_));
            batched::solve<double>(*inside, View::uniform(2, 2, a.data()),
                                   {1, 2, 2, nullptr, b.data()}, {1, 2, 2, nullptr, x.data()});
            batched::invert<double>(*inside, View::uniform(2, 2, a.data()),
                                    View::uniform(2, 2, inverses.data()));
        },
        cudaStreamCaptureModeGlobal);
    graph.launch();
    EXPECT_EQ(cudaStreamSynchronize(own_), cudaSuccess);
    EXPECT_EQ(copy_to_host(device, x), (std::vector<double>{1, 1, 1, 1}));
    EXPECT_EQ(copy_to_host(device, inverses)[4], 0.5);
    EXPECT_EQ(Buffer<double>(*inside, 3).size(), 3);  // Memory of its own, after the capture.
}

TEST_F(caller_stream, operators_are_recorded_in_a_graph_of_the_caller) {
    CountingAllocator counting;
    counting.stream = own_;
    const Context device = Context::cuda(0, own_, counting.functions());
    const auto matrix =
        copy_to(device, problems::generate<double>(host(), Spec("elasticity2d:20")).matrix);
    const auto large =
        copy_to(device, problems::generate<double>(host(), Spec("elasticity2d:40")).matrix);
    const Offset n = matrix.rows();
    const int count = 3;
    auto random = generator();
    std::vector<double> given = random_vector<double>(random, std::size_t(n * count));
    Buffer<double> r = copy_to_buffer(device, given), z(device, n * count);
    Buffer<double> r_large(device, large.rows()), z_large(device, large.rows());
    fill<double>(device, 1.0, r_large.view());
    const auto make = [&](const char* text, const CsrMatrix<double>& a) {
        const bool product = std::string(text) == "csr" || std::string(text) == "sbell:2";
        return product ? make_operator(device, a, parse_format(text))
                       : std::unique_ptr<Operator<double>>(make_preconditioner(device, text, a));
    };
    for (const char* text : {"csr", "sbell:2", "jacobi", "block_jacobi:8", "chebyshev:4",
                             "chebyshev:3,precision=f32", "block_ldlt:8"}) {
        SCOPED_TRACE(text);
        const auto f = make(text, matrix), other = make(text, large);
        const auto apply = [&] {
            f->apply(device, r.view().first(std::size_t(n)), z.view().first(std::size_t(n)));
            f->apply_vectors(device, Vectors<const double>(r.data() + n, n, count - 1, n),
                             Vectors<double>(z.data() + n, n, count - 1, n));
        };
        apply();
        const std::vector<double> expected = copy_to_host(device, z);
        fill<double>(device, 0.0, z.view());
        const Offset calls = counting.calls;
        const CallersGraph graph(own_, apply);
        EXPECT_EQ(counting.calls, calls);
        EXPECT_EQ(copy_to_host(device, z), std::vector<double>(given.size(), 0.0));
        // More work space for other work does not touch that of the graph.
        other->apply(device, r_large.view(), z_large.view());
        graph.launch();
        EXPECT_EQ(copy_to_host(device, z), expected);
        for (double& value : given) value *= 2;
        copy_from_host<double>(device, given, r.view());
        graph.launch();
        const std::vector<double> twice = copy_to_host(device, z);
        for (std::size_t i = 0; i < twice.size(); ++i) ASSERT_EQ(twice[i], 2 * expected[i]) << i;
        for (double& value : given) value /= 2;
        copy_from_host<double>(device, given, r.view());
    }
}

TEST_F(caller_stream, batches_are_recorded_in_a_graph_of_the_caller) {
    const Context device = Context::cuda(0, own_);
    const std::vector<Index> sizes{3, 8, 17, 32, 40, 5};
    Offset values = 0;
    std::vector<Offset> starts;
    for (const Index n : sizes) {
        starts.push_back(values);
        values += Offset(n) * n;
    }
    auto random = generator();
    const auto a = copy_to_buffer(device, random_vector<double>(random, std::size_t(values)));
    Buffer<double> inverse(device, values), condition(device, Offset(sizes.size()));
    const auto on_device = copy_to_buffer(device, sizes);
    const auto offsets = copy_to_buffer(device, starts);
    const batched::Plan plan(device, Index(sizes.size()), on_device.data());
    const auto from = batched::BatchView<const double>::packed(
        Index(sizes.size()), on_device.data(), offsets.data(), a.data());
    const auto to = batched::BatchView<double>::packed(Index(sizes.size()), on_device.data(),
                                                       offsets.data(), inverse.data());
    const auto invert = [&] {
        batched::invert_with_condition<double>(device, from, to,
                                               {.reciprocal_condition = condition.data()}, &plan);
    };
    invert();
    const auto expected = copy_to_host(device, inverse);
    fill<double>(device, 0.0, inverse.view());
    const CallersGraph graph(own_, invert);
    EXPECT_EQ(copy_to_host(device, inverse), std::vector<double>(expected.size(), 0.0));
    graph.launch();
    EXPECT_EQ(copy_to_host(device, inverse), expected);
}

TEST_F(caller_stream, what_cannot_be_recorded_is_named) {
    const Context device = Context::cuda(0, own_);
    const auto matrix =
        copy_to(device, problems::generate<double>(host(), Spec("elasticity2d:20")).matrix);
    Buffer<double> b(device, matrix.rows()), x(device, matrix.rows());
    fill<double>(device, 1.0, b.view());
    fill<double>(device, 0.0, x.view());
    Solver<double> solver(device, "cg", "jacobi");
    solver.setup(matrix);
    // Solved once, it allocates nothing.
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
    fill<double>(device, 0.0, x.view());
    const auto polynomial = make_preconditioner(device, "chebyshev:4", matrix);
    std::vector<double> on_host(b.view().size());
    // The work space that the preconditioner has reserved is that for one vector.
    Buffer<double> memory(device, 16 * Offset(on_host.size()));
    const Offset n = matrix.rows();
    const Vectors<const double> many(memory.data(), n, 8, n);
    const Vectors<double> many_results(memory.data() + 8 * n, n, 8, n);
    const CallersGraph graph(own_, [&] {
        const auto expect = [](const char* text, auto call) {
            expect_contains(message_of(call), text);
        };
        expect("memory cannot be allocated inside a capture", [&] { Buffer<double>(device, 8); });
        expect("the host cannot wait inside a capture", [&] { device.synchronize(); });
        expect("inside a capture",
               [&] { copy_to_host<double>(device, b.view(), std::span<double>(on_host)); });
        expect("work space cannot be allocated inside a capture",
               [&] { polynomial->apply_vectors(device, many, many_results); });
        expect("a solve, which waits, cannot be recorded inside a capture",
               [&] { solver.solve(b.view(), x.view()); });
        expect("another capture cannot begin inside a capture",
               [&] { static_cast<void>(device.capture([] {})); });
        expect("inside a capture", [&] { find_blocks(device, matrix, 8); });
    });
    EXPECT_EQ(copy_to_host(device, x), std::vector<double>(on_host.size(), 0.0));
    EXPECT_EQ(solver.solve(b.view(), x.view()).status, Status::converged);
}

TEST_F(caller_stream, memory_released_inside_a_capture_is_freed_after_it) {
    CountingAllocator counting;
    counting.stream = own_;
    {
        const Context device = Context::cuda(0, own_, counting.functions());
        std::optional<Buffer<double>> first(std::in_place, device, 100);
        const Buffer<double> other(device, 100);
        const CallersGraph graph(own_, [&] { first.reset(); });
        EXPECT_EQ(counting.live.size(), 2u);
        const Buffer<double> later(device, 100);
        EXPECT_EQ(counting.live.size(), 2u);
        std::optional<Buffer<double>> last(std::in_place, device, 100);
        const CallersGraph again(own_, [&] { last.reset(); });
        EXPECT_EQ(counting.live.size(), 3u);
    }
    EXPECT_TRUE(counting.live.empty());
    EXPECT_FALSE(counting.wrong_release);
}

#else

TEST(caller_stream, needs_the_cuda_backend) { GTEST_SKIP() << "this build has no CUDA backend"; }

#endif

}  // namespace

}  // namespace tessera::test
