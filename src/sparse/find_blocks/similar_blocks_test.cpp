#include <filesystem>

#include "sparse/find_blocks/test_patterns.hpp"

namespace tessera::test {

TEST(similar_blocks, by_hand) {
    // 3 and 3 coupled rows with one entry between; greedy agglomeration under 4 cuts the second.
    const Pattern pattern{{0, 1, 2}, {0, 1}, {0, 2}, {3, 4, 5}, {3, 4}, {3, 5}};
    const CsrMatrix<double> matrix = copy_to(context(), matrix_of(pattern).view());
    const auto found = [&](Blocking blocking) {
        const BlockPartition blocks = find_blocks(context(), matrix.view(), 4, blocking);
        return copy_to_host(context(), blocks.block_offsets);
    };
    EXPECT_EQ(found(Blocking::supervariable), (std::vector<Index>{0, 4, 6}));
    EXPECT_EQ(found(Blocking::similar), (std::vector<Index>{0, 3, 6}));
    EXPECT_EQ(find_blocks(context(), matrix.view(), 4, Blocking::similar).options,
              "4,blocks=similar");
}

TEST(similar_blocks, random_patterns) {
    auto random = generator();
    const auto sparse_band = [&](Index rows, Index width, std::uint64_t one_in) {
        Pattern pattern(static_cast<std::size_t>(rows));
        for (Index i = 0; i < rows; ++i) {
            auto& columns = pattern[std::size_t(i)];
            if (i > 0 && random() % 3 == 0) {
                columns = pattern[std::size_t(i) - 1];
                continue;
            }
            for (Index j = std::max(i - width, 0); j < std::min(i + width, rows); ++j) {
                if (j == i || random() % one_in == 0) columns.push_back(j);
            }
        }
        return pattern;
    };
    for (int round = 0; round < 40; ++round) {
        const Index rows = Index(random() % 120);
        const Pattern pattern = sparse_band(rows, 1 + Index(random() % 80), 1 + random() % 6);
        expect_reference(context(), pattern, 1 + Index(random() % 64), Blocking::similar);
    }
    for (const Index rows : {511, 1024, 1025, 1500}) {
        const Pattern pattern = sparse_band(rows, 12, 3);
        for (const Index bound : {4, 9}) {
            expect_reference(context(), pattern, bound, Blocking::similar);
        }
    }
    expect_reference(context(), Pattern(700), 7, Blocking::similar);  // One supervariable.
}

TEST(similar_blocks, keeps_the_most) {
    // Against all partitions, by a dynamic programme from the front.
    auto random = generator();
    for (int round = 0; round < 200; ++round) {
        const Index rows = 1 + Index(random() % 40);
        const Index bound = 1 + Index(random() % 12);
        Pattern pattern(static_cast<std::size_t>(rows));
        for (auto& columns : pattern) {
            for (Index j = 0; j < rows; ++j) {
                if (random() % 4 == 0) columns.push_back(j);
            }
        }
        const CsrMatrix<double> matrix = matrix_of(pattern);
        const reference::Pattern host{rows, matrix.view().row_offsets,
                                      matrix.view().column_indices};
        std::vector<Offset> most(std::size_t(rows) + 1, -1);
        most[0] = 0;
        for (Index i = 0; i < rows; ++i) {
            if (most[std::size_t(i)] < 0) continue;
            for (const Index end : host.ends(i, bound)) {
                most[std::size_t(end)] = std::max(most[std::size_t(end)],
                                                  most[std::size_t(i)] + host.inside(i, end, rows));
            }
        }
        const CsrMatrix<double> there = copy_to(context(), matrix.view());
        const BlockPartition blocks =
            find_blocks(context(), there.view(), bound, Blocking::similar);
        const std::vector<Index> offsets = copy_to_host(context(), blocks.block_offsets);
        Offset kept = 0;
        for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
            ASSERT_LE(offsets[b + 1] - offsets[b], bound);
            kept += host.inside(offsets[b], offsets[b + 1], rows);
        }
        EXPECT_EQ(kept, most.back());
    }
}

TEST(similar_blocks, on_real_matrices) {
    // At least as many nonzeros in the blocks as greedy agglomeration keeps, in 95 % of the cases.
    const std::string folder = matrix_folder();
    if (folder.empty()) GTEST_SKIP() << "no folder of matrices (TESSERA_TEST_MATRICES)";
    Offset cases = 0;
    Offset fewer = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        if (file.path().extension() != ".gz" || file.file_size() > 100000) continue;
        CsrMatrix<double> matrix;
        try {
            matrix = io::read_matrix<double>(host(), file.path().string());
        } catch (const ParseError&) {
            continue;  // Complex ones are refused.
        }
        if (matrix.rows() != matrix.columns()) continue;
        const CsrView<double> view = matrix.view();
        const CsrMatrix<double> there = copy_to(context(), view);
        for (const Index bound : {8, 32}) {
            const auto kept = [&](Blocking blocking) {
                const BlockPartition blocks = find_blocks(context(), there.view(), bound, blocking);
                const auto offsets = copy_to_host(context(), blocks.block_offsets);
                Offset count = 0;
                for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
                    for (Index i = offsets[b]; i < offsets[b + 1]; ++i) {
                        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                            count += view.column_indices[k] >= offsets[b] &&
                                     view.column_indices[k] < offsets[b + 1];
                        }
                    }
                }
                return count;
            };
            ++cases;
            fewer += kept(Blocking::similar) < kept(Blocking::supervariable);
        }
    }
    EXPECT_GT(cases, 0);
    EXPECT_LE(20 * fewer, cases);
}

}  // namespace tessera::test
