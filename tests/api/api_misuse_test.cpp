#include <filesystem>
#include <functional>

#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// A wrong call, and what its message must name.
struct Misuse {
    std::string named;
    std::function<void()> call;
};

void expect_named(const std::vector<Misuse>& calls) {
    for (std::size_t k = 0; k < calls.size(); ++k) {
        const std::string message = message_of<InvalidArgument>(calls[k].call);
        EXPECT_NE(message.find(calls[k].named), std::string::npos)
            << "call " << k << ", " << calls[k].named << ": " << message;
    }
}

template <class T>
std::span<T> null(std::size_t size) {
    return {static_cast<T*>(nullptr), size};
}

/// A valid system in the memory of the Context, and a wrong view of its matrix.
struct Valid {
    Context device = context();
    CsrMatrix<double> host_matrix = problems::generate<double>(host(), "poisson2d:6").matrix;
    CsrMatrix<double> matrix = copy_to(device, host_matrix);
    std::size_t n = std::size_t(matrix.rows());
    Buffer<double> b = copy_to_buffer(device, std::vector<double>(n, 1.0));
    Buffer<double> x = copy_to_buffer(device, std::vector<double>(n, 0.0));
    CsrOperator<double> a{device, matrix.view()};
    SpmvPlan plan = plan_spmv(device, matrix.view());
    BlockPartition blocks() const { return find_blocks(device, matrix, 8); }
};

/// Each public function that takes a CsrView in the memory of a Context.
std::vector<Misuse> calls_with(const Valid& v, const CsrView<double>& wrong) {
    const Context& device = v.device;
    std::vector<Misuse> calls{
        {"plan_spmv", [=] { plan_spmv(device, wrong); }},
        {"plan_spmv", [=] { CsrOperator<double>(device, wrong); }},
        {"multiply",
         [=, &v] {
             Buffer<double> y(device, v.b.size());
             multiply(device, wrong, v.plan, 1.0, v.b.view(), 0.0, y.view());
         }},
        {"transpose", [=] { transpose(device, wrong); }},
        {"multiply", [=, &v] { multiply(device, wrong, v.matrix.view()); }},
        {"multiply", [=, &v] { multiply(device, v.matrix.view(), wrong); }},
        {"update_product",
         [=, &v] {
             auto product = multiply(device, v.matrix.view(), v.matrix.view());
             update_product(device, v.matrix.view(), wrong, product);
         }},
        {"triple_product", [=, &v] { triple_product(device, wrong, v.matrix.view()); }},
        {"triple_product", [=, &v] { triple_product(device, v.matrix.view(), wrong); }},
        {"is_symmetric", [=] { is_symmetric(device, wrong); }},
        {"caller", [=] { check_symmetry(device, wrong, "caller"); }},
        {"find_blocks", [=] { find_blocks(device, wrong, 8); }},
        {"format_statistics", [=] { format_statistics(device, wrong, FormatOptions()); }},
        {"format_statistics",
         [=] { format_statistics(device, wrong, {.format = MatrixFormat::csr}); }},
        {"from_csr", [=] { SlicedMatrix<double>::from_csr(device, wrong, FormatOptions()); }},
        {"update",
         [=, &v] {
             auto sliced = SlicedMatrix<double>::from_csr(device, v.matrix.view(), FormatOptions());
             sliced.update(device, wrong);
         }},
        {"from_csr", [=] { make_operator(device, wrong, FormatOptions()); }},
        {"plan_spmv", [=] { make_operator(device, wrong, {.format = MatrixFormat::csr}); }},
        {"block Jacobi", [=, &v] { BlockJacobi<double>(device, wrong, v.blocks()); }},
        {"block_ldlt", [=] { BlockLdlt<double>(device, wrong); }},
    };
    for (const std::string& name : preconditioner_names()) {
        if (name == "none") continue;
        calls.push_back({"make_preconditioner", [=] { make_preconditioner(device, name, wrong); }});
        calls.push_back({": the matrix has", [=, &v] {
                             make_preconditioner(device, name, v.matrix)->update(device, wrong);
                         }});
    }
    return calls;
}

}  // namespace

