#include <cstddef>
#include <filesystem>

#include "support/messages.hpp"
#include "support/test.hpp"
#include "tessera/tessera.hpp"

// Lines as the author of a program writes them first: owners (CsrMatrix, Buffer, std::vector,
// std::unique_ptr) where the library works on views.
namespace tessera::test {
namespace {

struct Given {
    Context ctx = context();
    CsrMatrix<double> A = copy_to(ctx, problems::generate<double>(host(), "poisson2d:12").matrix);
    std::vector<double> ones = std::vector<double>(144, 1.0);
    Buffer<double> b = copy_to_buffer(ctx, ones);
    Buffer<double> x = Buffer<double>(ctx, 144);
    Given() { fill(ctx, 0, x); }
};

TEST(api_owners, solves_take_owners) {
    Given g;
    auto& [ctx, A, v, b, x] = g;
    const auto expect_solved = [&](const SolveReport& report) {
        EXPECT_EQ(report.status, Status::converged) << report.message;
        EXPECT_GT(report.iterations, 0);
        fill(ctx, 0, x);
    };
    CsrOperator op(ctx, A);
    auto m = make_preconditioner(ctx, "amg", A);
    const std::shared_ptr<Operator<double>> shared = make_preconditioner(ctx, "jacobi", A);
    expect_solved(cg(ctx, CsrOperator(ctx, A.view()), nullptr, b, x));
    expect_solved(cg(ctx, op, m, b, x));
    expect_solved(cg(ctx, op, m.get(), b.view(), x.view(), SolveOptions{.rtol = 1e-6}));
    expect_solved(solve(ctx, "cg", op, m, b.view(), x.view()));
    expect_solved(solve(ctx, "bicgstab", op, shared, b, x, {.rtol = 1e-6}));
    expect_solved(solve(ctx, A, b, x));
    expect_solved(solve(ctx, A.view(), b.view(), x.view(), {.max_iterations = 500}));
    Amg amg(ctx, A);
    expect_solved(solve(ctx, "fcg", op, &amg, b, x));
    BlockJacobi blocks(ctx, A, find_blocks(ctx, A, 16));
    expect_solved(cg(ctx, op, &blocks, b, x));
    BlockLdlt factor(ctx, A);
    expect_solved(cg(ctx, op, &factor, b, x));
    Solver<double> s(ctx);
    s.setup(A);
    s.update(A);
    expect_solved(s.solve(b, x));
    IterativeSolver<double>& iterative = *parse_solver("cg")->make(ctx, op, nullptr).release();
    expect_solved(iterative.solve(b, x, {}));
    delete &iterative;
}

TEST(api_owners, host_vectors_on_a_cpu) {
    const Context cpu = host();
    const CsrMatrix<double> A = problems::generate<double>(cpu, "poisson2d:12").matrix;
    const std::vector<double> b(144, 1.0);
    std::vector<double> x(144, 0.0);
    Solver<double> s(cpu);
    s.setup(A);
    EXPECT_EQ(s.solve(b, x).status, Status::converged);
    fill(cpu, 0, x);
    EXPECT_EQ(solve(cpu, A, b, x).status, Status::converged);
    if (!context().on_gpu()) return;
    Solver<double> on_gpu(context());
    const CsrMatrix<double> there = copy_to(context(), A);
    on_gpu.setup(there);
    expect_contains(message_of([&] { on_gpu.solve(b, x); }), "copy_to_buffer");
    expect_contains(message_of([&] { on_gpu.setup(A); }), "copy_to");
}

TEST(api_owners, products_and_vectors) {
    Given g;
    auto& [ctx, A, v, b, x] = g;
    const auto values = [&, &ctx = ctx](const Buffer<double>& buffer) {
        return copy_to_host(ctx, buffer);
    };
    const SpmvPlan plan = plan_spmv(ctx, A);
    multiply(ctx, A, plan, 1.0, b, 0.0, x);
    Buffer<double> y(ctx, 144);
    make_operator(ctx, A, "sbell:2")->apply(ctx, b, y);
    CsrOperator(ctx, A).apply(ctx, b, y);
    EXPECT_EQ(values(x), values(y));
    axpby(ctx, 2.0, b, 1.0, y);
    axpbypcz(ctx, 1.0, b, 1.0, b, -1.0, y);
    for (std::size_t i = 0; i < v.size(); ++i) ASSERT_EQ(values(y)[i], -values(x)[i]);
    multiply_elementwise(ctx, b, x, y);
    copy(ctx, x, y);
    fill_uniform(ctx, 1, y);
    fill_normal(ctx, 1, y);
    copy_from_host(ctx, v, y);
    EXPECT_EQ(dot_to_host(ctx, b, y), 144);
    EXPECT_EQ(dot_to_host(ctx, b.view(), y.view()), 144);
    dot(ctx, b, y, x.data());
    const Buffer<double> listed = copy_to_buffer(ctx, {1.0, 2.0});
    EXPECT_EQ(values(listed), (std::vector<double>{1, 2}));
}

TEST(api_owners, facts_and_products_of_matrices) {
    Given g;
    auto& [ctx, A, v, b, x] = g;
    validate(copy_to_host(ctx, A.view()));
    EXPECT_TRUE(is_symmetric(ctx, A));
    EXPECT_TRUE(check_symmetry(ctx, A, "test"));
    EXPECT_EQ(first_non_finite_row(ctx, A), -1);
    EXPECT_EQ(transpose(ctx, A).nonzeros(), A.nonzeros());
    EXPECT_TRUE(find_facts(ctx, A).symmetric);
    EXPECT_GT(gershgorin_bound(ctx, A), 4);
    EXPECT_EQ(format_statistics(ctx, A, parse_format("csr")).nonzeros, A.nonzeros());
    const CsrMatrix<double> p = transpose(ctx, A);
    CsrMatrix<double> square = multiply(ctx, A, p);
    update_product(ctx, A, p, square);
    EXPECT_EQ(triple_product(ctx, p, A).rows(), 144);
    EXPECT_EQ(square.rows(), 144);
}

TEST(api_owners, files) {
    const Context cpu = host();
    const CsrMatrix<double> A = problems::generate<double>(cpu, "poisson2d:3").matrix;
    const std::filesystem::path folder = std::filesystem::temp_directory_path();
    const std::string name = (folder / ("tessera_owners_" + std::to_string(::getpid()))).string();
    std::vector<double> v(9, 2.0);
    io::write_matrix(cpu, name + ".mtx", A);
    io::write_vector(cpu, name + "_x.mtx", v);
    EXPECT_EQ(io::read_vector<double>(cpu, name + "_x.mtx"), v);
    io::write_vector(cpu, name + "_x.mtx", std::span(v));
    io::write_vector(cpu, name + "_x.mtx", std::span<const double>(v));
    EXPECT_EQ(io::read_matrix<double>(cpu, name + ".mtx").nonzeros(), A.nonzeros());
    std::filesystem::remove(name + ".mtx");
    std::filesystem::remove(name + "_x.mtx");
}

TEST(api_owners, batches_have_the_type_of_their_pointer) {
    const Context ctx = context();
    Buffer<double> a = copy_to_buffer(ctx, {2.0, 0.0, 0.0, 4.0}), norms(ctx, 1);
    const batched::BatchView batch{
        .count = 1, .size = 2, .leading_dimension = 2, .stride = 4, .values = a.data()};
    batched::invert(ctx, batch, batch);
    batched::norm_inf(ctx, batch, norms.data());
    EXPECT_EQ(copy_to_host(ctx, norms), std::vector<double>{0.5});
}

TEST(api_owners, null_is_the_default_stream) {
    if (Context::from_name("auto").on_gpu()) {
        EXPECT_EQ(Context::cuda(0, NULL).stream(), nullptr);  // NOLINT(modernize-use-nullptr)
    } else {
        EXPECT_THROW(Context::cuda(0, NULL), DeviceError);  // NOLINT(modernize-use-nullptr)
    }
}

/// A temporary matrix would be gone when it is used.
template <class Matrix>
concept kept_by_an_operator = requires(Matrix&& matrix) {
    CsrOperator<double>(context(), std::forward<Matrix>(matrix));
};
template <class Matrix>
concept kept_by_a_solver = requires(Solver<double>& solver, Matrix&& matrix) {
    solver.setup(std::forward<Matrix>(matrix));
};
static_assert(kept_by_an_operator<CsrMatrix<double>&>);
static_assert(!kept_by_an_operator<CsrMatrix<double>>);
static_assert(kept_by_a_solver<const CsrMatrix<double>&> && kept_by_a_solver<CsrView<double>>);
static_assert(!kept_by_a_solver<CsrMatrix<double>>);

TEST(api_owners, moved_from_objects_are_empty) {
    Given g;
    auto& [ctx, A, v, b, x] = g;
    CsrOperator op(ctx, A);
    const CsrOperator<double> other = std::move(op);
    EXPECT_EQ(op.rows() + op.columns(), 0);
    EXPECT_EQ(other.rows(), 144);
    const CsrMatrix<double> moved = std::move(A);
    EXPECT_EQ(A.rows() + A.columns(), 0);
    EXPECT_EQ(moved.rows(), 144);
}

}  // namespace
}  // namespace tessera::test
