#include <algorithm>
#include <array>
#include <cstring>

#include "base/zeros.hpp"
#include "sparse/round_to_f16.hpp"
#include "sparse/stored_value.hpp"
#include "sparse/test_sparse_matrices.hpp"
#include "tessera/detail/bsr.hpp"

namespace tessera {
namespace {

using test::format;
using test::format_matrices;
using test::host_sliced;
using test::HostSliced;

/// The blocks of a matrix by block row and block column, entries row by row.
template <class T>
using Blocks = std::map<std::pair<Index, Index>, std::vector<T>>;

template <class T>
Blocks<T> blocks_of(const CsrView<T>& a, Index block) {
    Blocks<T> blocks;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            auto& values = blocks[{i / block, j / block}];
            values.resize(std::size_t(block) * block);
            values[std::size_t(i % block * block + j % block)] = a.values[k];
        }
    }
    return blocks;
}

const std::vector<std::string> all_formats = {"ell",
                                              "sell:32",
                                              "sell:1",
                                              "sell:5",
                                              "sell:64,sort_window=all",
                                              "bell:2",
                                              "bell:3",
                                              "bcsr:3",
                                              "bcsr:4",
                                              "sbell:1,slice=8",
                                              "sbell:2,slice=32,sort_window=64",
                                              "sbell:3",
                                              "sbell:3,slice=64,sort_window=all",
                                              "sbell:4,slice=16,sort_window=7",
                                              "sbell:6,slice=3,sort_window=all",
                                              "sell:5,index=16",
                                              "sbell:3,index=32",
                                              "sbell:2,slice=7,index=16,sort_window=all",
                                              "sbell:4,index=16,sort_window=1",
                                              "sbell"};

