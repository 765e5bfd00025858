#include <algorithm>
#include <cstring>
#include <map>

#include "support/messages.hpp"
#include "tessera/borrow.hpp"

namespace tessera::test {

namespace {

/// A matrix as a map; zeros of blocks are stored.
template <class T>
using Entries = std::map<std::pair<Index, Index>, T>;

template <class T>
Entries<T> entries_of(const CsrView<T>& view) {
    const CsrMatrix<T> host = copy_to_host(context(), view);
    const CsrView<T> a = host.view();
    validate(a);
    Entries<T> entries;
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            entries[{i, a.column_indices[k]}] = a.values[k];
        }
    }
    return entries;
}

/// The caller's arrays in the memory of the Context, and a copy that they must still be equal to.
template <class T>
class Array {
  public:
    explicit Array(std::vector<T> host)
        : host_(std::move(host)), buffer_(copy_to_buffer(context(), host_)) {}
    const T* data() const { return buffer_.data(); }
    Offset size() const { return buffer_.size(); }
    void expect_unchanged() const {
        const std::vector<T> now = copy_to_host(context(), buffer_);
        EXPECT_EQ(std::memcmp(now.data(), host_.data(), host_.size() * sizeof(T)), 0);
    }

  private:
    std::vector<T> host_;
    Buffer<T> buffer_;
};

template <class To>
std::vector<To> as(const std::vector<Offset>& from) {
    return std::vector<To>(from.begin(), from.end());
}

/// Rows of random lengths, some empty, columns sorted.
struct Pattern {
    Index rows, columns;
    std::vector<Offset> row_offsets{0}, column_indices;
};

Pattern random_pattern(Index rows, Index columns) {
    auto random = generator();
    Pattern pattern{rows, columns, {0}, {}};
    for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) {
            if (i % 5 != 3 && random() % 4 == 0) pattern.column_indices.push_back(j);
        }
        pattern.row_offsets.push_back(Offset(pattern.column_indices.size()));
    }
    return pattern;
}

template <class T, class RowOffset, class Column>
void expect_csr() {
    auto random = generator();
    const Pattern pattern = random_pattern(37, 29);
    const auto count = pattern.column_indices.size();
    const auto host_values = random_vector<T>(random, count),
               others = random_vector<T>(random, count);
    const Array<RowOffset> row_offsets(as<RowOffset>(pattern.row_offsets));
    const Array<Column> columns(as<Column>(pattern.column_indices));
    const Array<T> values(host_values), other_values(others);
    BorrowedMatrix<T> matrix = borrow_csr(context(), pattern.rows, pattern.columns, values.size(),
                                          row_offsets.data(), columns.data(), values.data());
    EXPECT_TRUE(matrix.borrows_values());
    const CsrView<T> view = matrix.view();
    EXPECT_EQ(view.values, values.data());
    EXPECT_EQ((const void*)view.row_offsets == (const void*)row_offsets.data(),
              sizeof(RowOffset) == 8);
    EXPECT_EQ((const void*)view.column_indices == (const void*)columns.data(), sizeof(Column) == 4);
    const auto expect_values = [&](const std::vector<T>& expected) {
        Entries<T> entries;
        for (Index i = 0; i < pattern.rows; ++i) {
            for (Offset k = pattern.row_offsets[std::size_t(i)];
                 k < pattern.row_offsets[std::size_t(i) + 1]; ++k) {
                entries[{i, Index(pattern.column_indices[std::size_t(k)])}] =
                    expected[std::size_t(k)];
            }
        }
        EXPECT_EQ(entries_of(matrix.view()), entries);
    };
    expect_values(host_values);
    matrix.update(context(), other_values.data());
    expect_values(others);
    row_offsets.expect_unchanged();
    columns.expect_unchanged();
    values.expect_unchanged();
}