TEST(api_misuse, matrices_without_arrays) {
    const Valid v;
    const CsrView<double> good = v.matrix.view();
    CsrView<double> no_offsets = good, no_columns = good, no_values = good, negative = good;
    no_offsets.row_offsets = nullptr;
    no_columns.column_indices = nullptr;
    no_values.values = nullptr;
    negative.rows = negative.columns = -1;
    CsrMatrix<double> taken = copy_to(v.device, v.host_matrix);
    const CsrMatrix<double> new_owner = std::move(taken);
    for (const CsrView<double>& wrong :
         {CsrView<double>(), no_offsets, no_columns, no_values, negative, taken.view()}) {
        expect_named(calls_with(v, wrong));
    }
    for (const CsrView<double>& wrong : {CsrView<double>(), no_offsets, no_columns, no_values}) {
        EXPECT_THROW(validate(wrong), InvalidArgument);
        EXPECT_THROW(copy_to(v.device, wrong), InvalidArgument);
        EXPECT_THROW(copy_to_host(v.device, wrong), InvalidArgument);
        EXPECT_THROW(rounded_to_float(v.device, wrong), InvalidArgument);
        EXPECT_THROW(io::write_matrix(host(), scratch_folder() + "/a.mtx", wrong), InvalidArgument);
    }
    EXPECT_THROW(CsrMatrix<double>(v.device, -1, 5, 0), InvalidArgument);
    EXPECT_THROW(copy_to(v.device, negative), InvalidArgument);
}

/// Row offsets that are wrong are seen where they are read on the host anyway.
TEST(api_misuse, row_offsets_out_of_range) {
    const Valid v;
    for (const Offset wrong : {Offset(-1), Offset(1) << 40}) {
        for (const Offset row : {Offset(0), Offset(3), Offset(v.n)}) {
            CsrMatrix<double> matrix = copy_to(host(), v.host_matrix);
            matrix.row_offsets().data()[row] = wrong;
            EXPECT_THROW(validate(matrix.view()), InvalidArgument);
            const CsrMatrix<double> on_device = copy_to(v.device, matrix);
            EXPECT_THROW(plan_spmv(v.device, on_device.view()), InvalidArgument);
        }
    }
}

TEST(api_misuse, half_an_allocator) {
    DeviceAllocator half;
    half.allocate = [](Offset, CUstream_st*, void*) -> void* { return nullptr; };
    EXPECT_THROW(Context::cuda(0, nullptr, half), InvalidArgument);
}

/// Vectors that are too short, too long or null, for everything that is applied.
TEST(api_misuse, vectors_of_operators) {
    const Valid v;
    std::vector<std::unique_ptr<Operator<double>>> operators;
    for (const std::string& name : format_names()) {
        operators.push_back(make_operator(v.device, v.matrix, parse_format(name)));
    }
    for (const std::string& name : preconditioner_names()) {
        if (name != "none") operators.push_back(make_preconditioner(v.device, name, v.matrix));
    }
    Buffer<double> memory(v.device, Offset(v.n) + 1), other(v.device, Offset(v.n) + 1);
    Buffer<double> result(v.device, 1);
    for (const auto& a : operators) {
        const std::span<double> good = memory.view().first(v.n);
        for (const std::span<double> wrong :
             {other.view().first(v.n - 1), other.view(), null<double>(v.n), std::span<double>()}) {
            EXPECT_THROW(a->apply(v.device, good, wrong), InvalidArgument);
            EXPECT_THROW(a->apply(v.device, wrong, good), InvalidArgument);
            EXPECT_THROW(a->apply_dot(v.device, good, wrong, result.data()), InvalidArgument);
            EXPECT_THROW(a->apply_dot(v.device, wrong, good, result.data()), InvalidArgument);
        }
        EXPECT_THROW(a->apply_dot(v.device, good, other.view().first(v.n), nullptr),
                     InvalidArgument);
    }
}

TEST(api_misuse, vectors_of_solves) {
    const Valid v;
    const auto m = make_preconditioner(v.device, "jacobi", v.matrix);
    Buffer<double> memory(v.device, Offset(v.n) + 1);
    for (const std::span<double> wrong :
         {memory.view().first(v.n - 1), memory.view(), null<double>(v.n)}) {
        std::vector<Misuse> calls;
        for (const std::string& solver : solver_names()) {
            calls.push_back({"solve: b", [&, solver] {
                                 solve(v.device, solver, v.a, m.get(), wrong, memory.view());
                             }});
            calls.push_back({"solve: x", [&, solver] {
                                 solve(v.device, solver, v.a, nullptr, v.b.view(), wrong);
                             }});
        }
        expect_named(calls);
    }
}