/// Checks every slot of the matrix against its definition.
template <class T>
void check_layout(const HostSliced<T>& sliced, const CsrView<T>& a, const FormatOptions& options) {
    const SlicedPattern& s = sliced.view.pattern;
    const Index block = s.block, height = s.slice_height;
    const Blocks<T> blocks = blocks_of(a, block);
    std::vector<std::vector<Index>> rows(std::size_t(s.block_rows()));
    for (const auto& [at, values] : blocks) rows[std::size_t(at.first)].push_back(at.second);
    std::vector<Index> order(rows.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = Index(i);
    const std::size_t window = options.sort_window == 0 ? std::max<std::size_t>(1, order.size())
                                                        : std::size_t(options.sort_window);
    for (std::size_t w = 0; w < order.size(); w += window) {
        std::stable_sort(order.begin() + Offset(w),
                         order.begin() + Offset(std::min(order.size(), w + window)),
                         [&](Index i, Index j) {
                             return rows[std::size_t(i)].size() > rows[std::size_t(j)].size();
                         });
    }
    ASSERT_EQ(s.slices, Index((Offset(rows.size()) + height - 1) / height));
    const T* const values = static_cast<const T*>(sliced.view.values);
    Offset slot_start = 0;
    for (Index slice = 0; slice < s.slices; ++slice) {
        ASSERT_EQ(s.slice_offsets[slice], slot_start);
        std::size_t width = 0;
        for (Index lane = 0; lane < height; ++lane) {
            const std::size_t p = std::size_t(slice) * std::size_t(height) + std::size_t(lane);
            const std::size_t length = p < order.size() ? rows[std::size_t(order[p])].size() : 0;
            ASSERT_EQ(s.row_lengths[p], Index(length));
            if (p < order.size() && s.permutation != nullptr) {
                ASSERT_EQ(s.permutation[p], order[p]);
            }
            width = std::max(width, length);
        }
        for (std::size_t at = 0; at < width * std::size_t(height); ++at) {
            const Offset slot = slot_start + Offset(at);
            const std::size_t k = at / std::size_t(height), lane = at % std::size_t(height);
            const std::size_t p = std::size_t(slice) * std::size_t(height) + lane;
            const bool pad = p >= order.size() || k >= rows[std::size_t(order[p])].size();
            const Index column = s.block_column(slice, slot);
            ASSERT_GE(column, 0);
            ASSERT_LT(column, s.block_column_count());
            const std::vector<T> zeros(std::size_t(block) * block, T(0));
            const std::vector<T>* expected = &zeros;
            if (!pad) {
                ASSERT_EQ(column, rows[std::size_t(order[p])][k]);
                expected = &blocks.at({order[p], column});
            }
            for (Offset e = 0; e < Offset(block) * block; ++e) {
                const Offset entry = slot_start * block * block +
                                     (Offset(k) * block * block + e) * height + Offset(lane);
                ASSERT_EQ(std::memcmp(&values[entry], &(*expected)[std::size_t(e)], sizeof(T)), 0);
            }
        }
        slot_start += Offset(width) * height;
    }
    ASSERT_EQ(s.slice_offsets[s.slices], slot_start);
}

template <class T>
void check_all_layouts() {
    const Context context = test::context();
    auto random = test::generator();
    for (const CsrMatrix<T>& host : format_matrices<T>(random)) {
        const CsrMatrix<T> matrix = copy_to(context, host.view());
        for (const std::string& text : all_formats) {
            SCOPED_TRACE(text + ", " + std::to_string(host.rows()) + " rows");
            const FormatOptions options = format(text);
            const auto sliced = SlicedMatrix<T>::from_csr(context, matrix.view(), options);
            check_layout(host_sliced(context, sliced), host.view(), sliced.options());
            if (testing::Test::HasFatalFailure()) return;
        }
    }
}

TEST(sliced, layout_is_the_documented_one) {
    check_all_layouts<double>();
    check_all_layouts<float>();
}

/// Section 3 of the paper: with slices of one block row SBELL is BCSR, with one slice BELLPACK.
TEST(sliced, sbell_becomes_bcsr_and_bell) {
    const Context context = test::context();
    auto random = test::generator();
    for (const Index block : {1, 2, 3, 4, 6}) {
        const CsrMatrix<double> host = test::random_blocks<double>(random, 64, 64, block, 9);
        const CsrMatrix<double> matrix = copy_to(context, host.view());
        const std::string size = std::to_string(block);
        const auto same = [&](const std::string& a, const std::string& b) {
            const auto x = host_sliced(
                context, SlicedMatrix<double>::from_csr(context, matrix.view(), format(a)));
            const auto y = host_sliced(
                context, SlicedMatrix<double>::from_csr(context, matrix.view(), format(b)));
            EXPECT_EQ(x.slice_offsets, y.slice_offsets) << a << b;
            EXPECT_EQ(x.row_lengths, y.row_lengths) << a << b;
            EXPECT_EQ(x.block_columns, y.block_columns) << a << b;
            EXPECT_EQ(x.values, y.values) << a << b;
        };
        same("sbell:" + size + ",slice=1,index=32", "bcsr:" + size);
        same("sbell:" + size + ",slice=64,sort_window=1,index=32", "bell:" + size);
        if (block == 1) same("sell:64,sort_window=1,index=32", "ell");
        // Usual BCSR: row offsets in blocks, blocks row by row.
        const auto bcsr = host_sliced(context, SlicedMatrix<double>::from_csr(
                                                   context, matrix.view(), format("bcsr:" + size)));
        const Blocks<double> blocks = blocks_of(host.view(), block);
        std::vector<Offset> offsets(65);
        std::vector<Index> columns;
        std::vector<double> values;
        for (const auto& [at, entries] : blocks) {
            ++offsets[std::size_t(at.first) + 1];
            columns.push_back(at.second);
            values.insert(values.end(), entries.begin(), entries.end());
        }
        for (std::size_t i = 0; i < 64; ++i) offsets[i + 1] += offsets[i];
        EXPECT_EQ(bcsr.slice_offsets, offsets);
        EXPECT_EQ(bcsr.block_columns, columns);
        ASSERT_EQ(bcsr.values.size(), values.size() * sizeof(double));
        EXPECT_EQ(std::memcmp(bcsr.values.data(), values.data(), bcsr.values.size()), 0);
    }
}

/// Values are bitwise equal, for matrices of one pattern in one format.
template <class T>
void expect_same_values(const Context& context, const SlicedMatrix<T>& a, const SlicedMatrix<T>& b,
                        const std::string& what) {
    EXPECT_EQ(host_sliced(context, a).values, host_sliced(context, b).values) << what;
}

TEST(sliced, update_takes_new_values) {
    const Context context = test::context();
    auto random = test::generator();
    CsrMatrix<double> host = test::random_csr<double>(random, 200, 200, 11);
    const CsrMatrix<double> first = copy_to(context, host.view());
    auto sliced = SlicedMatrix<double>::from_csr(context, first.view(),
                                                 format("sbell:2,slice=16,sort_window=all"));
    for (double& value : host.values().view()) value = -3 * value;
    const CsrMatrix<double> second = copy_to(context, host.view());
    sliced.update(context, second.view());
    expect_same_values(context, sliced,
                       SlicedMatrix<double>::from_csr(context, second.view(), sliced.options()),
                       "updated");
    const CsrMatrix<double> other =
        copy_to(context, test::random_csr<double>(random, 9, 9, 3).view());
    EXPECT_THROW(sliced.update(context, other.view()), InvalidArgument);
}

/// With a scaling the values are a_ij (s_i s_j), in full blocks and others, after conversion and
/// update.
TEST(sliced, scaled_on_the_way) {
    const Context context = test::context();
    auto random = test::generator();
    std::vector<CsrMatrix<double>> matrices;
    matrices.push_back(test::random_csr<double>(random, 200, 200, 11));
    matrices.push_back(test::random_blocks<double>(random, 90, 90, 3, 7));
    matrices.push_back(test::random_csr<double>(random, 0, 0, 0));
    for (const CsrMatrix<double>& host : matrices) {
        const CsrMatrix<double> matrix = copy_to(context, host.view());
        const auto s = test::random_vector<double>(random, std::size_t(host.rows()));
        const Buffer<double> scaling = copy_to_buffer(context, s);
        CsrMatrix<double> expected = copy_to(test::host(), host.view());
        const CsrView<double> a = expected.view();
        for (Index i = 0; i < a.rows; ++i) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                expected.values().view()[std::size_t(k)] *=
                    s[std::size_t(i)] * s[std::size_t(a.column_indices[k])];
            }
        }
        for (const char* text : {"sbell:3", "sell:32", "bcsr:2", "sbell:3,sort_window=all"}) {
            auto sliced = SlicedMatrix<double>::from_csr(context, matrix.view(), format(text),
                                                         scaling.view());
            const auto converted = [&](const CsrMatrix<double>& from) {
                const CsrMatrix<double> device_matrix = copy_to(context, from.view());
                return SlicedMatrix<double>::from_csr(context, device_matrix.view(), format(text));
            };
            expect_same_values(context, sliced, converted(expected), text);
            sliced.update(context, matrix.view());
            expect_same_values(context, sliced, converted(host), text);
            sliced.update(context, matrix.view(), scaling.view());
            expect_same_values(context, sliced, converted(expected), text);
            EXPECT_THROW(sliced.update(context, matrix.view(), Buffer<double>(context, 7).view()),
                         InvalidArgument);
        }
    }
}