TEST(borrow, csr_with_32_and_64_bits) {
    expect_csr<double, std::int32_t, std::int32_t>();
    expect_csr<double, std::int32_t, std::int64_t>();
    expect_csr<double, std::int64_t, std::int32_t>();
    expect_csr<float, std::int64_t, std::int64_t>();
}

/// Sizes are compared with free memory before anything is allocated or read.
TEST(borrow, entries_that_memory_cannot_hold) {
    const Array<std::int64_t> indices({0});
    const Array<double> values({1});
    const auto make = [&](Offset entries) {
        return message_of<OutOfMemory>([&] {
            borrow_coo(context(), 3, 3, entries, indices.data(), indices.data(), values.data());
        });
    };
    for (const Offset entries : {std::numeric_limits<Offset>::max(), Offset(1) << 45}) {
        expect_contains(make(entries), "a COO matrix of 3 x 3 with " + std::to_string(entries) +
                                           " entries needs about ");
    }
}

TEST(borrow, unsorted_and_repeated_columns_are_sorted_on_request) {
    const Array<std::int32_t> row_offsets({0, 4, 4, 6});
    const Array<std::int32_t> columns({3, 0, 3, 1, 2, 0});
    const Array<double> values({1, 2, 4, 8, 16, 32}), others({1, 1, 1, 1, 1, -1});
    BorrowedMatrix<double> matrix =
        borrow_csr(context(), 3, 4, 6, row_offsets.data(), columns.data(), values.data(),
                   {.sort = SortColumns::yes});
    EXPECT_FALSE(matrix.borrows_values());
    EXPECT_EQ(entries_of(matrix.view()),
              (Entries<double>{{{0, 0}, 2}, {{0, 1}, 8}, {{0, 3}, 5}, {{2, 0}, 32}, {{2, 2}, 16}}));
    matrix.update(context(), others.data());
    EXPECT_EQ(entries_of(matrix.view()),
              (Entries<double>{{{0, 0}, 1}, {{0, 1}, 1}, {{0, 3}, 2}, {{2, 0}, -1}, {{2, 2}, 1}}));
    columns.expect_unchanged();
    values.expect_unchanged();
    expect_contains(message_of([&] {
                        borrow_csr(context(), 3, 4, 6, row_offsets.data(), columns.data(),
                                   values.data());
                    }),
                    "borrow_csr: row 0: the columns are not sorted");
}

template <class T, class RowOffset, class Column>
void expect_bsr(Index block, BlockOrder order, bool sort) {
    auto random = generator();
    Pattern pattern = random_pattern(11, 7);
    if (sort) {
        for (Index i = 0; i < pattern.rows; ++i) {
            std::reverse(pattern.column_indices.begin() + pattern.row_offsets[std::size_t(i)],
                         pattern.column_indices.begin() + pattern.row_offsets[std::size_t(i) + 1]);
        }
    }
    const Offset blocks = Offset(pattern.column_indices.size()), size = Offset(block) * block;
    const auto host_values = random_vector<T>(random, std::size_t(blocks * size));
    const auto others = random_vector<T>(random, host_values.size());
    const Array<RowOffset> row_offsets(as<RowOffset>(pattern.row_offsets));
    const Array<Column> columns(as<Column>(pattern.column_indices));
    const Array<T> values(host_values), other_values(others);
    BorrowedMatrix<T> matrix = borrow_bsr(context(), pattern.rows, pattern.columns, block, blocks,
                                          row_offsets.data(), columns.data(), values.data(), order,
                                          {.sort = sort ? SortColumns::yes : SortColumns::no});
    const auto expect_values = [&](const std::vector<T>& expected) {
        Entries<T> entries;
        for (Index i = 0; i < pattern.rows; ++i) {
            for (Offset t = pattern.row_offsets[std::size_t(i)];
                 t < pattern.row_offsets[std::size_t(i) + 1]; ++t) {
                for (Index r = 0; r < block; ++r) {
                    for (Index c = 0; c < block; ++c) {
                        const Offset place = order == BlockOrder::row_major ? Offset(r) * block + c
                                                                            : r + Offset(c) * block;
                        const auto column = Index(pattern.column_indices[std::size_t(t)]);
                        entries[{i * block + r, column * block + c}] =
                            expected[std::size_t(t * size + place)];
                    }
                }
            }
        }
        EXPECT_EQ(entries_of(matrix.view()), entries) << block;
    };
    expect_values(host_values);
    matrix.update(context(), other_values.data());
    expect_values(others);
    columns.expect_unchanged();
    values.expect_unchanged();
}