TEST(api_misuse, arrays_of_a_gpu_on_a_context_of_the_cpu) {
    Valid v;
    if (!v.device.on_gpu()) GTEST_SKIP() << "is about GPUs";
    const Context cpu = host();
    const CsrOperator<double> a(cpu, v.host_matrix.view());
    std::vector<double> b(v.n, 1.0), x(v.n, 0.0);
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { CsrOperator<double>(cpu, v.matrix.view()); },
             [&] { transpose(cpu, v.matrix.view()); },
             [&] { multiply(cpu, v.matrix.view(), v.matrix.view()); },
             [&] { multiply(cpu, v.host_matrix.view(), v.matrix.view()); },
             [&] { to_bsr(cpu, v.matrix.view(), 2, 2); },
             [&] { find_blocks(cpu, v.matrix, 8); },
             [&] { make_preconditioner(cpu, "jacobi", v.matrix); },
             [&] { cg<double>(cpu, a, nullptr, v.b.view(), std::span<double>(x)); },
             [&] { cg<double>(cpu, a, nullptr, std::span<const double>(b), v.x.view()); },
         }) {
        expect_contains(message_of(call), "is not in the memory of the Context");
    }
    EXPECT_EQ(x, std::vector<double>(v.n, 0.0));
}

TEST(api_misuse, vector_operations) {
    const Valid v;
    const Context& device = v.device;
    Buffer<double> memory(device, 8), results(device, 4);
    const std::span<double> y = memory.view().first(4);
    double* const sum = results.data();
    for (const std::span<double> wrong : {memory.view().first(3), null<double>(4)}) {
        expect_named({
            {"dots", [=] { dot<double>(device, wrong, y, sum); }},
            {"dots", [=] { dot<double>(device, y, wrong, sum); }},
            {"dots", [=] { dots<double>(device, 1, wrong, y, sum); }},
            {"axpby", [=] { axpby<double>(device, 1.0, wrong, 1.0, y); }},
            {"axpby", [=] { axpby<double>(device, 1.0, y, 1.0, wrong); }},
            {"axpbypcz", [=] { axpbypcz<double>(device, 1.0, y, 1.0, wrong, 1.0, y); }},
            {"axpbypcz", [=] { axpbypcz<double>(device, 1.0, wrong, 1.0, y, 1.0, y); }},
            {"combine", [=] { combine<double>(device, 1, wrong, sum, 1.0, y); }},
            {"axpy_pair_dot", [=] { axpy_pair_dot<double>(device, 1.0, wrong, y, y, y, sum); }},
            {"axpy_pair_dot", [=] { axpy_pair_dot<double>(device, 1.0, y, y, y, wrong, sum); }},
            {"multiply_elementwise", [=] { multiply_elementwise<double>(device, wrong, y, y); }},
            {"multiply_elementwise", [=] { multiply_elementwise<double>(device, y, wrong, y); }},
            {"copy", [=] { copy<double>(device, wrong, y); }},
            {"copy", [=] { copy_to_host<double>(device, y, wrong); }},
            {"copy", [=] { copy_from_host<double>(device, wrong, y); }},
        });
    }
    expect_named({
        {"fill", [=] { fill(device, 1.0, null<double>(4)); }},
        {"fill_uniform", [=] { fill_uniform(device, 1, null<double>(4)); }},
        {"fill_normal", [=] { fill_normal(device, 1, null<double>(4)); }},
        {"dots", [=] { dot<double>(device, y, y, nullptr); }},
        {"combine", [=] { combine<double>(device, 1, y, nullptr, 1.0, y); }},
        {"axpy_pair_dot", [=] { axpy_pair_dot<double>(device, 1.0, y, y, y, y, nullptr); }},
        {"dots", [=] { dots<double>(device, -1, y, y, sum); }},
        {"capture", [=] { static_cast<void>(device.capture(nullptr)); }},
    });
}

