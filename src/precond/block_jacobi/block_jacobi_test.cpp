#include <cstring>
#include <map>
#include <numeric>

#include "batched/invert/invert_reference.hpp"
#include "support/blocks.hpp"

namespace tessera::test {

namespace {

/// A matrix whose diagonal blocks are known, with some entries around them.
template <class T>
struct Case {
    std::vector<Index> offsets{0};
    std::vector<std::vector<T>> blocks;
    CsrMatrix<T> matrix;  ///< In host memory.

    Index count() const { return Index(blocks.size()); }
    Index size(Index b) const { return offsets[std::size_t(b) + 1] - offsets[std::size_t(b)]; }
};

/// Zeros in blocks are not stored. `around` entries a row outside the blocks, on average; every
/// 50th row has 80 more.
template <class T>
Case<T> make_case(std::mt19937_64& random, std::vector<std::vector<T>> blocks, int around = 3) {
    Case<T> made;
    for (const auto& block : blocks) {
        made.offsets.push_back(made.offsets.back() + Index(std::lround(std::sqrt(block.size()))));
    }
    made.blocks = std::move(blocks);
    const Index rows = made.offsets.back();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<T>> values;
    for (Index b = 0; b < made.count(); ++b) {
        const Index first = made.offsets[std::size_t(b)], n = made.size(b);
        for (Index i = 0; i < n; ++i) {
            std::map<Index, T> row;
            const int others = around == 0 ? 0
                                           : int(random() % std::uint64_t(2 * around + 1)) +
                                                 ((first + i) % 50 == 0 ? 80 : 0);
            for (int k = 0; k < others; ++k) {
                const Index column = Index(random() % std::uint64_t(rows));
                if (column < first || column >= first + n) row[column] = T(7);
            }
            for (Index j = 0; j < n; ++j) {
                const T value = made.blocks[std::size_t(b)][std::size_t(i + j * n)];
                if (value != T(0)) row[first + j] = value;
            }
            pattern.emplace_back();
            values.emplace_back();
            for (const auto& [column, value] : row) {
                pattern.back().push_back(column);
                values.back().push_back(value);
            }
        }
    }
    made.matrix = make_csr(rows, rows, pattern, values);
    return made;
}

template <class T>
std::vector<std::vector<T>> random_blocks(std::mt19937_64& random, Index count, Index low,
                                          Index high) {
    std::vector<std::vector<T>> blocks;
    for (Index b = 0; b < count; ++b) {
        blocks.push_back(
            random_block<T>(random, low + Index(random() % std::uint64_t(high - low + 1))));
    }
    return blocks;
}

template <class T>
BlockJacobi<T> invert(const Context& context, const Case<T>& given,
                      SingularPolicy policy = SingularPolicy::stop) {
    const CsrMatrix<T> there = copy_to(context, given.matrix.view());
    return BlockJacobi<T>(context, there.view(),
                          blocks_from_offsets(context, given.offsets.back(), given.offsets),
                          policy);
}

template <class T>
std::vector<T> to_host(const Context& context, std::span<const T> there) {
    std::vector<T> here(there.size());
    copy_to_host(context, there, std::span<T>(here));
    return here;
}

/// The inverses of all blocks, taken apart.
template <class T>
std::vector<std::vector<T>> inverses(const Context& context, const BlockJacobi<T>& jacobi) {
    const auto values = to_host(context, jacobi.inverses());
    const auto offsets = to_host(context, jacobi.inverse_offsets());
    std::vector<std::vector<T>> blocks;
    for (std::size_t b = 0; b + 1 < offsets.size(); ++b) {
        blocks.emplace_back(values.begin() + offsets[b], values.begin() + offsets[b + 1]);
    }
    return blocks;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

template <class T>
bool all_nan(const std::vector<T>& a) {
    return std::all_of(a.begin(), a.end(), [](T value) { return std::isnan(value); });
}

/// The residual on the side that the backend bounds (left on the CPU, right on a GPU) is below the
/// pivot growth, and so the distance from the inverse in long double is within what follows.
template <class T>
void expect_inverse(const Context& context, Index n, const std::vector<T>& block,
                    const std::vector<T>& inverse) {
    const bool right = context.on_gpu();
    std::vector<long double> exact(block.begin(), block.end());
    if (right) exact = transpose(n, exact);
    double growth = 0;
    ASSERT_EQ(reference::gauss_jordan_implicit(n, exact.data(), &growth), 0);
    if (right) exact = transpose(n, exact);
    const double residual =
        right ? left_residual(n, inverse, block) : left_residual(n, block, inverse);
    ASSERT_LT(residual, growth) << "n = " << n;
    std::vector<long double> error = exact;
    for (std::size_t e = 0; e < error.size(); ++e) error[e] -= inverse[e];
    const double unit =
        n * double(std::numeric_limits<T>::epsilon()) * norm_inf(n, block) * norm_inf(n, inverse);
    EXPECT_LE(norm_inf(n, error), growth * unit * norm_inf(n, exact)) << "n = " << n;
}

template <class T>
void expect_all_inverted(const Context& context, const Case<T>& given) {
    const BlockJacobi<T> jacobi = invert(context, given);
    EXPECT_EQ(jacobi.singular_blocks(), 0);
    const auto found = inverses(context, jacobi);
    ASSERT_EQ(Index(found.size()), given.count());
    for (Index b = 0; b < given.count(); ++b) {
        expect_inverse(context, given.size(b), given.blocks[std::size_t(b)], found[std::size_t(b)]);
    }
}

}  // namespace

TEST(block_jacobi, every_size) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        for (Index n = 1; n <= 32; ++n) {
            expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 37, n, n)));
        }
    });
}

