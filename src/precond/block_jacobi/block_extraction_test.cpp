#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

namespace {

/// The ways to extract blocks of at most `largest` rows.
std::vector<BlockExtraction> extractions(const Context& context, Index largest) {
    if (!context.on_gpu()) return {BlockExtraction::automatic};
    if (largest > 32) return {BlockExtraction::automatic, BlockExtraction::separate};
    return {BlockExtraction::shared_multiple, BlockExtraction::cached, BlockExtraction::shared_full,
            BlockExtraction::shared, BlockExtraction::separate};
}

/// Every way gives inverses within their bounds; the merged kernels equal ones.
template <class T>
void expect_same_by_all(const Context& context, const Case<T>& given) {
    Index largest = 0;
    for (Index b = 0; b < given.count(); ++b) largest = std::max(largest, given.size(b));
    std::vector<T> first;
    std::vector<T> first_conditions;
    for (const BlockExtraction extraction : extractions(context, largest)) {
        SCOPED_TRACE("extraction " + std::to_string(int(extraction)));
        expect_all_inverted(context, given, {.extraction = extraction});
        const BlockJacobi<T> jacobi = invert(context, given, {.extraction = extraction});
        if (!context.on_gpu() || extraction == BlockExtraction::separate) continue;
        const auto values = copy_to_host(context, jacobi.copy_inverses(context));
        const auto conditions = to_host(context, jacobi.reciprocal_conditions());
        if (first.empty()) {
            first = values;
            first_conditions = conditions;
        }
        EXPECT_TRUE(same_bits(values, first));
        EXPECT_TRUE(same_bits(conditions, first_conditions));
    }
}

/// n x n, with about one in `every` values not zero, and a diagonal.
template <class T>
std::vector<T> sparse_block(std::mt19937_64& random, Index n, unsigned every, bool symmetric) {
    auto block = random_block<T>(random, n);
    for (Index j = 0; j < n; ++j) {
        for (Index i = 0; i < n; ++i) {
            T& value = block[std::size_t(i + j * n)];
            if (i == j) {
                value += value < 0 ? T(-1) : T(1);
            } else if (random() % every != 0) {
                value = 0;
            }
        }
    }
    for (Index j = 0; symmetric && j < n; ++j) {
        for (Index i = 0; i < j; ++i) {
            block[std::size_t(i + j * n)] = block[std::size_t(j + i * n)];
        }
    }
    return block;
}

}  // namespace

TEST(block_extraction, every_way_and_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : {1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 24, 27, 31, 32}) {
            SCOPED_TRACE(n);
            expect_same_by_all(context(), make_case(random, random_blocks<T>(random, 67, n, n)));
        }
        expect_same_by_all(context(), make_case(random, random_blocks<T>(random, 300, 1, 32)));
        expect_same_by_all(context(), make_case(random, random_blocks<T>(random, 500, 1, 6)));
    });
}

TEST(block_extraction, more_than_32_rows) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : {33, 40, 63, 64}) {
            if (n > largest_block_bound) continue;
            expect_same_by_all(context(), make_case(random, random_blocks<T>(random, 5, n, n)));
        }
        expect_same_by_all(context(),
                           make_case(random, random_blocks<T>(random, 60, 1, largest_block_bound)));
    });
}

TEST(block_extraction, sparse_and_symmetric_blocks) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const unsigned every : {1u, 3u, 12u}) {
            for (const Index high : {Index(5), Index(32), largest_block_bound}) {
                std::vector<std::vector<T>> blocks;
                for (int b = 0; b < 60; ++b) {
                    const Index n = 1 + Index(random() % std::uint64_t(high));
                    blocks.push_back(sparse_block<T>(random, n, every, b % 3 != 0));
                }
                expect_same_by_all(context(), make_case(random, blocks, int(random() % 6)));
            }
        }
    });
}

// Rows 0, 31 and the last one are full: they are searched, not swept.
TEST(block_extraction, long_rows) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        auto blocks = random_blocks<T>(random, 200, 1, 24);
        Case<T> given = make_case(random, blocks);
        const Index rows = given.offsets.back();
        const CsrView<T> sparse = given.matrix.view();
        std::vector<std::vector<Index>> pattern;
        std::vector<std::vector<T>> values;
        for (Index i = 0; i < rows; ++i) {
            std::map<Index, T> row;
            if (i == 0 || i == 31 || i + 1 == rows) {
                for (Index j = 0; j < rows; ++j) row[j] = T(3);
                Index b = 0;
                while (given.offsets[std::size_t(b) + 1] <= i) ++b;
                const Index first = given.offsets[std::size_t(b)];
                for (Index j = 0; j < given.size(b); ++j) {
                    row[first + j] =
                        blocks[std::size_t(b)][std::size_t(i - first + j * given.size(b))];
                }
            } else {
                for (Offset k = sparse.row_offsets[i]; k < sparse.row_offsets[i + 1]; ++k) {
                    row[sparse.column_indices[k]] = sparse.values[k];
                }
            }
            pattern.emplace_back();
            values.emplace_back();
            for (const auto& [column, value] : row) {
                pattern.back().push_back(column);
                values.back().push_back(value);
            }
        }
        given.matrix = make_csr(rows, rows, pattern, values);
        expect_same_by_all(context(), given);
    });
}

TEST(block_extraction, random_patterns) {
    auto random = generator();
    const int patterns = full_run() ? 100000 : fewer_run() ? 50 : 2000;
    for (int k = 0; k < patterns; ++k) {
        const Index bound = 1 + Index(random() % largest_block_bound);
        const int count = 1 + int(random() % 12);
        const unsigned every = 1 + unsigned(random() % 8);
        std::vector<std::vector<double>> blocks;
        for (int b = 0; b < count; ++b) {
            const Index n =
                1 + Index(random() % std::uint64_t(std::min<Index>(
                                         bound, 1 + Index(random() % largest_block_bound))));
            blocks.push_back(sparse_block<double>(random, n, every, random() % 2 == 0));
        }
        SCOPED_TRACE(k);
        const Case<double> given = make_case(random, blocks, int(random() % 12));
        const auto ways = extractions(context(), std::min<Index>(bound, 32));
        const auto way = ways[random() % ways.size()];
        Index largest = 0;
        for (Index b = 0; b < given.count(); ++b) largest = std::max(largest, given.size(b));
        expect_all_inverted(context(), given,
                            {.extraction = largest > 32 ? BlockExtraction::automatic : way});
        if (HasFailure()) return;
    }
}

}  // namespace tessera::test