/// Random blocks of height x width, block rows of `shortest`..`longest` of them.
BsrMatrix<double> random_dense_blocks(std::mt19937_64& random, Index block_rows,
                                      Index block_columns, int height, int width, Index shortest,
                                      Index longest) {
    std::vector<Offset> offsets{0};
    std::vector<Index> columns;
    for (Index i = 0; i < block_rows; ++i) {
        std::set<Index> row;
        const Index more = Index(random() % std::uint64_t(longest - shortest + 1));
        while (Index(row.size()) < shortest + more) {
            row.insert(Index(random() % std::uint64_t(block_columns)));
        }
        columns.insert(columns.end(), row.begin(), row.end());
        offsets.push_back(Offset(columns.size()));
    }
    const Context context = test::context();
    BsrMatrix<double> matrix(context, block_rows, block_columns, height, width, offsets.back());
    matrix.row_offsets() = copy_to_buffer(context, offsets);
    matrix.column_indices() = copy_to_buffer(context, columns);
    matrix.values() =
        copy_to_buffer(context, test::random_vector<double>(random, std::size_t(matrix.entries())));
    return matrix;
}

template <class T>
void check_from_bsr(const BsrMatrix<double>& blocks, const FormatOptions& options) {
    const Context context = test::context();
    const CsrMatrix<double> csr = to_csr(context, blocks.view());
    const auto expected = SlicedMatrix<T>::from_csr(context, csr.view(), options);
    const auto found = SlicedMatrix<T>::from_bsr(context, blocks.view(), options);
    EXPECT_EQ(to_string(found.options()), to_string(expected.options()));
    const FormatStatistics &x = found.statistics(), &y = expected.statistics();
    EXPECT_EQ(x.nonzeros, y.nonzeros);
    EXPECT_EQ(x.blocks, y.blocks);
    EXPECT_EQ(x.stored_blocks, y.stored_blocks);
    EXPECT_EQ(x.bytes, y.bytes);
    EXPECT_EQ(x.matrix_bytes_per_product, y.matrix_bytes_per_product);
    const auto a = host_sliced(context, found), b = host_sliced(context, expected);
    EXPECT_EQ(a.view.pattern.rows, b.view.pattern.rows);
    EXPECT_EQ(a.view.pattern.columns, b.view.pattern.columns);
    EXPECT_EQ(a.view.pattern.lanes, b.view.pattern.lanes);
    EXPECT_EQ(a.view.pattern.paired, b.view.pattern.paired);
    EXPECT_EQ(a.slice_offsets, b.slice_offsets);
    EXPECT_EQ(a.row_lengths, b.row_lengths);
    EXPECT_EQ(a.permutation, b.permutation);
    EXPECT_EQ(a.first_columns, b.first_columns);
    EXPECT_EQ(a.column_offsets, b.column_offsets);
    EXPECT_EQ(a.block_columns, b.block_columns);
    EXPECT_EQ(a.values, b.values);
    const Buffer<double> zero = zeros<double>(context, blocks.entries());
    BsrView<double> others = blocks.view();
    others.values = zero.data();
    auto updated = SlicedMatrix<T>::from_bsr(context, others, options);
    updated.update(context, blocks.view());
    EXPECT_EQ(host_sliced(context, updated).values, a.values);
}

