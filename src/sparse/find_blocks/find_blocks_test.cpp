#include "sparse/find_blocks/test_patterns.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// Supervariables of 1..longest rows with up to three columns from a small range, so that
/// neighbours are sometimes equal by chance; some are empty rows.
Pattern random_pattern(std::mt19937_64& random, Index rows, Index longest) {
    Pattern pattern;
    while (Index(pattern.size()) < rows) {
        std::vector<Index> columns;
        for (Index column = 0; column < std::min<Index>(rows, 3); ++column) {
            if (random() % 2 == 0) columns.push_back(column);
        }
        const Index length = 1 + Index(random() % std::uint64_t(longest));
        for (Index i = 0; i < length && Index(pattern.size()) < rows; ++i) {
            pattern.push_back(columns);
        }
    }
    return pattern;
}

void expect_with_all_bounds(const Pattern& pattern) {
    for (const Index bound : {1, 2, 3, 7, 31, 32, 33, 63, 64}) {
        for (const Blocking blocking : {Blocking::supervariable, Blocking::natural}) {
            expect_reference(context(), pattern, bound, blocking);
        }
    }
}

}  // namespace

TEST(find_blocks, reference_by_hand) {
    // Supervariables of 3, 2, 5 and 1 rows.
    const std::vector<Offset> row_offsets{0, 1, 2, 3, 3, 3, 5, 7, 9, 11, 13, 14};
    const std::vector<Index> columns{0, 0, 0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1};
    const auto found = [&](Index bound, bool agglomerate) {
        return reference::find_blocks(11, row_offsets.data(), columns.data(), bound, agglomerate);
    };
    EXPECT_EQ(found(32, true), (std::vector<Index>{0, 11}));
    EXPECT_EQ(found(32, false), (std::vector<Index>{0, 3, 5, 10, 11}));
    EXPECT_EQ(found(5, true), (std::vector<Index>{0, 5, 10, 11}));
    EXPECT_EQ(found(4, true), (std::vector<Index>{0, 3, 5, 9, 11}));
    EXPECT_EQ(found(4, false), (std::vector<Index>{0, 3, 5, 9, 10, 11}));
    EXPECT_EQ(found(1, true), (std::vector<Index>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}

/// Patterns of fewest .. fewest + range - 1 rows.
void expect_references(int rounds, Index fewest, std::uint64_t range) {
    auto random = generator();
    const Context device = context();
    for (int round = 0; round < rounds; ++round) {
        const Index rows = fewest + Index(random() % range);
        const Index longest = 1 + Index(random() % 100);
        const Index bound = 1 + Index(random() % 64);
        const Pattern pattern = random_pattern(random, rows, longest);
        expect_reference(device, pattern, bound,
                         random() % 4 != 0 ? Blocking::supervariable : Blocking::natural);
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(find_blocks, random_patterns_small) { expect_references(fewer_run() ? 50 : 3000, 0, 200); }

TEST(find_blocks, random_patterns_over_many_chunks) {
    expect_references(fewer_run() ? 3 : 60, 900, 40000);
}

/// More chunks than a GPU composes at once.
TEST(find_blocks, random_patterns_over_very_many_chunks) {
    if (fewer_run()) GTEST_SKIP() << "fewer matrices were asked for";
    auto random = generator();
    const Pattern pattern = random_pattern(random, 1400000, 9);
    expect_reference(context(), pattern, 7, Blocking::supervariable);
    expect_reference(context(), pattern, 5, Blocking::natural);
}

TEST(find_blocks, sizes_around_words_and_chunks) {
    auto random = generator();
    for (const Index rows : {0,   1,    2,    31,   32,   33,   63,   64,   65,   127,
                             128, 1023, 1024, 1025, 1088, 2047, 2048, 2049, 2111, 2112}) {
        expect_with_all_bounds(random_pattern(random, rows, 40));
        expect_with_all_bounds(Pattern(std::size_t(rows)));  // Empty rows are equal to each other.
    }
}

TEST(find_blocks, extremes) {
    const Index rows = 5000;
    Pattern diagonal, dense, dense_row;
    std::vector<Index> all(rows);
    for (Index j = 0; j < rows; ++j) all[std::size_t(j)] = j;
    for (Index i = 0; i < rows; ++i) {
        diagonal.push_back({i});
        dense.push_back({0, 1, 2, rows - 1});  // One supervariable.
        dense_row.push_back(i == 2500 ? all : std::vector<Index>{i / 3});
    }
    expect_with_all_bounds(diagonal);
    expect_with_all_bounds(dense);
    expect_with_all_bounds(dense_row);
    Pattern equal_lengths;  // Equal lengths and equal first columns, last ones differ.
    for (Index i = 0; i < rows; ++i) equal_lengths.push_back({0, 1 + i % 2});
    expect_with_all_bounds(equal_lengths);
}

TEST(find_blocks, independent_of_threads) {
    if (context().on_gpu()) GTEST_SKIP() << "the CPU backend's threads";
    auto random = generator();
    const Pattern pattern = random_pattern(random, 60000, 20);
    for (const int threads : {1, 2, 7}) {
        expect_reference(host(threads), pattern, 13, Blocking::supervariable);
        expect_reference(host(threads), pattern, 64, Blocking::natural);
    }
}

TEST(find_blocks, rows_of_many_lengths) {
    // Rows of 0 to 20,000 nonzeros in one matrix, mostly equal to the previous row, or different
    // from it in one column, which may be the last one.
    auto random = generator();
    const Index rows = 24000;
    for (const Index longest : {5, 40, 300, 3000, 20000}) {
        Pattern pattern;
        Offset nonzeros = 0;
        std::vector<Index> columns;
        while (Index(pattern.size()) < rows && nonzeros < 600000) {
            const std::uint64_t kind = random() % 8;
            if (kind == 0 || pattern.empty()) {
                const Index length = Index(random() % std::uint64_t(longest + 1));
                columns.clear();
                for (Index k = 0; k < length; ++k) columns.push_back(k);
            } else if (kind == 1 && !columns.empty()) {
                columns.back() = columns.back() == rows - 1 ? rows - 2 : rows - 1;
            } else if (kind == 2 && columns.size() > 1) {
                const std::size_t at = random() % (columns.size() - 1);
                for (std::size_t k = at; k + 1 < columns.size(); ++k) ++columns[k];
                columns.back() = std::max(columns.back(), columns[columns.size() - 2] + 1);
            }
            pattern.push_back(columns);
            nonzeros += Offset(columns.size());
        }
        pattern.resize(std::size_t(rows));
        expect_reference(context(), pattern, 64, Blocking::natural);
    }
}

/// Supervariables of one size, or all but one of it.
TEST(find_blocks, supervariables_of_one_size) {
    auto random = generator();
    const auto expect = [&](const Pattern& pattern, Index size) {
        const Index drawn = 1 + Index(random() % 64);
        for (const Index bound : {size, 2 * size + 1, (size + 1) / 2, size / 4, drawn}) {
            if (bound < 1 || bound > 64) continue;
            expect_reference(context(), pattern, bound, Blocking::supervariable);
            expect_reference(context(), pattern, bound, Blocking::natural);
        }
    };
    for (const Index size : {1, 2, 3, 8, 12, 31, 32, 33, 63, 64, 65, 128}) {
        if (fewer_run() && size != 3 && size != 64) continue;
        for (const Index least : {1, 120, 128, 250, 2048, 4500}) {
            if (fewer_run() && least != 128 && least != 4500) continue;
            const Index count = (least + size - 1) / size;
            Pattern pattern;
            for (Index i = 0; i < count * size; ++i) pattern.push_back({i / size});
            expect(pattern, size);
            const auto expect_changed = [&](std::size_t at, std::size_t rows) {
                Pattern changed = pattern;
                for (std::size_t i = at; i < at + rows && i < changed.size(); ++i) {
                    changed[i].clear();
                }
                expect(changed, size);
            };
            expect_changed(0, 1);
            expect_changed(pattern.size() - 1, 1);
            expect_changed(random() % pattern.size(), 1);
            expect_changed(random() % pattern.size(), std::size_t(size));
            Pattern longer = pattern;
            longer.push_back(pattern.back());  // The end is no multiple.
            expect(longer, size);
            longer = pattern;
            longer.insert(longer.begin(), pattern.front());
            expect(longer, size);
            longer = pattern;  // Two sizes, each from a multiple on.
            for (Index i = 0; i < 2 * size * count; ++i) longer.push_back({count + i / (2 * size)});
            expect(longer, size);
            if (HasFatalFailure()) return;
        }
    }
}

/// Rows of one length, or all but two of it.
TEST(find_blocks, rows_of_a_whole_mean_length) {
    auto random = generator();
    const Index rows = 700;
    for (const Index length : {1, 2, 3, 4, 5, 8, 12, 31, 32, 40, 124, 130}) {
        std::vector<Index> columns;
        for (Index k = 0; k < length; ++k) columns.push_back(2 * k);
        Pattern pattern;
        while (Index(pattern.size()) < rows) {
            if (random() % 3 == 0) columns[random() % columns.size()] ^= 1;
            pattern.push_back(columns);
        }
        const auto expect = [&](std::size_t shorter, std::size_t longer) {
            Pattern changed = pattern;
            if (shorter != longer) {
                changed[shorter].pop_back();
                changed[longer].push_back(rows - 1);
            }
            expect_reference(context(), changed, 64, Blocking::natural);
            expect_reference(context(), changed, 9, Blocking::supervariable);
        };
        expect(0, 0);
        expect(0, 699);
        expect(699, 0);
        expect(95, 96);
        expect(33, 31);
        expect(random() % 700, random() % 700);
        if (HasFatalFailure()) return;
    }
}

TEST(find_blocks, rows_that_differ_in_one_column) {
    auto random = generator();
    const Index rows = 700;
    for (const Index length : {3, 4, 8, 12, 20, 28, 32, 64, 124, 128, 132, 200}) {
        for (const Index shift : {0, 1, 2, 4}) {  // Columns before the first of these rows.
            std::vector<Index> columns;
            for (Index k = 0; k < length; ++k) columns.push_back(2 * k);
            Pattern pattern{columns};
            pattern.front().resize(std::size_t(std::min(shift, length)));
            while (Index(pattern.size()) < rows) {
                if (random() % 3 == 0) columns[random() % columns.size()] ^= 1;
                pattern.push_back(columns);
                if (random() % 50 == 0) pattern.push_back({});
            }
            pattern.resize(std::size_t(rows));
            expect_reference(context(), pattern, 64, Blocking::natural);
            expect_reference(context(), pattern, 9, Blocking::supervariable);
        }
    }
}

TEST(find_blocks, entry_offsets) {
    auto random = generator();
    const Context device = context();
    for (const Index count : {0, 1, 2, 7, 1000, 5000}) {
        std::vector<Index> starts{0};
        std::vector<Offset> expected{0};
        for (Index b = 0; b < count; ++b) {
            const Index size = 1 + Index(random() % 32);
            starts.push_back(starts.back() + size);
            expected.push_back(expected.back() + Offset(size) * size);
        }
        const BlockPartition blocks = blocks_from_offsets(device, starts.back(), starts);
        Buffer<Offset> found(device, Offset(count) + 1);
        block_entry_offsets(device, blocks, found.view());
        EXPECT_EQ(copy_to_host(device, found), expected);
    }
}

TEST(find_blocks, groups) {
    const auto groups = [](const Context& where, const std::vector<Index>& offsets, Index rows) {
        const BlockPartition blocks = blocks_from_offsets(where, offsets.back(), offsets);
        return copy_to_host(where, group_blocks(where, blocks, rows));
    };
    EXPECT_EQ(groups(context(), {0, 3, 4, 20, 40, 41}, 8), (std::vector<Index>{0, 2, 3, 4, 5}));
    EXPECT_EQ(groups(context(), {0, 3, 4, 20, 40, 41}, 64), (std::vector<Index>{0, 5}));
    EXPECT_EQ(groups(context(), {0}, 64), (std::vector<Index>{0}));
    auto random = generator();
    std::vector<Context> contexts{context()};
    if (!context().on_gpu()) contexts = {host(1), host(2), host(7)};
    for (int round = 0; round < 300; ++round) {
        const Index count = Index(random() % (round % 10 == 0 ? 60000 : 300));
        const Index longest = 1 + Index(random() % largest_block_bound);
        std::vector<Index> offsets{0};
        while (Index(offsets.size()) <= count) {
            offsets.push_back(offsets.back() + 1 + Index(random() % std::uint64_t(longest)));
        }
        for (const Index rows : {1, 2, 31, 32, 33, 63, 64, 1 + Index(random() % 64)}) {
            const auto expected = reference::group_blocks(offsets, rows);
            for (const Context& where : contexts) {
                ASSERT_EQ(groups(where, offsets, rows), expected) << count << " blocks, " << rows;
            }
        }
    }
    const BlockPartition one = uniform_partition(context(), 1, 1);
    EXPECT_THROW(group_blocks(context(), one, 0), InvalidArgument);
    EXPECT_THROW(group_blocks(context(), one, 65), InvalidArgument);
}

TEST(find_blocks, uniform) {
    for (const Index rows : {0, 1, 31, 63, 64, 65, 200}) {
        for (Index size = 1; size <= 64; ++size) {
            const BlockPartition blocks = uniform_partition(context(), rows, size);
            EXPECT_EQ(blocks.count, (rows + size - 1) / size);
            EXPECT_EQ(blocks.largest, std::min(rows, size));
            const auto offsets = copy_to_host(context(), blocks.block_offsets);
            ASSERT_EQ(Index(offsets.size()), blocks.count + 1);
            for (Index b = 0; b < blocks.count; ++b) EXPECT_EQ(offsets[std::size_t(b)], b * size);
            EXPECT_EQ(offsets.back(), rows);
        }
    }
}

TEST(find_blocks, given_offsets) {
    const std::vector<Index> good{0, 3, 4, 68};
    const BlockPartition blocks = blocks_from_offsets(context(), 68, good);
    EXPECT_EQ(blocks.count, 3);
    EXPECT_EQ(blocks.largest, 64);
    EXPECT_EQ(blocks.entries, 9 + 1 + 4096);
    EXPECT_EQ(copy_to_host(context(), blocks.block_offsets), good);
    EXPECT_EQ(blocks_from_offsets(context(), 0, std::vector<Index>{0}).count, 0);

    const auto message = [](Index rows, const std::vector<Index>& offsets) {
        return message_of([&] { blocks_from_offsets(context(), rows, offsets); });
    };
    EXPECT_NE(message(4, {}), "accepted");
    EXPECT_NE(message(4, {1, 4}), "accepted");
    expect_contains(message(4, {0, 2, 2, 4}), "block 1 has 0 rows");
    expect_contains(message(4, {0, 3, 2, 4}), "block 1 has -1 rows");
    expect_contains(message(72, {0, 2, 67, 72}), "block 1 has 65 rows");
    expect_contains(message(4, {0, 2}), "end at row 2");
}

TEST(find_blocks, rejects_misuse) {
    const CsrMatrix<double> square = copy_to(context(), matrix_of({{0}}).view());
    EXPECT_THROW(find_blocks(context(), square.view(), 0), InvalidArgument);
    EXPECT_THROW(find_blocks(context(), square.view(), 65), InvalidArgument);
    CsrView<double> wide = square.view();
    wide.columns = 2;
    EXPECT_THROW(find_blocks(context(), wide, 4), InvalidArgument);
    EXPECT_THROW(uniform_partition(context(), 10, 0), InvalidArgument);
    EXPECT_THROW(uniform_partition(context(), 10, 65), InvalidArgument);
}

}  // namespace tessera::test