TEST(api_misuse, moved_from_objects_are_empty) {
    Valid v;
    const CsrMatrix<double> matrix = std::move(v.matrix);
    EXPECT_EQ(v.matrix.rows() + v.matrix.columns() + v.matrix.nonzeros(), 0);  // NOLINT
    EXPECT_EQ(std::size_t(matrix.rows()), v.n);

    auto sliced = SlicedMatrix<double>::from_csr(v.device, matrix.view(), FormatOptions());
    SlicedMatrix<double> kept = std::move(sliced);
    EXPECT_EQ(sliced.rows() + sliced.columns(), 0);  // NOLINT: this is what is tested.
    EXPECT_EQ(std::size_t(kept.rows()), v.n);

    CsrOperator<double> a(v.device, matrix.view());
    const CsrOperator<double> moved_a = std::move(a);
    EXPECT_EQ(a.rows() + a.columns(), 0);  // NOLINT
    EXPECT_EQ(std::size_t(moved_a.rows()), v.n);

    SpmvPlan plan = plan_spmv(v.device, matrix.view());
    const SpmvPlan moved_plan = std::move(plan);
    BlockPartition blocks = find_blocks(v.device, matrix, 8);
    const BlockPartition moved_blocks = std::move(blocks);
    EXPECT_EQ(blocks.rows + blocks.count + blocks.largest, 0);  // NOLINT
    EXPECT_EQ(std::size_t(moved_blocks.rows), v.n);

    const auto sizes = copy_to_buffer(v.device, std::vector<Index>{2, 3});
    batched::Plan batch_plan(v.device, 2, sizes.data());
    const batched::Plan moved_batch_plan = std::move(batch_plan);
    EXPECT_EQ(batch_plan.count() + batch_plan.largest(), 0);  // NOLINT
    EXPECT_EQ(moved_batch_plan.largest(), 3);

    const Buffer<double>& b = v.b;
    Buffer<double>& x = v.x;
    BlockPartition of_no_matrix;
    of_no_matrix.rows = Index(v.n);
    expect_named({
        {"SlicedMatrix", [&] { static_cast<void>(sliced.options()); }},
        {"SlicedMatrix", [&] { static_cast<void>(sliced.statistics()); }},
        {"SlicedMatrix", [&] { sliced.update(v.device, matrix.view()); }},
        {"SlicedMatrix", [&] { sliced.apply(v.device, {}, {}); }},
        {"multiply", [&] { sliced.apply(v.device, b.view(), x.view()); }},
        {"multiply", [&] { a.apply(v.device, b.view(), x.view()); }},
        {"multiply", [&] { a.apply(v.device, {}, {}); }},
        {"multiply",
         [&] { multiply(v.device, matrix.view(), plan, 1.0, b.view(), 0.0, x.view()); }},
        {"solve", [&] { cg(v.device, sliced, nullptr, b.view(), x.view()); }},
        {"solve", [&] { cg(v.device, moved_a, &sliced, b.view(), x.view()); }},
        {"block Jacobi", [&] { BlockJacobi<double>(v.device, matrix.view(), std::move(blocks)); }},
        {"partition",
         [&] { BlockJacobi<double>(v.device, matrix.view(), std::move(of_no_matrix)); }},
        {"Plan::begin", [&] { static_cast<void>(batch_plan.begin(0)); }},
        {"plan",
         [&] {
             const auto values =
                 batched::BatchView<const double>::packed(2, sizes.data(), nullptr, b.data());
             batched::norm_inf(v.device, values, x.data(), &batch_plan);
         }},
    });
    sliced = std::move(kept);
    sliced.apply(v.device, b.view(), x.view());
    const std::vector<double> expected = copy_to_host(v.device, x);
    moved_a.apply(v.device, b.view(), x.view());
    EXPECT_EQ(copy_to_host(v.device, x).size(), expected.size());
}

TEST(api_misuse, batches_without_arrays) {
    const Context device = context();
    Buffer<double> memory(device, 18);
    const auto good = batched::BatchView<double>::uniform(2, 3, memory.data());
    const auto wrong = batched::BatchView<double>::uniform(2, 3, nullptr);
    const batched::VectorsView<double> vectors{.stride = 3, .values = memory.data()};
    const batched::VectorsView<double> no_vectors{.stride = 3};
    using batched::Factorisation, batched::Pivoting, batched::Transpose;
    expect_named({
        {"invert", [&] { batched::invert<double>(device, wrong, good); }},
        {"invert", [&] { batched::invert<double>(device, good, wrong); }},
        {"invert_with_condition",
         [&] { batched::invert_with_condition<double>(device, wrong, good, {}); }},
        {"condition", [&] { batched::condition<double>(device, wrong, {}); }},
        {"norm_inf", [&] { batched::norm_inf<double>(device, wrong, memory.data()); }},
        {"norm_inf", [&] { batched::norm_inf<double>(device, good, nullptr); }},
        {"norm_one", [&] { batched::norm_one<double>(device, wrong, memory.data()); }},
        {"multiply",
         [&] { batched::multiply<double>(device, 1, wrong, Transpose::no, vectors, 0, vectors); }},
        {"multiply",
         [&] {
             batched::multiply<double>(device, 1, good, Transpose::no, no_vectors, 0, vectors);
         }},
        {"ldu", [&] { batched::ldu<double>(device, Pivoting::fixed, wrong, good, {}); }},
        {"ldu", [&] { batched::ldu<double>(device, Pivoting::partial, good, good, {}); }},
        {"llt", [&] { batched::llt<double>(device, Pivoting::fixed, good, wrong, {}); }},
        {"ldlt", [&] { batched::ldlt<double>(device, Pivoting::fixed, wrong, good, {}); }},
        {"solve",
         [&] {
             batched::solve<double>(device, Factorisation::llt, Transpose::no, wrong, {}, vectors,
                                    vectors);
         }},
        {"solve",
         [&] {
             batched::solve<double>(device, Factorisation::llt, Transpose::no, good, {}, vectors,
                                    no_vectors);
         }},
        {"inverse_from_factors",
         [&] {
             batched::inverse_from_factors<double>(device, Factorisation::llt, wrong, {}, good);
         }},
        {"take_absolute_pivots", [&] { batched::take_absolute_pivots<double>(device, wrong); }},
        {"Plan", [&] { batched::Plan(device, 2, nullptr); }},
    });
}

