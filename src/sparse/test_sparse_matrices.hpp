#pragma once

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "support/test.hpp"

/// Matrices for tests of the formats.
namespace tessera::test {

/// The options of a text such as "sbell:3,slice=64".
inline FormatOptions format(const std::string& text) { return parse_format(Spec(text)); }

/// Random rows of 0..`longest` entries, values in [-1, 1).
template <class T>
CsrMatrix<T> random_csr(std::mt19937_64& random, Index rows, Index columns, Index longest) {
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index i = 0; i < rows; ++i) {
        std::set<Index> row;
        const Index length = Index(random() % std::uint64_t(std::min(longest, columns) + 1));
        while (Index(row.size()) < length) row.insert(Index(random() % std::uint64_t(columns)));
        pattern.emplace_back(row.begin(), row.end());
        values.push_back(random_vector<T>(random, row.size()));
    }
    return make_csr<T>(rows, columns, pattern, values);
}

/// Full `block` x `block` blocks, random block rows of 0..`longest` blocks.
template <class T>
CsrMatrix<T> random_blocks(std::mt19937_64& random, Index block_rows, Index block_columns,
                           Index block, Index longest) {
    const CsrMatrix<T> graph = random_csr<T>(random, block_rows, block_columns, longest);
    const CsrView<T> g = graph.view();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index i = 0; i < block_rows * block; ++i) {
        std::vector<Index> row;
        for (Offset k = g.row_offsets[i / block]; k < g.row_offsets[i / block + 1]; ++k) {
            for (Index c = 0; c < block; ++c) row.push_back(g.column_indices[k] * block + c);
        }
        values.push_back(random_vector<T>(random, row.size()));
        pattern.push_back(row);
    }
    return make_csr<T>(block_rows * block, block_columns * block, pattern, values);
}

/// Relevant shapes: none, empty rows, around slices and warps, sizes that no block divides, a long
/// row.
template <class T>
std::vector<CsrMatrix<T>> format_matrices(std::mt19937_64& random) {
    std::vector<CsrMatrix<T>> all;
    for (const auto& [rows, columns, longest] :
         std::vector<std::array<Index, 3>>{{0, 0, 0}, {0, 5, 0}, {5, 0, 0}, {1, 1, 1}, {7, 5, 0}}) {
        all.push_back(random_csr<T>(random, rows, columns, longest));
    }
    all.push_back(random_csr<T>(random, 61, 47, 9));
    all.push_back(random_csr<T>(random, 3, 200, 200));
    all.push_back(random_blocks<T>(random, 33, 33, 3, 12));
    if (fewer_run()) return all;
    all.push_back(random_csr<T>(random, 1031, 1029, 30));
    for (const Index block : {2, 4, 6}) {
        all.push_back(random_blocks<T>(random, 130, 97, block, 11));
    }
    return all;
}

/// The pattern and the bits of all values.
template <class T>
void expect_same_bits(const CsrView<T>& found, const CsrView<T>& expected,
                      const std::string& what) {
    ASSERT_EQ(found.rows, expected.rows) << what;
    ASSERT_EQ(found.columns, expected.columns) << what;
    ASSERT_EQ(found.nonzeros, expected.nonzeros) << what;
    EXPECT_TRUE(std::ranges::equal(found.row_offsets_span(), expected.row_offsets_span())) << what;
    EXPECT_TRUE(std::ranges::equal(found.column_indices_span(), expected.column_indices_span()))
        << what;
    if (expected.nonzeros == 0) return;
    EXPECT_EQ(std::memcmp(found.values, expected.values, expected.values_span().size_bytes()), 0)
        << what;
}

/// `count` elements at `from`, in the memory of `context`.
template <class T>
std::vector<T> host_copy(const Context& context, const T* from, Offset count) {
    if (from == nullptr || count == 0) return {};
    std::vector<T> to(static_cast<std::size_t>(count));
    copy_to_host(context, std::span<const T>(from, to.size()), std::span<T>(to));
    return to;
}

/// A sliced matrix in host memory.
template <class T>
struct HostSliced {
    std::vector<Offset> slice_offsets;
    std::vector<Index> row_lengths, block_columns, first_columns, permutation;
    std::vector<std::uint16_t> column_offsets;
    std::vector<std::byte> values;
    SlicedView<T> view;
};

template <class T>
HostSliced<T> host_sliced(const Context& context, const SlicedMatrix<T>& matrix) {
    HostSliced<T> host;
    host.view = matrix.view();
    SlicedPattern& a = host.view.pattern;
    const Offset slots = matrix.statistics().stored_blocks, area = Offset(a.block) * a.block;
    const Offset bytes = matrix.options().values == ValueFormat::working ? Offset(sizeof(T))
                         : matrix.options().values == ValueFormat::f32   ? 4
                                                                         : 2;
    host.slice_offsets = host_copy(context, a.slice_offsets, Offset(a.slices) + 1);
    host.row_lengths = host_copy(context, a.row_lengths, Offset(a.slices) * a.slice_height);
    host.block_columns = host_copy(context, a.block_columns, slots);
    if (a.column_offsets != nullptr) {
        host.column_offsets = host_copy(context, a.column_offsets, slots);
        host.first_columns = host_copy(context, a.first_columns, a.slices);
        a.column_offsets = host.column_offsets.data();
        a.first_columns = host.first_columns.data();
    }
    if (a.permutation != nullptr) {
        host.permutation = host_copy(context, a.permutation, a.block_rows());
        a.permutation = host.permutation.data();
    }
    host.values =
        host_copy(context, static_cast<const std::byte*>(host.view.values), slots * area * bytes);
    a.slice_offsets = host.slice_offsets.data();
    a.row_lengths = host.row_lengths.data();
    a.block_columns = host.block_columns.data();
    host.view.values = host.values.data();
    return host;
}

}  // namespace tessera::test