TEST(borrow, bsr_in_both_orders) {
    for (const Index block : {1, 2, 3, 6}) {
        for (const BlockOrder order : {BlockOrder::row_major, BlockOrder::column_major}) {
            expect_bsr<double, std::int32_t, std::int32_t>(block, order, false);
            expect_bsr<double, std::int64_t, std::int32_t>(block, order, true);
            expect_bsr<float, std::int32_t, std::int64_t>(block, order, false);
            expect_bsr<float, std::int64_t, std::int64_t>(block, order, true);
        }
    }
}

/// Duplicates are added up in the order given: with these values another order gives another sum.
template <class T, class Coordinate>
void expect_coo() {
    auto random = generator();
    const Index rows = 23, columns = 17;
    std::vector<Coordinate> row_indices, column_indices;
    std::vector<T> values;
    Entries<T> entries;
    for (int k = 0; k < 600; ++k) {
        const auto i = Index(random() % std::uint64_t(rows)),
                   j = Index(random() % std::uint64_t(columns));
        const T value = random_vector<T>(random, 1).front() * (k % 3 == 0 ? T(1e6) : T(1));
        row_indices.push_back(Coordinate(i));
        column_indices.push_back(Coordinate(j));
        values.push_back(value);
        const auto [at, fresh] = entries.try_emplace({i, j}, value);
        if (!fresh) at->second += value;
    }
    ASSERT_LT(entries.size(), values.size());
    const Array<Coordinate> i(row_indices), j(column_indices);
    const Array<T> v(values);
    BorrowedMatrix<T> matrix =
        borrow_coo(context(), rows, columns, v.size(), i.data(), j.data(), v.data());
    EXPECT_EQ(entries_of(matrix.view()), entries);
    EXPECT_FALSE(matrix.borrows_values());
    for (T& value : values) value *= 2;
    for (auto& [place, value] : entries) value *= 2;
    const Array<T> doubled(values);
    matrix.update(context(), doubled.data());
    EXPECT_EQ(entries_of(matrix.view()), entries);
    i.expect_unchanged();
    j.expect_unchanged();
    v.expect_unchanged();
}

TEST(borrow, coo_adds_up_duplicates) {
    expect_coo<double, std::int32_t>();
    expect_coo<float, std::int64_t>();
}

TEST(borrow, empty_matrices) {
    const Array<std::int32_t> zero({0, 0, 0}), none({});
    const Array<double> values({});
    EXPECT_EQ(
        borrow_csr(context(), 2, 5, 0, zero.data(), none.data(), values.data()).view().nonzeros, 0);
    EXPECT_EQ(borrow_csr(context(), 0, 0, 0, zero.data(), none.data(), values.data()).view().rows,
              0);
    EXPECT_EQ(
        borrow_bsr(context(), 2, 2, 3, 0, zero.data(), none.data(), values.data()).view().rows, 6);
    EXPECT_EQ(entries_of(
                  borrow_bsr(context(), 0, 0, 3, 0, zero.data(), none.data(), values.data()).view())
                  .size(),
              0u);
    EXPECT_EQ(
        entries_of(borrow_coo(context(), 3, 2, 0, none.data(), none.data(), values.data()).view())
            .size(),
        0u);
    BorrowedMatrix<double> matrix;
    EXPECT_EQ(matrix.view().rows, 0);
    EXPECT_FALSE(matrix.borrows_values());
    expect_contains(message_of([&] { matrix.update(context(), values.data()); }),
                    "there is no matrix");
}