TEST(block_jacobi, mixed_sizes) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 2500, 1, 32)));
        expect_all_inverted(context(), make_case(random, random_blocks<T>(random, 5000, 1, 5)));
    });
}

TEST(block_jacobi, pivots_and_grading) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (Index n = 1; n <= 32; ++n) {
            std::vector<Index> order(static_cast<std::size_t>(n));
            std::iota(order.begin(), order.end(), 0);
            std::shuffle(order.begin(), order.end(), random);
            blocks.push_back(
                block_of<T>(n, [&](Index i, Index j) { return order[std::size_t(i)] == j; }));
            const auto noise = random_block<T>(random, n);
            blocks.push_back(block_of<T>(n, [&](Index i, Index j) {
                return std::ldexp(noise[std::size_t(i + j * n)], -i - j);
            }));
        }
        for (Index n = 1; n <= (sizeof(T) == 4 ? 6 : 11); ++n) {
            blocks.push_back(block_of<T>(n, [](Index i, Index j) { return 1.0 / (i + j + 1); }));
        }
        expect_all_inverted(context(), make_case(random, blocks));
    });
}

TEST(block_jacobi, no_rows_and_one_block) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Case<T> nothing = make_case<T>(random, {});
        const BlockJacobi<T> jacobi = invert(context(), nothing);
        EXPECT_EQ(jacobi.rows(), 0);
        EXPECT_EQ(jacobi.inverses().size(), 0u);
        EXPECT_EQ(to_host(context(), jacobi.inverse_offsets()), std::vector<Offset>{0});
        jacobi.apply(context(), {}, {});
        for (const Index n : {1, 2, 17, 32}) {
            expect_all_inverted(context(), make_case<T>(random, {random_block<T>(random, n)}));
        }
    });
}