TEST(sliced, from_dense_blocks_as_from_their_entries) {
    auto random = test::generator();
    for (const auto& [height, width] : std::vector<std::array<int, 2>>{
             {1, 1}, {2, 2}, {2, 3}, {3, 3}, {3, 6}, {6, 3}, {6, 6}, {4, 8}, {5, 5}, {7, 7}}) {
        std::vector<BsrMatrix<double>> matrices;
        matrices.push_back(random_dense_blocks(random, 150, 90, height, width, 0, 12));
        matrices.push_back(random_dense_blocks(random, 101, 90, height, width, 7, 7));
        matrices.push_back(random_dense_blocks(random, 40, 70000, height, width, 0, 5));
        matrices.push_back(random_dense_blocks(random, 40, 5, height, width, 0, 0));
        matrices.push_back(random_dense_blocks(random, 0, 5, height, width, 0, 0));
        for (const Index block : {1, 2, 3, 4, 6}) {
            if (height % block != 0 || width % block != 0) continue;
            for (const char* more : {"", ",values=f16", ",sort_window=all", ",values=bf16"}) {
                const std::string size = std::to_string(block);
                const std::string text = (block == 1 ? "sell" : "sbell:" + size) + more;
                for (const BsrMatrix<double>& blocks : matrices) {
                    SCOPED_TRACE(text + ", blocks of " + std::to_string(height) + " x " +
                                 std::to_string(width));
                    check_from_bsr<float>(blocks, format(text));
                    check_from_bsr<double>(blocks, format(text));
                }
            }
        }
    }
    const auto blocks = random_dense_blocks(random, 4, 4, 2, 3, 1, 1);
    for (const char* text : {"csr", "sbell", "sbell:2", "sbell:3"}) {
        EXPECT_THROW(SlicedMatrix<double>::from_bsr(test::context(), blocks.view(), format(text)),
                     InvalidArgument);
    }
}

