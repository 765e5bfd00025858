#include "precond/block_jacobi/test_cases.hpp"

namespace tessera::test {

// A bad block anywhere in a group is detected, and the other blocks keep their bits.
TEST(singular_blocks, singular_blocks_leave_their_neighbours_alone) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        for (const Index n : {1, 3, 4, 13, 32}) {
            const auto blocks = random_blocks<T>(random, 70, n, n);
            const BlockJacobi<T> clean_jacobi = invert(device, make_case(random, blocks));
            const auto clean = inverses(device, clean_jacobi);
            for (std::size_t bad = 0; bad < 70; bad += fewer_run() ? 23 : 1) {
                auto corrupted = blocks;
                const Index line = Index(random() % std::uint64_t(n));
                const bool nan = bad % 2 == 1;
                for (Index i = 0; i < n; ++i) {
                    // The pivot of step line + 1.
                    corrupted[bad][std::size_t(i + line * n)] = T(0);
                }
                if (nan) corrupted[bad][0] = std::numeric_limits<T>::quiet_NaN();
                const Case<T> given = make_case(random, corrupted);
                const BlockJacobi<T> jacobi = invert(device, given);
                ASSERT_EQ(jacobi.singular_blocks(), 1);
                const auto first = jacobi.report().first_singular;
                ASSERT_EQ(first.size(), 1u);
                EXPECT_EQ(first[0].block, Index(bad));
                EXPECT_EQ(first[0].first_row, Index(bad) * n);
                EXPECT_EQ(first[0].rows, n);
                EXPECT_EQ(first[0].shift, -1);
                if (nan) {
                    EXPECT_GT(first[0].info, 0);
                } else {
                    EXPECT_EQ(first[0].info, line + 1);
                }
                const auto found = inverses(device, jacobi);
                EXPECT_TRUE(all_nan(found[bad]));
                for (std::size_t b = 0; b < 70; ++b) {
                    if (b == bad) continue;
                    ASSERT_TRUE(same_bits(found[b], clean[b])) << b << " of " << n;
                }
            }
        }
    });
}

TEST(singular_blocks, policies) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const T root = std::sqrt(std::numeric_limits<T>::epsilon());
        std::vector<std::vector<T>> blocks = random_blocks<T>(random, 40, 1, 32);
        blocks[3] = std::vector<T>(25, T(0));          // Norm 1, shift 0.
        blocks[11] = {0, 0, 0, 0, -root, 0, 0, 0, 1};  // The first shift is singular too.
        blocks[20] = std::vector<T>(32 * 32, T(1));
        blocks[30] = random_block<T>(random, 6);
        blocks[30][17] = std::numeric_limits<T>::infinity();
        blocks[31] = random_block<T>(random, 8);
        for (Index i = 0; i < 8; ++i) blocks[31][std::size_t(i + i * 8)] += T(8);
        for (Index i = 0; i < 8; ++i) blocks[31][std::size_t(5 + i * 8)] = 0;  // An empty row.
        const Case<T> given = make_case(random, blocks);
        const std::vector<std::size_t> singular{3, 11, 20, 30, 31};

        const BlockJacobi<T> stop = invert(device, given);
        const auto stopped = inverses(device, stop);
        const BlockJacobi<T> identity =
            invert(device, given, {.singular = SingularPolicy::identity});
        const auto replaced = inverses(device, identity);
        const BlockJacobi<T> shift = invert(device, given, {.singular = SingularPolicy::shift});
        const auto shifted = inverses(device, shift);

        for (const auto* jacobi : {&stop, &identity, &shift}) {
            const auto first = jacobi->report().first_singular;
            ASSERT_EQ(jacobi->singular_blocks(), Index(singular.size()));
            ASSERT_EQ(first.size(), singular.size());
            for (std::size_t s = 0; s < first.size(); ++s) {
                EXPECT_EQ(first[s].block, Index(singular[s]));
                EXPECT_GT(first[s].info, 0);
            }
        }
        for (const std::size_t b : singular) {
            const Index n = given.size(Index(b));
            EXPECT_TRUE(all_nan(stopped[b])) << b;
            if (b == 30) continue;
            EXPECT_EQ(replaced[b], block_of<T>(n, [](Index i, Index j) { return i == j; })) << b;
        }
        EXPECT_TRUE(all_nan(replaced[30]));
        EXPECT_TRUE(all_nan(shifted[30]));
        const auto first = shift.report().first_singular;
        const std::vector<int> known{0, 1, 0, -1, 0};
        for (std::size_t s = 0; s < first.size(); ++s) {
            EXPECT_EQ(first[s].shift, known[s]) << "block " << singular[s];
            if (singular[s] == 30) continue;
            const Index n = first[s].rows;
            auto block = given.blocks[singular[s]];
            const T norm = singular[s] == 3 ? T(1) : T(norm_inf(n, block));
            for (Index i = 0; i < n; ++i) {
                block[std::size_t(i + i * n)] += std::ldexp(root, first[s].shift) * norm;
            }
            expect_inverse(n, block, shifted[singular[s]]);
        }
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (std::find(singular.begin(), singular.end(), b) != singular.end()) continue;
            EXPECT_TRUE(same_bits(stopped[b], replaced[b]));
            EXPECT_TRUE(same_bits(stopped[b], shifted[b]));
        }
    });
}