// A bad block anywhere in a group is told apart, and its neighbours keep their bits.
TEST(block_jacobi, singular_blocks_leave_their_neighbours_alone) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        for (const Index n : {1, 3, 4, 13, 32}) {
            const auto blocks = random_blocks<T>(random, 70, n, n);
            const auto clean = inverses(there, invert(there, make_case(random, blocks)));
            for (std::size_t bad = 0; bad < 70; ++bad) {
                auto spoilt = blocks;
                const Index line = Index(random() % std::uint64_t(n));
                const bool nan = bad % 2 == 1;
                for (Index i = 0; i < n; ++i) {
                    // A zero column on the CPU, a zero row on a GPU, stops at pivot line + 1.
                    const Index e = there.on_gpu() ? line + i * n : i + line * n;
                    spoilt[bad][std::size_t(e)] = T(0);
                }
                if (nan) spoilt[bad][0] = std::numeric_limits<T>::quiet_NaN();
                const Case<T> given = make_case(random, spoilt);
                const BlockJacobi<T> jacobi = invert(there, given);
                ASSERT_EQ(jacobi.singular_blocks(), 1);
                const auto first = jacobi.first_singular();
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
                const auto found = inverses(there, jacobi);
                EXPECT_TRUE(all_nan(found[bad]));
                for (std::size_t b = 0; b < 70; ++b) {
                    if (b == bad) continue;
                    ASSERT_TRUE(same_bits(found[b], clean[b])) << b << " of " << n;
                }
            }
        }
    });
}

TEST(block_jacobi, policies) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        const T root = std::sqrt(std::numeric_limits<T>::epsilon());
        std::vector<std::vector<T>> blocks = random_blocks<T>(random, 40, 1, 32);
        blocks[3] = std::vector<T>(25, T(0));          // Norm 1, shift 0.
        blocks[11] = {0, 0, 0, 0, -root, 0, 0, 0, 1};  // The first shift is singular too.
        blocks[20] = std::vector<T>(32 * 32, T(1));
        blocks[30] = random_block<T>(random, 6);
        blocks[30][17] = std::numeric_limits<T>::infinity();
        blocks[31] = random_block<T>(random, 8);
        for (Index i = 0; i < 8; ++i) blocks[31][std::size_t(5 + i * 8)] = 0;  // An empty row.
        const Case<T> given = make_case(random, blocks);
        const std::vector<std::size_t> singular{3, 11, 20, 30, 31};

        const BlockJacobi<T> stop = invert(there, given);
        const auto stopped = inverses(there, stop);
        const BlockJacobi<T> identity = invert(there, given, SingularPolicy::identity);
        const auto replaced = inverses(there, identity);
        const BlockJacobi<T> shift = invert(there, given, SingularPolicy::shift);
        const auto shifted = inverses(there, shift);

        for (const auto* jacobi : {&stop, &identity, &shift}) {
            const auto first = jacobi->first_singular();
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
        const auto first = shift.first_singular();
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
            expect_inverse(there, n, block, shifted[singular[s]]);
        }
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            if (std::find(singular.begin(), singular.end(), b) != singular.end()) continue;
            EXPECT_TRUE(same_bits(stopped[b], replaced[b]));
            EXPECT_TRUE(same_bits(stopped[b], shifted[b]));
        }
    });
}

// Equal rows and columns cancel exactly, whatever the value: the quotient is 1, not nearly 1.
TEST(block_jacobi, equal_rows_are_singular) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        std::vector<std::vector<T>> blocks;
        for (int value = 1; value <= 200; ++value) blocks.push_back(std::vector<T>(4, T(value)));
        for (Index n = 2; n <= 32; ++n) blocks.push_back(std::vector<T>(std::size_t(n * n), T(49)));
        const BlockJacobi<T> jacobi = invert(context(), make_case(random, blocks));
        const auto info = to_host(context(), jacobi.info());
        for (std::size_t b = 0; b < info.size(); ++b) EXPECT_EQ(info[b], 2) << "block " << b;
    });
}