TEST(api_misuse, null_on_the_host) {
    const std::string folder = scratch_folder();
    Mesh mesh = meshes::rectangle(CellShape::quadrilateral, 2, 2);
    const std::size_t numbers = mesh.points.size();
    const auto elements = std::size_t(mesh.element_count());
    elasticity::Model model;
    model.mesh = mesh;
    elasticity::Model no_function = model;
    no_function.fixed_supports.push_back({mesh.groups.at(0).name, {true, true, true}, nullptr});
    elasticity::Model no_traction = model;
    no_traction.tractions.emplace_back(mesh.groups.at(0).name, nullptr);
    const elasticity::System system = elasticity::assemble(host(), model);
    const Valid v;
    expect_named({
        {"write_vector",
         [&] { io::write_vector(host(), folder + "/b.mtx", null<const double>(3)); }},
        {"'u'",
         [&] {
             io::write_vtu(host(), folder + "/m.vtu", mesh,
                           {{"u", 2, null<const double>(numbers)}});
         }},
        {"displacements",
         [&] { elasticity::element_stresses(host(), model, null<const double>(numbers)); }},
        {"displacements",
         [&] { elasticity::strain_energy(host(), model, null<const double>(numbers)); }},
        {"node_means",
         [&] { elasticity::node_means(host(), mesh, null<const double>(elements), 1); }},
        {"von_mises", [&] { elasticity::von_mises(null<const double>(6)); }},
        {"solution", [&] { static_cast<void>(system.displacements(null<const double>(numbers))); }},
        {"fixed support", [&] { elasticity::assemble(host(), no_function); }},
        {"traction", [&] { elasticity::assemble(host(), no_traction); }},
        {"offset",
         [&] { static_cast<void>(blocks_from_offsets(v.device, 4, null<const Index>(3))); }},
        {"name", [&] { Spec(static_cast<const char*>(nullptr)); }},
    });
    mesh.dimensions = 0;
    EXPECT_EQ(mesh.node_count(), 0);
    EXPECT_THROW(validate(mesh), InvalidArgument);
}

/// Host memory that a GPU cannot read is named where a matrix, a preconditioner or a solve starts.
TEST(api_misuse, host_memory_on_a_gpu) {
    const Valid v;
    if (!v.device.on_gpu()) GTEST_SKIP() << "needs a GPU";
    std::vector<double> b(v.n, 1.0), x(v.n, 0.0);
    const CsrView<double> in_host_memory = v.host_matrix.view();
    try {
        plan_spmv(v.device, in_host_memory);
        GTEST_SKIP() << "this GPU can read all host memory";
    } catch (const InvalidArgument&) {
    }
    const std::vector<Index> sizes{2, 3};
    std::vector<Misuse> calls{
        {"Plan", [&] { batched::Plan(v.device, 2, sizes.data()); }},
        {"plan_spmv", [&] { CsrOperator<double>(v.device, in_host_memory); }},
        {"find_blocks", [&] { find_blocks(v.device, in_host_memory, 8); }},
        {"from_csr", [&] { make_operator(v.device, in_host_memory, FormatOptions()); }},
        {"block Jacobi", [&] { BlockJacobi<double>(v.device, in_host_memory, v.blocks()); }},
        {"block_ldlt", [&] { BlockLdlt<double>(v.device, in_host_memory); }},
        {"solve: b", [&] { cg(v.device, v.a, nullptr, b, Valid().x.view()); }},
        {"solve: x", [&] { cg(v.device, v.a, nullptr, v.b.view(), x); }},
    };
    for (const std::string& name : preconditioner_names()) {
        if (name == "none") continue;
        calls.push_back({"make_preconditioner",
                         [&, name] { make_preconditioner(v.device, name, in_host_memory); }});
    }
    expect_named(calls);
}

}  // namespace tessera::test
