#include "support/test.hpp"
#include "tessera/tessera.hpp"

/// Calls that must compile as a user writes them, without template arguments or const casts.
namespace tessera {
namespace {

TEST(api_sparse, vectors_without_template_arguments) {
    const Context context = test::context();
    Buffer<float> x(context, 100), y(context, 100), result(context, 1);
    fill(context, 2, x.view());
    fill(context, 0, y.view());
    axpby(context, 3, x.view(), 1, y.view());
    dot(context, x.view(), y.view(), result.data());
    EXPECT_EQ(copy_to_host(context, result)[0], 1200);
    multiply_elementwise(context, x.view(), y.view(), y.view());
    copy(context, y.view(), x.view());
    std::vector<float> host(100);
    copy_to_host(context, x.view(), std::span(host));
    EXPECT_EQ(host, std::vector<float>(100, 12));
    copy_from_host(context, host, y.view());
    EXPECT_EQ(copy_to_host(context, y), host);
}

TEST(api_sparse, matrices_without_views) {
    const Context context = test::context();
    const CsrMatrix<double> host = test::make_csr<double>(4, 4, {{0, 1}, {0, 1}, {2, 3}, {2, 3}},
                                                          {{2, 1}, {1, 2}, {2, 1}, {1, 2}});
    EXPECT_EQ(host.row_offsets().size(), 5);
    EXPECT_EQ(host.column_indices().size(), host.values().size());
    const CsrMatrix<double> matrix = copy_to(context, host);
    EXPECT_EQ(find_blocks(context, matrix, 24).count, 1);
    EXPECT_EQ(find_blocks(context, matrix, 2).count, 2);
    Buffer<double> x(context, 4), y(context, 4);
    fill(context, 1, x.view());
    const auto product = make_operator(context, matrix, parse_format("sbell:2"));
    product->apply(context, x.view(), y.view());
    EXPECT_EQ(copy_to_host(context, y), std::vector<double>(4, 3));
    const SlicedMatrix<double> sliced =
        SlicedMatrix<double>::from_csr(context, matrix.view(), parse_format("sell"));
    multiply(context, sliced, 2, x.view(), 1, y.view());
    EXPECT_EQ(copy_to_host(context, y), std::vector<double>(4, 9));
    multiply(context, matrix.view(), plan_spmv(context, matrix.view()), 1, x.view(), 0, y.view());
    EXPECT_EQ(copy_to_host(context, y), std::vector<double>(4, 3));
}

TEST(api_sparse, a_gpu_by_its_number) {
    if (cuda_devices().empty()) GTEST_SKIP() << "needs a GPU";
    EXPECT_EQ(Context::cuda(0).device(), 0);
}

}  // namespace
}  // namespace tessera