// Equal rows and columns cancel exactly for all values: the quotient is 1, not nearly 1.
TEST(singular_blocks, equal_rows_are_singular) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (int value = 1; value <= 200; ++value) blocks.push_back(std::vector<T>(4, T(value)));
        for (Index n = 2; n <= 32; ++n) blocks.push_back(std::vector<T>(std::size_t(n * n), T(49)));
        const BlockJacobi<T> jacobi = invert(context(), make_case(random, blocks));
        const auto info = to_host(context(), jacobi.details().info);
        for (std::size_t b = 0; b < info.size(); ++b) EXPECT_EQ(info[b], 2) << "block " << b;
    });
}

// [ s 1/s ] and its transpose have usable pivots on the CPU and on a GPU, in this order, but -1/s^2
// [ 0  1  ] in the inverse; the other of the two has a second pivot that underflows to zero.
TEST(singular_blocks, an_inverse_that_overflows_is_singular) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const T small = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-1000);
        auto blocks = random_blocks<T>(random, 40, 2, 2);
        const auto clean = inverses(device, invert(device, make_case(random, blocks)));
        blocks[5] = {small, 0, 1 / small, 1};
        blocks[23] = {small, 1 / small, 0, 1};
        const Case<T> given = make_case(random, blocks);
        for (const auto policy :
             {SingularPolicy::stop, SingularPolicy::identity, SingularPolicy::shift}) {
            const BlockJacobi<T> jacobi = invert(device, given, {.singular = policy});
            ASSERT_EQ(jacobi.singular_blocks(), 2);
            const auto first = jacobi.report().first_singular;
            const auto found = inverses(device, jacobi);
            for (const std::size_t s : {0u, 1u}) {
                const std::size_t b = s == 0 ? 5 : 23;
                EXPECT_EQ(first[s].block, Index(b));
                EXPECT_EQ(first[s].info, 2);
                if (policy == SingularPolicy::stop) {
                    EXPECT_TRUE(all_nan(found[b]));
                }
                if (policy == SingularPolicy::identity) {
                    EXPECT_EQ(found[b], (std::vector<T>{1, 0, 0, 1}));
                }
                if (policy == SingularPolicy::shift) {
                    EXPECT_GE(first[s].shift, 0);
                    for (const T value : found[b]) EXPECT_TRUE(std::isfinite(value)) << value;
                }
            }
            for (std::size_t b = 0; b < blocks.size(); ++b) {
                if (b == 5 || b == 23) continue;
                EXPECT_TRUE(same_bits(found[b], clean[b])) << b;
            }
        }
    });
}

// The inverse of a nilpotent block plus s I grows like s^-n: the shift must be large enough.
TEST(singular_blocks, a_shift_bounds_the_inverse) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context device = context();
        const T root = std::sqrt(std::numeric_limits<T>::epsilon());
        std::vector<std::vector<T>> blocks;
        for (const T size : {T(1), T(0x1p60), T(0x1p-60)}) {
            for (const Index n : {1, 2, 3, 8, 13, 31, 32}) {
                blocks.push_back(
                    block_of<T>(n, [&](Index i, Index j) { return j == i + 1 ? size : T(0); }));
                // Entries of both signs above the diagonal: nilpotent too.
                auto random_upper = random_block<T>(random, n);
                for (Index j = 0; j < n; ++j) {
                    for (Index i = 0; i < n; ++i) {
                        T& value = random_upper[std::size_t(i + j * n)];
                        value = i < j ? size * value : T(0);
                    }
                }
                blocks.push_back(random_upper);
                blocks.push_back(transpose(n, random_upper));
            }
        }
        const Case<T> given = make_case(random, blocks);
        const BlockJacobi<T> jacobi = invert(device, given, {.singular = SingularPolicy::shift});
        EXPECT_EQ(jacobi.singular_blocks(), given.count());
        const auto found = inverses(device, jacobi);
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            const Index n = given.size(Index(b));
            const double norm = n == 1 ? 1 : norm_inf(n, blocks[b]);
            // One rounding for each term of a row sum, and those of the bound.
            EXPECT_LE(norm_inf(n, found[b]) * norm *
                          std::pow(double(std::numeric_limits<T>::epsilon()), 0.75),
                      n * (1 + gamma<T>(n + 8)))
                << b;
        }
        // The shift is one of those that are described, and no smaller one would do.
        const auto first = jacobi.report().first_singular;
        ASSERT_EQ(first.size(), 10u);
        for (const SingularBlock& block : first) {
            auto shifted = blocks[std::size_t(block.block)];
            const double norm = block.rows == 1 ? 1 : norm_inf(block.rows, shifted);
            ASSERT_GE(block.shift, 0);
            for (Index i = 0; i < block.rows; ++i) {
                shifted[std::size_t(i + i * block.rows)] = std::ldexp(root, block.shift) * T(norm);
            }
            expect_inverse(block.rows, shifted, found[std::size_t(block.block)]);
        }
    });
}

TEST(singular_blocks, first_ten_singular) {
    auto random = generator();
    std::vector<std::vector<double>> blocks(25, std::vector<double>(4, 0.0));
    blocks[0] = {1, 0, 0, 1};
    const BlockJacobi<double> jacobi = invert(context(), make_case(random, blocks));
    EXPECT_EQ(jacobi.singular_blocks(), 24);
    const auto first = jacobi.report().first_singular;
    ASSERT_EQ(first.size(), 10u);
    for (std::size_t s = 0; s < 10; ++s) EXPECT_EQ(first[s].block, Index(s) + 1);
    const auto info = to_host(context(), jacobi.details().info);
    EXPECT_EQ(info[0], 0);
    EXPECT_EQ(info[24], 1);
}

}  // namespace tessera::test