// [ s 1/s ] and its transpose have usable pivots on the CPU and on a GPU, in this order, but -1/s^2
// [ 0  1  ] in the inverse; the other of the two has a second pivot that underflows to zero.
TEST(block_jacobi, an_inverse_that_overflows_is_singular) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        const T small = sizeof(T) == 4 ? T(0x1p-100) : T(0x1p-1000);
        auto blocks = random_blocks<T>(random, 40, 2, 2);
        const auto clean = inverses(there, invert(there, make_case(random, blocks)));
        blocks[5] = {small, 0, 1 / small, 1};
        blocks[23] = {small, 1 / small, 0, 1};
        const Case<T> given = make_case(random, blocks);
        for (const auto policy :
             {SingularPolicy::stop, SingularPolicy::identity, SingularPolicy::shift}) {
            const BlockJacobi<T> jacobi = invert(there, given, policy);
            ASSERT_EQ(jacobi.singular_blocks(), 2);
            const auto first = jacobi.first_singular();
            const auto found = inverses(there, jacobi);
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

TEST(block_jacobi, first_ten_singular) {
    auto random = generator();
    std::vector<std::vector<double>> blocks(25, std::vector<double>(4, 0.0));
    blocks[0] = {1, 0, 0, 1};
    const BlockJacobi<double> jacobi = invert(context(), make_case(random, blocks));
    EXPECT_EQ(jacobi.singular_blocks(), 24);
    const auto first = jacobi.first_singular();
    ASSERT_EQ(first.size(), 10u);
    for (std::size_t s = 0; s < 10; ++s) EXPECT_EQ(first[s].block, Index(s) + 1);
    const auto info = to_host(context(), jacobi.info());
    EXPECT_EQ(info[0], 0);
    EXPECT_EQ(info[24], 1);
}

TEST(block_jacobi, update_takes_new_values) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        auto blocks = random_blocks<T>(random, 300, 1, 32);
        std::vector<std::vector<T>> next;
        for (const auto& block : blocks) next.push_back(random_vector<T>(random, block.size()));
        blocks[7].assign(blocks[7].size(), T(0));
        const Case<T> before = make_case(random, blocks), after = make_case(random, next);
        BlockJacobi<T> jacobi = invert(there, before);
        EXPECT_EQ(jacobi.singular_blocks(), 1);
        const CsrMatrix<T> matrix = copy_to(there, after.matrix.view());
        jacobi.update(there, matrix.view());
        EXPECT_EQ(jacobi.singular_blocks(), 0);
        const auto updated = inverses(there, jacobi), fresh = inverses(there, invert(there, after));
        for (std::size_t b = 0; b < fresh.size(); ++b) EXPECT_TRUE(same_bits(updated[b], fresh[b]));
    });
}

TEST(block_jacobi, independent_of_order) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        const auto blocks = random_blocks<T>(random, 1500, 1, 32);
        std::vector<std::size_t> order(blocks.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        std::vector<std::vector<T>> permuted;
        for (const std::size_t b : order) permuted.push_back(blocks[b]);
        const auto here = inverses(there, invert(there, make_case(random, blocks)));
        const auto moved = inverses(there, invert(there, make_case(random, permuted)));
        for (std::size_t b = 0; b < order.size(); ++b) {
            ASSERT_TRUE(same_bits(moved[b], here[order[b]]));
        }
    });
}

TEST(block_jacobi, independent_of_threads) {
    if (context().on_gpu()) GTEST_SKIP() << "the CPU backend's threads";
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        auto blocks = random_blocks<T>(random, 1500, 1, 32);
        blocks[700].assign(blocks[700].size(), T(0));
        const Case<T> given = make_case(random, blocks);
        const auto r = random_vector<T>(random, std::size_t(given.offsets.back()));
        std::vector<T> first_values, first_z;
        for (const int threads : {1, 2, 7}) {
            const Context there = host(threads);
            const BlockJacobi<T> jacobi = invert(there, given);
            std::vector<T> z(r.size());
            jacobi.apply(there, r, z);
            const auto values = to_host(there, jacobi.inverses());
            if (threads == 1) {
                first_values = values;
                first_z = z;
            }
            EXPECT_TRUE(same_bits(values, first_values));
            EXPECT_TRUE(same_bits(z, first_z));
        }
    });
}

