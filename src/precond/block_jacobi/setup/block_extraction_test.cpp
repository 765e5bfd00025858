#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

namespace {

/// The case with one more block, of one row: other kernels, if all had one size.
template <class T>
Case<T> with_another_block(const Case<T>& given) {
    const CsrView<T> sparse = given.matrix.view();
    Case<T> made;
    made.offsets = given.offsets;
    made.blocks = given.blocks;
    made.offsets.push_back(sparse.rows + 1);
    made.blocks.push_back({T(2)});
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index r = 0; r < sparse.rows; ++r) {
        const Offset begin = sparse.row_offsets[r], end = sparse.row_offsets[r + 1];
        pattern.emplace_back(sparse.column_indices + begin, sparse.column_indices + end);
        values.emplace_back(sparse.values + begin, sparse.values + end);
    }
    pattern.push_back({sparse.rows});
    values.push_back({T(2)});
    made.matrix = make_csr(sparse.rows + 1, sparse.rows + 1, pattern, values);
    return made;
}

/// Results of a setup.
template <class T>
struct Outcome {
    std::vector<T> values, conditions;
    std::vector<Index> info;
};
template <class T>
Outcome<T> outcome(const Context& context, const Case<T>& given) {
    const BlockJacobi<T> jacobi = invert(context, given);
    return {copy_to_host(context, jacobi.copy_inverses(context)),
            to_host(context, jacobi.details().reciprocal_conditions),
            to_host(context, jacobi.details().info)};
}

/// Checks that blocks of one size and of mixed sizes give equal bits. Returns the info of each.
template <class T>
std::vector<Index> expect_same_beside_another(const Context& context, const Case<T>& given) {
    const Outcome<T> alone = outcome(context, given);
    Outcome<T> beside = outcome(context, with_another_block(given));
    EXPECT_EQ(beside.info.back(), 0);
    beside.values.pop_back();
    beside.conditions.pop_back();
    beside.info.pop_back();
    EXPECT_TRUE(same_bits(alone.values, beside.values));
    EXPECT_TRUE(same_bits(alone.conditions, beside.conditions));
    EXPECT_EQ(alone.info, beside.info);
    return alone.info;
}

/// Inverses within their bounds, bitwise equal beside another block.
template <class T>
void expect_inverted(const Context& context, const Case<T>& given) {
    expect_all_inverted(context, given);
    expect_same_beside_another(context, given);
}

/// n x n, with about one nonzero in `every` values, and a diagonal.
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

/// Sizes of blocks for which there may be a kernel for equal sizes.
std::vector<Index> equal_sizes() {
    if (fewer_run()) return {4, 12, 32};
    return {4, 8, 12, 16, 20, 24, 28, 32};
}

/// As random_blocks, all of n rows and some of them symmetric.
template <class T>
std::vector<std::vector<T>> equal_blocks(std::mt19937_64& random, Index count, Index n,
                                         bool symmetric) {
    std::vector<std::vector<T>> blocks;
    for (Index b = 0; b < count; ++b) {
        blocks.push_back(sparse_block<T>(random, n, 1, symmetric && b % 5 != 0));
    }
    return blocks;
}

/// The case with the entry `from` of row i removed, if it is stored, and the entry `to` added, if
/// it is not; both are columns below the number of rows.
template <class T>
void move_entry(Case<T>& given, Index i, Index from, Index to) {
    const CsrView<T> sparse = given.matrix.view();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index r = 0; r < sparse.rows; ++r) {
        std::map<Index, T> row;
        for (Offset k = sparse.row_offsets[r]; k < sparse.row_offsets[r + 1]; ++k) {
            row[sparse.column_indices[k]] = sparse.values[k];
        }
        if (r == i) {
            row.erase(from);
            row[to] = T(5);
        }
        pattern.emplace_back();
        values.emplace_back();
        for (const auto& [column, value] : row) {
            pattern.back().push_back(column);
            values.back().push_back(value);
        }
    }
    given.matrix = make_csr(sparse.rows, sparse.rows, pattern, values);
}

/// Removes entry (i, j) of block b, so that the matrix does not store it.
template <class T>
void remove_entry(std::vector<std::vector<T>>& blocks, Index b, Index n, Index i, Index j) {
    blocks[std::size_t(b)][std::size_t(i + j * n)] = T(0);
}

}  // namespace

TEST(block_extraction, every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : {1, 2, 3, 4, 5, 8, 9, 15, 16, 17, 24, 27, 31, 32}) {
            SCOPED_TRACE(n);
            expect_inverted(context(), make_case(random, random_blocks<T>(random, 67, n, n)));
        }
        expect_inverted(context(), make_case(random, random_blocks<T>(random, 300, 1, 32)));
        expect_inverted(context(), make_case(random, random_blocks<T>(random, 500, 1, 6)));
    });
}