TEST(borrow, wrong_arrays_are_named) {
    const Array<std::int32_t> offsets({0, 2, 3}), columns({0, 1, 1});
    const Array<double> values({1, 2, 3});
    const auto csr = [&](std::vector<std::int32_t> row_offsets, std::vector<std::int64_t> indices) {
        const Array<std::int32_t> from(std::move(row_offsets));
        const Array<std::int64_t> at(std::move(indices));
        return message_of(
            [&] { borrow_csr(context(), 2, 2, at.size(), from.data(), at.data(), values.data()); });
    };
    EXPECT_EQ(csr({0, 2, 3}, {0, 1, 1}), "accepted");
    expect_contains(csr({1, 2, 3}, {0, 1, 1}), "row 0: the row offsets");
    expect_contains(csr({0, 2, 2}, {0, 1, 1}), "row 1: the row offsets");
    expect_contains(csr({0, 4, 3}, {0, 1, 1}), "row 0: the row offsets");
    expect_contains(csr({0, -1, 3}, {0, 1, 1}), "row 0: the row offsets");
    expect_contains(csr({0, 2, 3}, {0, 1, 2}), "row 1: a column is out of range");
    expect_contains(csr({0, 2, 3}, {0, 1, -1}), "row 1: a column is out of range");
    expect_contains(csr({0, 2, 3}, {0, 1, std::int64_t(1) << 32}),
                    "row 1: a column is out of range");
    expect_contains(csr({0, 2, 3}, {1, 1, 0}), "row 0: the columns are not sorted and unique");
    expect_contains(csr({0, 2, 3}, {1, 0, 0}), "row 0: the columns are not sorted and unique");
    const std::int32_t* const no_indices = nullptr;
    const double* const no_values = nullptr;
    const auto plain = [&](Index rows, Offset count, const std::int32_t* from,
                           const std::int32_t* at, const double* v) {
        return message_of([&] { borrow_csr(context(), rows, 2, count, from, at, v); });
    };
    expect_contains(plain(2, 3, no_indices, columns.data(), values.data()), "row_offsets is null");
    expect_contains(plain(2, 3, offsets.data(), no_indices, values.data()),
                    "column_indices is null");
    expect_contains(plain(2, 3, offsets.data(), columns.data(), no_values), "values is null");
    expect_contains(plain(-1, 3, offsets.data(), columns.data(), values.data()), "negative size");
    expect_contains(plain(2, -3, offsets.data(), columns.data(), values.data()), "negative size");
    expect_contains(message_of([&] {
                        borrow_bsr(context(), 2, 2, 0, 3, offsets.data(), columns.data(),
                                   values.data());
                    }),
                    "blocks have 1 to 1024 rows");
    expect_contains(message_of([&] {
                        borrow_bsr(context(), 2, 1, 1, 3, offsets.data(), columns.data(),
                                   values.data());
                    }),
                    "row 0: a column is out of range");
    expect_contains(message_of([&] {
                        borrow_bsr(context(), 1 << 22, 2, 1024, 3, offsets.data(), columns.data(),
                                   values.data());
                    }),
                    "more than 2^31 - 1 rows");
    expect_contains(
        message_of(
            [&] { borrow_coo(context(), 2, 1, 3, columns.data(), columns.data(), values.data()); }),
        "entry 1 is at row 1 and column 1 of a 2 x 1 matrix");
    BorrowedMatrix<double> matrix =
        borrow_csr(context(), 2, 2, 3, offsets.data(), columns.data(), values.data());
    expect_contains(message_of([&] { matrix.update(context(), nullptr); }), "values is null");
}

}  // namespace

}  // namespace tessera::test