/// The values of a matrix of 1 x 1 blocks in one slice, in the order of its slots.
template <class Stored, class T>
std::vector<double> stored_values(const Context& context, const SlicedMatrix<T>& matrix) {
    const auto host = host_sliced(context, matrix);
    const auto* const values = static_cast<const Stored*>(host.view.values);
    std::vector<double> wide;
    for (Offset k = 0; k < matrix.statistics().stored_blocks; ++k) {
        wide.push_back(widen_to<double>(values[k]));
    }
    return wide;
}

template <class Stored, class T>
void check_rounding(const std::string& word, int digits) {
    const Context context = test::context();
    auto random = test::generator();
    const CsrMatrix<double> host = test::random_csr<double>(random, 300, 300, 9);
    const CsrMatrix<double> matrix = copy_to(context, host.view());
    const std::string text = "sell:32,sort_window=1";
    const auto exact = stored_values<double>(
        context, SlicedMatrix<double>::from_csr(context, matrix.view(), format(text)));
    // Slices of 32 block rows for all values; on a GPU 64 would store them in another order.
    const auto found = stored_values<Stored>(
        context,
        SlicedMatrix<T>::from_csr(context, matrix.view(), format(text + ",values=" + word)));
    ASSERT_EQ(found.size(), exact.size());
    EXPECT_NE(found, exact);
    for (std::size_t k = 0; k < found.size(); ++k) {
        // Half a unit in the last place; 16-bit numbers below 2^-14 are subnormal.
        const double unit =
            exact[k] == 0 ? 0 : std::ldexp(1.0, std::max(std::ilogb(exact[k]) + 1, -13) - digits);
        ASSERT_LE(std::abs(found[k] - exact[k]), unit / 2) << word;
    }
}

TEST(sliced, narrow_values_are_rounded_to_nearest) {
    check_rounding<float, double>("f32", 24);
    check_rounding<f16, double>("f16", 11);
    check_rounding<bf16, double>("bf16", 8);
    check_rounding<f16, float>("f16", 11);
    check_rounding<bf16, float>("bf16", 8);
}

/// Near all FP16 numbers, halfway between them, and far outside of their range.
TEST(sliced, rounding_without_branches_is_that_of_conversions) {
    std::vector<double> values{0.0, 1e300, 0x1p-1074, std::numeric_limits<double>::infinity(),
                               std::numeric_limits<double>::quiet_NaN()};
    for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
        const double below = f16_to_float(std::uint16_t(bits));
        const double above = bits < 0x7bff ? f16_to_float(std::uint16_t(bits + 1)) : 65536.0;
        for (const double value : {below, (below + above) / 2}) {
            values.push_back(value);
            values.push_back(std::nextafter(value, 0.0));
            values.push_back(std::nextafter(value, 1e300));
        }
    }
    for (const double value : values) {
        ASSERT_EQ(round_to_f16(value), narrow_to<f16>(value).bits) << value;
        ASSERT_EQ(round_to_f16(-value), narrow_to<f16>(-value).bits) << -value;
    }
}

}  // namespace
}  // namespace tessera