// The entries of such blocks are contiguous.
TEST(block_extraction, full_blocks) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : equal_sizes()) {
            SCOPED_TRACE(n);
            for (const bool symmetric : {false, true}) {
                for (const Index count : {1, 71}) {
                    const auto blocks = equal_blocks<T>(random, count, n, symmetric);
                    expect_inverted(context(), make_case(random, blocks, 0));
                }
            }
        }
    });
}

/// Blocks with pivots in the rows `order`, column by column: much larger than all other entries.
template <class T>
std::vector<T> block_of_order(std::mt19937_64& random, const std::vector<Index>& order) {
    const Index n = Index(order.size());
    auto block = random_block<T>(random, n);
    for (Index j = 0; j < n; ++j) {
        block[std::size_t(order[std::size_t(j)] + j * n)] += T(8 * n);
    }
    return block;
}

// Lanes with several rows have none, one, or several of the pivots of adjacent columns.
TEST(block_extraction, full_blocks_with_pivots_anywhere) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : equal_sizes()) {
            SCOPED_TRACE(n);
            std::vector<std::vector<T>> blocks;
            for (Index step = 1; step <= n; ++step) {
                // Rows 0, step, 2 step, .. 1, 1 + step, ..
                std::vector<Index> order;
                for (Index first = 0; first < step; ++first) {
                    for (Index row = first; row < n; row += step) order.push_back(row);
                }
                blocks.push_back(block_of_order<T>(random, order));
                std::reverse(order.begin(), order.end());
                blocks.push_back(block_of_order<T>(random, order));
                std::shuffle(order.begin(), order.end(), random);
                blocks.push_back(block_of_order<T>(random, order));
            }
            expect_inverted(context(), make_case(random, blocks, 0));
        }
    });
}

// Each of these has the number of entries, the offsets, or the first and last columns of a matrix
// of full blocks.
TEST(block_extraction, nearly_full_blocks) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : equal_sizes()) {
            SCOPED_TRACE(n);
            const Index count = 70, rows = count * n, middle = 33, start = middle * n;
            const auto blocks = equal_blocks<T>(random, count, n, true);
            const auto without = [&](Index i, Index j) {
                auto fewer = blocks;
                remove_entry(fewer, middle, n, i, j);
                return make_case(random, fewer, 0);
            };
            const Index first = 0, last = rows - 1;
            // The entries of one row have the right number, and those at one end belong to the
            // block.
            Case<T> given = without(n / 2, 0);
            move_entry(given, start + n / 2, start, first);
            expect_inverted(context(), given);
            given = without(n / 2, n - 1);
            move_entry(given, start + n / 2, start + n - 1, last);
            expect_inverted(context(), given);
            // Two rows together have the right number of entries.
            given = without(1, 1);
            move_entry(given, start + 2, first, first);
            expect_inverted(context(), given);
            given = without(n - 1, 0);
            move_entry(given, start + n - 2, last, last);
            expect_inverted(context(), given);
            // One is missing; there is one too many at the beginning, so that all others are
            // shifted.
            expect_inverted(context(), without(n / 2, n / 2));
            given = make_case(random, blocks, 0);
            move_entry(given, 0, last, last);
            expect_inverted(context(), given);
        }
    });
}

// Blocks without an inverse, and those with pivots or inverses at the limits of the range, among
// full ones.
TEST(block_extraction, full_blocks_that_are_odd) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : equal_sizes()) {
            SCOPED_TRACE(n);
            auto blocks = equal_blocks<T>(random, 70, n, true);
            const auto multiply = [&](std::size_t b, T factor) {
                for (T& value : blocks[b]) value *= factor;
            };
            blocks[3] = std::vector<T>(std::size_t(n) * n, T(1));
            blocks[11].back() = std::numeric_limits<T>::quiet_NaN();
            blocks[20].front() = std::numeric_limits<T>::infinity();
            multiply(31, 4 * std::numeric_limits<T>::min());
            multiply(32, std::numeric_limits<T>::max() / 4);
            multiply(55, std::numeric_limits<T>::min());
            const Case<T> given = make_case(random, blocks, 0);
            const std::vector<Index> info = expect_same_beside_another(context(), given);
            EXPECT_EQ(info[3], 2);
            EXPECT_GT(info[11], 0);
            EXPECT_GT(info[20], 0);
            EXPECT_EQ(info[40], 0);
        }
    });
}

TEST(block_extraction, more_than_32_rows) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (const Index n : {33, 40, 63, 64}) {
            if (n > largest_block_bound) continue;
            expect_inverted(context(), make_case(random, random_blocks<T>(random, 5, n, n)));
        }
        expect_inverted(context(),
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
                expect_inverted(context(), make_case(random, blocks, int(random() % 6)));
            }
        }
    });
}

// Rows 0, 31 and the last one are full: they are searched, not read entirely.
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
        expect_inverted(context(), given);
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
        expect_all_inverted(context(), given);
        if (HasFailure()) return;
    }
}

}  // namespace tessera::test
