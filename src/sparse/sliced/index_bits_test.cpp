#include "sparse/test_sparse_matrices.hpp"

namespace tessera {
namespace {

using test::format;

/// Rows 0..63 span the columns 0 to 64 + `distance`, in blocks of `block`.
CsrMatrix<double> wide_matrix(Index block, Index distance) {
    const Index columns = block * (distance + 100);
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < 64 * block; ++i) {
        const Index first = i / block < 32 ? 0 : 7 * block;
        pattern.push_back({first, first + block * distance + block - 1});
        values.push_back({1.0 + i, 0.5 * i});
    }
    return test::make_csr<double>(64 * block, columns, pattern, values);
}

TEST(index_bits, columns_of_16_bits_where_slices_are_narrow) {
    const Context context = test::context();
    for (const Index block : {1, 3}) {
        for (const Index distance : {65535, 65536}) {
            const CsrMatrix<double> host = wide_matrix(block, distance);
            const CsrMatrix<double> matrix = copy_to(context, host.view());
            const std::string text = "sbell:" + std::to_string(block) + ",slice=32";
            const auto made = [&](const std::string& more) {
                return SlicedMatrix<double>::from_csr(context, matrix.view(), format(text + more));
            };
            const auto chosen = made("");
            const int bits = distance < 65536 ? 16 : 32;
            EXPECT_EQ(chosen.statistics().index_bits, bits);
            EXPECT_EQ(chosen.options().index_bits, bits);
            EXPECT_EQ(format_statistics(context, matrix.view(), format(text)).bytes,
                      chosen.statistics().bytes);
            const SlicedPattern pattern = chosen.view().pattern;
            EXPECT_EQ(pattern.column_offsets != nullptr, bits == 16);
            EXPECT_EQ(pattern.block_columns != nullptr, bits == 32);
            const auto wide = made(",index=32");
            EXPECT_EQ(wide.statistics().index_bits, 32);
            if (bits == 16) {
                // 16 bits save 2 bytes per slot and block, and cost a column of 4 bytes per slice.
                const FormatStatistics &few = chosen.statistics(), &many = wide.statistics();
                EXPECT_EQ(many.bytes - few.bytes, 2 * few.stored_blocks - 2 * 4);
                EXPECT_EQ(many.matrix_bytes_per_product - few.matrix_bytes_per_product,
                          2 * few.blocks - 2 * 4);
                EXPECT_EQ(test::host_sliced(context, chosen).first_columns,
                          (std::vector<Index>{0, 7}));
            } else {
                EXPECT_THROW(made(",index=16"), InvalidArgument);
            }
        }
    }
}

/// 16-bit indices need slices, and more than a slot or two in each.
TEST(index_bits, who_takes_columns_of_16_bits) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> matrix =
        copy_to(context, test::random_blocks<double>(random, 64, 64, 3, 9).view());
    const auto bits = [&](const std::string& text) {
        return format_statistics(context, matrix.view(), format(text)).index_bits;
    };
    for (const char* text : {"sell", "sbell", "sbell:3", "sbell:2,slice=4", "sell:1"}) {
        EXPECT_EQ(bits(text), 16) << text;
    }
    for (const char* text : {"csr", "ell", "bell:3", "bcsr:3", "sbell:3,index=32"}) {
        EXPECT_EQ(bits(text), 32) << text;
    }
    const CsrMatrix<double> diagonal =
        copy_to(context, test::make_csr<double>(3, 3, {{0}, {1}, {2}}, {{1}, {1}, {1}}).view());
    for (const auto& [text, expected] : std::map<std::string, int>{
             {"sell:1", 32}, {"sell:1,index=16", 16}, {"sell:2", 32}, {"sell:3", 16}}) {
        EXPECT_EQ(format_statistics(context, diagonal.view(), format(text)).index_bits, expected);
    }
    FormatOptions options = format("bell:3");
    options.index_bits = 16;
    EXPECT_THROW(format_statistics(context, matrix.view(), options), InvalidArgument);
    options.index_bits = 8;
    EXPECT_THROW(format_statistics(context, matrix.view(), options), InvalidArgument);
}

}  // namespace
}  // namespace tessera