// |z_i - sum_j x_ij r_j| <= gamma_n sum_j |x_ij| |r_j|, also beside blocks of NaN.
TEST(block_jacobi, apply_is_bounded) {
    for_reals([](auto real) {
        using T = decltype(real);
        auto random = generator();
        const Context there = context();
        for (const Index largest : {1, 2, 3, 5, 8, 17, 32}) {
            for (const Index count : {1, 2, 33, 1200}) {
                auto blocks = random_blocks<T>(random, count, 1, largest);
                blocks[std::size_t(count / 2)].assign(blocks[std::size_t(count / 2)].size(), T(0));
                const Case<T> given = make_case(random, blocks);
                const BlockJacobi<T> jacobi = invert(there, given);
                const auto x = inverses(there, jacobi);
                const auto r = random_vector<T>(random, std::size_t(given.offsets.back()));
                const Buffer<T> r_there = copy_to_buffer(there, r);
                Buffer<T> z_there(there, Offset(r.size()));
                jacobi.apply(there, r_there.view(), z_there.view());
                const auto z = copy_to_host(there, z_there);
                for (Index b = 0; b < count; ++b) {
                    const Index n = given.size(b), first = given.offsets[std::size_t(b)];
                    for (Index i = 0; i < n; ++i) {
                        const T found = z[std::size_t(first + i)];
                        if (b == count / 2) {
                            EXPECT_TRUE(std::isnan(found));
                            continue;
                        }
                        long double sum = 0, size = 0;
                        for (Index j = 0; j < n; ++j) {
                            const long double term =
                                (long double)x[std::size_t(b)][std::size_t(i + j * n)] *
                                r[std::size_t(first + j)];
                            sum += term;
                            size += std::abs(term);
                        }
                        ASSERT_LE(double(std::abs(sum - found)), gamma<T>(n) * double(size))
                            << "block " << b << " of " << count << ", row " << i << " of " << n;
                    }
                }
            }
        }
    });
}

TEST(block_jacobi, refuses_misuse) {
    auto random = generator();
    const Context there = context();
    const Case<double> given = make_case(random, random_blocks<double>(random, 5, 3, 3));
    const CsrMatrix<double> matrix = copy_to(there, given.matrix.view());
    EXPECT_THROW(BlockJacobi<double>(there, matrix.view(), uniform_blocks(there, 14, 3)),
                 InvalidArgument);
    BlockJacobi<double> jacobi(there, matrix.view(), uniform_blocks(there, 15, 3));
    EXPECT_EQ(jacobi.describe(), "block_jacobi:3,blocks=uniform:3,singular=stop");
    Buffer<double> r(there, 15), z(there, 14);
    EXPECT_THROW(jacobi.apply(there, std::as_const(r).view(), z.view()), InvalidArgument);
    CsrView<double> smaller = matrix.view();
    smaller.rows = smaller.columns = 14;
    EXPECT_THROW(jacobi.update(there, smaller), InvalidArgument);
}

TEST(block_jacobi, phases) {
    auto random = generator();
    const Context there = context();
    there.time_phases();
    const Case<double> given = make_case(random, random_blocks<double>(random, 5, 3, 3));
    const CsrMatrix<double> matrix = copy_to(there, given.matrix.view());
    const BlockJacobi<double> jacobi(there, matrix.view(), find_blocks(there, matrix.view(), 32));
    Buffer<double> r = copy_to_buffer(there, std::vector<double>(15, 1.0)), z(there, 15);
    jacobi.apply(there, std::as_const(r).view(), z.view());
    std::vector<std::string> names;
    for (const PhaseRecord& phase : there.phases()) {
        names.push_back(phase.name);
        EXPECT_GT(phase.bytes, 0);
    }
    EXPECT_EQ(names, (std::vector<std::string>{"find_blocks", "setup", "apply"}));
}

}  // namespace tessera::test
