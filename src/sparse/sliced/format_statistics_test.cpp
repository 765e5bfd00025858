#include "sparse/test_sparse_matrices.hpp"

namespace tessera {
namespace {

using test::format;

TEST(format_statistics, statistics_of_a_matrix_known_by_hand) {
    const Context context = test::context();
    // Block rows of 3, 1, 0 and 2 full 2 x 2 blocks.
    const std::vector<std::vector<Index>> blocks = {{0, 1, 2}, {3}, {}, {0, 3}};
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (const auto& row : blocks) {
        for (int r = 0; r < 2; ++r) {
            pattern.emplace_back();
            for (const Index j : row) {
                pattern.back().push_back(2 * j);
                pattern.back().push_back(2 * j + 1);
            }
            values.emplace_back(pattern.back().size(), 1.0);
        }
    }
    const CsrMatrix<double> matrix =
        copy_to(context, test::make_csr<double>(8, 8, pattern, values).view());
    const auto statistics = [&](const std::string& text) {
        return format_statistics(context, matrix.view(), format(text));
    };
    EXPECT_EQ(statistics("csr").stored_blocks, 24);
    EXPECT_EQ(statistics("csr").padding(), 1);
    EXPECT_EQ(statistics("csr").bytes, 24 * 12 + 9 * 8);
    EXPECT_EQ(statistics("bcsr:2").stored_blocks, 6);
    EXPECT_EQ(statistics("bcsr:2").padding(), 1);
    EXPECT_EQ(statistics("sbell:2,slice=2,sort_window=1").stored_blocks, 2 * 3 + 2 * 2);
    EXPECT_EQ(statistics("sbell:2,slice=2,sort_window=all").stored_blocks, 2 * 3 + 2 * 1);
    EXPECT_EQ(statistics("sbell:2,slice=2").stored_blocks, 2 * 3 + 2 * 1);  // Sorted: many pads.
    EXPECT_EQ(statistics("sbell:2,slice=4").padding(), 12 / 6.0);
    EXPECT_EQ(statistics("bell:2").stored_blocks, 32 * 3);  // One slice of a whole warp.
    EXPECT_EQ(statistics("ell").stored_blocks, 32 * 6);
    EXPECT_EQ(statistics("sell:2").stored_blocks, 2 * (6 + 2 + 0 + 4));
    const FormatStatistics three = statistics("sbell:3,slice=1");
    EXPECT_EQ(three.nonzeros, 24);
    EXPECT_EQ(three.blocks, 3 + 1 + 2);
    EXPECT_EQ(statistics("bcsr").block, 2);
    EXPECT_EQ(statistics("sbell:2,slice=4").slice_height, 4);
}

TEST(format_statistics, the_block_is_chosen_by_bytes) {
    const Context context = test::context();
    auto random = test::generator();
    for (const Index block : {1, 2, 3, 4, 6}) {
        const CsrMatrix<double> matrix =
            copy_to(context, test::random_blocks<double>(random, 400, 400, block, 9).view());
        const auto sliced = SlicedMatrix<double>::from_csr(context, matrix.view(), format("sbell"));
        EXPECT_EQ(sliced.options().block, block);
        EXPECT_EQ(sliced.statistics().block, block);
        EXPECT_EQ(sliced.statistics().bytes,
                  format_statistics(context, matrix.view(), format("sbell")).bytes);
    }
}

TEST(format_statistics, format_texts) {
    for (const std::string text :
         {"csr", "ell", "sbell:2,sort_window=1", "sell:32,sort_window=all", "bell:3", "bcsr:3",
          "sbell:3,slice=64,sort_window=256", "sbell", "sell,values=f16",
          "sbell:6,slice=96,values=bf16", "ell,values=f32", "bcsr:2", "sbell:3,index=16",
          "sell:32,index=32"}) {
        EXPECT_EQ(to_string(format(text)), text);
    }
    EXPECT_EQ(format("sbell:3,sort_window=all").sort_window, 0);
    for (const std::string text :
         {"sbel", "sbell:5", "sbell:7", "ell:3", "csr:1", "sbell:3,slice=0", "bell:3,slice=4",
          "sell:32,threads=32", "sbell:3,lanes=2", "ellr", "csr,values=f16", "sbell:3,values=f8",
          "sell:8,sort_window=some", "bcsr,sort_window=4", "sbell:3,index=8", "bell:3,index=16"}) {
        EXPECT_THROW(format(text), InvalidArgument) << text;
    }
}

TEST(format_statistics, csr_is_no_sliced_format) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<float> matrix =
        copy_to(context, test::random_csr<float>(random, 9, 9, 3).view());
    EXPECT_THROW(SlicedMatrix<float>::from_csr(context, matrix.view(), format("csr")),
                 InvalidArgument);
    FormatOptions options;
    options.block = 5;
    EXPECT_THROW(SlicedMatrix<float>::from_csr(context, matrix.view(), options), InvalidArgument);
}

TEST(format_statistics, slices_that_are_too_high_for_a_gpu) {
    const Context context = test::context();
    if (!context.on_gpu()) GTEST_SKIP() << "is about GPUs";
    auto random = test::generator();
    const CsrMatrix<float> matrix =
        copy_to(context, test::random_csr<float>(random, 9, 9, 3).view());
    for (const char* text : {"sell", "sbell:3"}) {
        FormatOptions options = format(text);
        options.slice_height = Index(1) << 29;
        EXPECT_THROW(SlicedMatrix<float>::from_csr(context, matrix.view(), options),
                     InvalidArgument)
            << text;
    }
}

}  // namespace
}  // namespace tessera
