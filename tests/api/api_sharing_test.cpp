#include <cstring>
#include <functional>
#include <latch>
#include <thread>

#include "support/test.hpp"

namespace tessera::test {

namespace {

constexpr int thread_count = 4;

/// A Context of its own for a thread, of the kind that this run tests.
Context another_context() { return context().on_gpu() ? Context::cuda() : Context::cpu(2); }

/// work(context, k) gives numbers; `work` runs for k = 0 .. 3 one after the other, and then on four
/// threads at once, each with a Context of its own. All bits must be equal.
void expect_equal_on_threads(const std::function<std::vector<double>(const Context&, int)>& work) {
    std::vector<std::vector<double>> alone(thread_count), together(thread_count);
    for (int k = 0; k < thread_count; ++k) alone[std::size_t(k)] = work(another_context(), k);
    std::vector<std::string> failures(thread_count);
    std::latch start(thread_count);
    std::vector<std::thread> threads;
    for (int k = 0; k < thread_count; ++k) {
        threads.emplace_back([&, k] {
            const Context own = another_context();
            start.arrive_and_wait();
            try {
                together[std::size_t(k)] = work(own, k);
            } catch (const Error& error) {
                failures[std::size_t(k)] = error.what();
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (int k = 0; k < thread_count; ++k) {
        const auto &a = alone[std::size_t(k)], &b = together[std::size_t(k)];
        ASSERT_EQ(failures[std::size_t(k)], "");
        ASSERT_FALSE(a.empty());
        ASSERT_EQ(a.size(), b.size());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(double)), 0) << "thread " << k;
    }
}

/// Random vectors, another one for each thread.
std::vector<std::vector<double>> vectors_of_threads(std::size_t n) {
    auto random = generator();
    std::vector<std::vector<double>> vectors;
    for (int k = 0; k < thread_count; ++k) vectors.push_back(random_vector<double>(random, n));
    return vectors;
}

CsrMatrix<double> generated(const char* problem) {
    return copy_to(context(), problems::generate<double>(host(), problem).matrix);
}

/// Every registered preconditioner with its defaults, and options that choose other work vectors.
std::vector<std::string> preconditioners() {
    std::vector<std::string> texts = preconditioner_names();
    std::erase(texts, "none");
    for (const char* more :
         {"block_jacobi:8,precision=f32", "block_jacobi:8,precision=adaptive",
          "block_ldlt:1,safeguard=off", "block_ldlt:4,method=level", "block_ldlt:8,solve_sweeps=3",
          "chebyshev:3,precision=f32", "least_squares:4,scaling=none",
          "chebyshev4:3,format=sbell,values=f16", "neumann:2,scaling=none"}) {
        texts.emplace_back(more);
    }
    return texts;
}

}  // namespace

TEST(api_sharing, preconditioners) {
    const CsrMatrix<double> matrix = generated("elasticity2d:16");
    const auto n = std::size_t(matrix.rows());
    const auto vectors = vectors_of_threads(n);
    for (const std::string& text : preconditioners()) {
        SCOPED_TRACE(text);
        const std::unique_ptr<const Preconditioner<double>> m =
            make_preconditioner(context(), text, matrix);
        context().synchronize();
        expect_equal_on_threads([&](const Context& own, int k) {
            const auto r = copy_to_buffer(own, vectors[std::size_t(k)]);
            Buffer<double> z(own, Offset(2 * n)), rz(own, 1);
            const auto first = z.view().first(n), second = z.view().last(n);
            m->apply(own, r.view(), first);
            const std::function<void()> work = [&] {
                m->apply(own, r.view(), second);
                m->apply(own, second, first);
            };
            const auto graph = m->can_be_captured() ? own.capture(work) : work;
            for (int round = 0; round < 20; ++round) {
                graph();
                m->apply_dot(own, first, second, rz.data());
            }
            return copy_to_host(own, z);
        });
    }
}

TEST(api_sharing, matrices_of_all_formats) {
    const CsrMatrix<double> matrix = generated("elasticity2d:16");
    const auto n = std::size_t(matrix.rows());
    const auto vectors = vectors_of_threads(n);
    std::vector<std::string> formats = format_names();
    formats.insert(formats.end(), {"sbell:2,sort_window=64,index=16", "sbell:3,values=bf16"});
    for (const std::string& text : formats) {
        SCOPED_TRACE(text);
        const std::unique_ptr<const Operator<double>> a =
            make_operator(context(), matrix, parse_format(text));
        context().synchronize();
        expect_equal_on_threads([&](const Context& own, int k) {
            const auto x = copy_to_buffer(own, vectors[std::size_t(k)]);
            Buffer<double> y(own, Offset(3 * n)), work(own, Offset(n)), xy(own, 1);
            const auto first = y.view().first(n), second = y.view().subspan(n, n);
            const auto third = y.view().last(n);
            for (int round = 0; round < 20; ++round) {
                a->apply(own, x.view(), first);
                a->apply_dot(own, first, second, xy.data());
                a->apply_step(own, {1, -1, 0.5, 2}, x.view(), second, first, third, work.view());
            }
            std::vector<double> all = copy_to_host(own, y);
            all.push_back(copy_to_host(own, xy)[0]);
            return all;
        });
    }
}

/// A row that all threads of a product share.
TEST(api_sharing, a_matrix_with_a_long_row) {
    const Index n = 70000;
    std::vector<std::vector<Index>> pattern(2);
    std::vector<std::vector<double>> values(2);
    for (Index j = 0; j < n; ++j) pattern[0].push_back(j);
    pattern[1] = {7};
    values[0].assign(std::size_t(n), 0.1);
    values[1] = {1};
    const CsrMatrix<double> matrix = copy_to(context(), make_csr<double>(2, n, pattern, values));
    const CsrOperator<double> a(context(), matrix.view());
    context().synchronize();
    const auto vectors = vectors_of_threads(std::size_t(n));
    expect_equal_on_threads([&](const Context& own, int k) {
        const auto x = copy_to_buffer(own, vectors[std::size_t(k)]);
        Buffer<double> y(own, 2);
        for (int round = 0; round < 20; ++round) a.apply(own, x.view(), y.view());
        return copy_to_host(own, y);
    });
}

TEST(api_sharing, solves_with_one_matrix_and_preconditioner) {
    const CsrMatrix<double> matrix = generated("poisson2d:16");
    const CsrOperator<double> a(context(), matrix.view());
    const auto vectors = vectors_of_threads(std::size_t(matrix.rows()));
    for (const char* preconditioner : {"block_ldlt:4,positive_definite", "least_squares:4"}) {
        const std::unique_ptr<const Preconditioner<double>> m =
            make_preconditioner(context(), preconditioner, matrix);
        context().synchronize();
        for (const std::string& solver : solver_names()) {
            SCOPED_TRACE(solver + " with " + preconditioner);
            expect_equal_on_threads([&](const Context& own, int k) {
                const auto b = copy_to_buffer(own, vectors[std::size_t(k)]);
                Buffer<double> x(own, b.size());
                fill(own, 0.0, x.view());
                SolveOptions options;
                options.max_iterations = 60;
                options.left_preconditioning = solver == "gmres" || solver == "bicgstab";
                const SolveReport report =
                    solve(own, solver, a, m.get(), b.view(), x.view(), options);
                std::vector<double> all = copy_to_host(own, x);
                all.insert(all.end(), report.residuals.begin(), report.residuals.end());
                return all;
            });
        }
    }
}

/// On a GPU all Contexts have the default stream.
TEST(api_sharing, contexts_end_while_other_threads_solve) {
    const CsrMatrix<double> matrix = generated("poisson2d:8");
    const CsrOperator<double> a(context(), matrix.view());
    const auto m = make_preconditioner(context(), "block_jacobi:4", matrix);
    context().synchronize();
    const auto vectors = vectors_of_threads(std::size_t(matrix.rows()));
    expect_equal_on_threads([&](const Context&, int k) {
        std::vector<double> all;
        for (int round = 0; round < 25; ++round) {
            const Context own = context().on_gpu() ? Context::cuda(0, nullptr) : Context::cpu(2);
            const auto b = copy_to_buffer(own, vectors[std::size_t(k)]);
            Buffer<double> x(own, b.size());
            for (int solves = 0; solves <= round % 3; ++solves) {
                fill(own, 0.0, x.view());
                cg(own, a, m.get(), b.view(), x.view());
            }
            const std::vector<double> found = copy_to_host(own, x);
            all.insert(all.end(), found.begin(), found.end());
        }
        return all;
    });
}

/// The spectrum of this polynomial ends too early, so the first solves raise its end for all.
TEST(api_sharing, a_preconditioner_that_recovers) {
    const CsrMatrix<double> matrix = generated("elasticity2d:16");
    const CsrOperator<double> a(context(), matrix.view());
    const auto vectors = vectors_of_threads(std::size_t(matrix.rows()));
    const std::unique_ptr<const Preconditioner<double>> m =
        make_preconditioner(context(), "least_squares:5,bound=1.4", matrix);
    context().synchronize();
    std::vector<SolveReport> reports(thread_count);
    std::vector<std::thread> threads;
    for (std::size_t k = 0; k < reports.size(); ++k) {
        threads.emplace_back([&, k] {
            const Context own = another_context();
            const auto b = copy_to_buffer(own, vectors[k]);
            Buffer<double> x(own, b.size());
            fill(own, 0.0, x.view());
            reports[k] = cg(own, a, m.get(), b.view(), x.view());
        });
    }
    for (std::thread& thread : threads) thread.join();
    Offset recoveries = 0;
    for (const SolveReport& report : reports) {
        EXPECT_EQ(report.status, Status::converged) << report.message;
        recoveries += report.recoveries;
    }
    EXPECT_GE(recoveries, 1);
}

TEST(api_sharing, plans_of_batches) {
    auto random = generator();
    const Context device = context();
    std::vector<Index> sizes;
    std::vector<Offset> offsets{0};
    for (Index b = 0; b < 200; ++b) {
        sizes.push_back(1 + Index(random() % 20));
        offsets.push_back(offsets.back() + Offset(sizes.back()) * sizes.back());
    }
    const auto count = Index(sizes.size());
    const auto device_sizes = copy_to_buffer(device, sizes);
    const auto device_offsets = copy_to_buffer(device, offsets);
    const batched::Plan plan(device, count, device_sizes.data());
    device.synchronize();
    const auto vectors = vectors_of_threads(std::size_t(offsets.back()));
    expect_equal_on_threads([&](const Context& own, int k) {
        const auto a = copy_to_buffer(own, vectors[std::size_t(k)]);
        Buffer<double> x(own, a.size());
        const auto from = batched::BatchView<const double>::packed(count, device_sizes.data(),
                                                                   device_offsets.data(), a.data());
        const auto to = batched::BatchView<double>::packed(count, device_sizes.data(),
                                                           device_offsets.data(), x.data());
        for (int round = 0; round < 5; ++round) batched::invert(own, from, to, nullptr, &plan);
        return copy_to_host(own, x);
    });
}

/// A later call that needs more work space does not take that of a graph away.
TEST(api_sharing, graphs_keep_their_work_space) {
    const Context own = another_context();
    const CsrMatrix<double> small = generated("elasticity2d:4"),
                            large = generated("elasticity2d:16");
    const auto m = make_preconditioner(context(), "chebyshev4:3", small);
    const auto larger = make_preconditioner(context(), "block_ldlt:4", large);
    context().synchronize();
    const auto r = copy_to_buffer(own, vectors_of_threads(std::size_t(small.rows()))[0]);
    const auto more = copy_to_buffer(own, vectors_of_threads(std::size_t(large.rows()))[0]);
    Buffer<double> z(own, r.size()), again(own, r.size()), other(own, more.size());
    m->apply(own, r.view(), z.view());
    const auto graph = own.capture([&] { m->apply(own, r.view(), again.view()); });
    larger->apply(own, more.view(), other.view());
    const std::vector<double> expected = copy_to_host(own, other);
    graph();
    larger->apply(own, more.view(), other.view());
    EXPECT_EQ(copy_to_host(own, again), copy_to_host(own, z));
    EXPECT_EQ(copy_to_host(own, other), expected);
}

}  // namespace tessera::test
