#include "distributed/joined_rows.hpp"
#include "distributed/matrix.hpp"

#include "distributed/test_ranks.hpp"

namespace tessera::test {

namespace {

/// Random blocks in a band and some far from it; block row 5 and the last one have one block alone.
CsrMatrix<double> random_matrix(std::mt19937_64& random, Index nodes, int block) {
    const auto rows = std::size_t(nodes * block);
    std::vector<std::vector<Index>> pattern(rows);
    std::vector<std::vector<double>> values(rows);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Index i = 0; i < nodes; ++i) {
        for (Index j = 0; j < nodes; ++j) {
            const bool lonely = i == 5 || i + 1 == nodes,
                       near = !lonely && (std::abs(i - j) <= 2 || uniform(random) > 0.9);
            if (i != j && !near) continue;
            for (int e = 0; e < block * block; ++e) {
                pattern[std::size_t(i * block + e / block)].push_back(j * block + e % block);
                values[std::size_t(i * block + e / block)].push_back(uniform(random));
            }
        }
    }
    return make_csr<double>(nodes * block, nodes * block, pattern, values);
}

/// A x, and |A| |x|.
std::pair<std::vector<double>, std::vector<double>> product(const CsrView<double>& a,
                                                            const std::vector<double>& x) {
    std::vector<double> y(x.size(), 0), sizes(x.size(), 0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const double term = a.values[k] * x[std::size_t(a.column_indices[k])];
            y[std::size_t(i)] += term;
            sizes[std::size_t(i)] += std::abs(term);
        }
    }
    return {y, sizes};
}

/// Some partitions: equal parts; a rank without rows first, between others and last.
std::vector<std::vector<Offset>> partitions(Offset nodes) {
    std::vector<std::vector<Offset>> all;
    for (const int ranks : {1, 2, 3, 8}) all.push_back(equal_parts(nodes, ranks));
    all.push_back({0, 0, 7, 7, nodes, nodes});
    return all;
}

constexpr Index nodes = 43;

}  // namespace

TEST(distributed_matrix, products) {
    auto random = generator();
    for (const int block : {1, 2, 3, 6}) {
        const CsrMatrix<double> matrix = random_matrix(random, nodes, block);
        const auto x = random_vector<double>(random, std::size_t(nodes * block)),
                   r = random_vector<double>(random, x.size());
        const auto [expected, sizes] = product(matrix.view(), x);
        for (const auto& starts : partitions(nodes)) {
            const int ranks = int(starts.size()) - 1;
            SCOPED_TRACE(std::to_string(block) + " x " + std::to_string(ranks));
            std::vector<double> first(x.size()), again(x.size()), sum(x.size()), step(x.size());
            on_ranks(ranks, [&](const Communicator& communicator, const Context& own) {
                const int rank = communicator.rank();
                const auto [halo, rows] =
                    distribute(own, communicator, starts, matrix.view(), block);
                const DistributedMatrix<double> a(own, rows.view(), halo.get(),
                                                  ValueFormat::working);
                const Buffer<double> from = copy_to_buffer(own, own_part(x, starts, rank, block));
                const Buffer<double> other = copy_to_buffer(own, own_part(r, starts, rank, block));
                Buffer<double> to(own, from.size()), work(own, from.size());
                const auto put = [&](std::vector<double>& whole) {
                    put_part(own, to, starts, rank, block, whole);
                };
                a.apply(own, from.view(), to.view());
                put(first);
                a.apply(own, from.view(), to.view());
                put(again);
                copy<double>(own, other.view(), to.view());
                a.add_product(own, from.view(), to.view());
                put(sum);
                a.apply_step(own, {-1, 2, 0, 1}, from.view(), from.view(), other.view(), to.view(),
                             work.view());
                put(step);
            });
            EXPECT_EQ(first, again);
            for (std::size_t i = 0; i < x.size(); ++i) {
                const double bound = gamma<double>(nodes * block + 4) *
                                     (sizes[i] + std::abs(r[i]) + 2 * std::abs(x[i]));
                ASSERT_NEAR(first[i], expected[i], bound) << i;
                ASSERT_NEAR(sum[i], r[i] + expected[i], bound) << i;
                ASSERT_NEAR(step[i], r[i] + 2 * x[i] - expected[i], bound) << i;
            }
        }
    }
}

TEST(distributed_matrix, new_values) {
    auto random = generator();
    const CsrMatrix<double> matrix = random_matrix(random, nodes, 3);
    CsrMatrix<double> twice = copy_to(host(), matrix);
    for (double& value : twice.values().view()) value *= 2;
    const auto x = random_vector<double>(random, std::size_t(nodes * 3));
    const auto starts = equal_parts(nodes, 3);
    std::vector<double> before(x.size()), after(x.size());
    on_ranks(3, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        const auto [halo, rows] = distribute(own, communicator, starts, matrix.view(), 3);
        const auto [other_halo, other] = distribute(own, communicator, starts, twice.view(), 3);
        DistributedMatrix<double> a(own, rows.view(), halo.get(), ValueFormat::working);
        const Buffer<double> from = copy_to_buffer(own, own_part(x, starts, rank, 3));
        Buffer<double> to(own, from.size());
        a.apply(own, from.view(), to.view());
        put_part(own, to, starts, rank, 3, before);
        a.update(own, other.view());
        a.apply(own, from.view(), to.view());
        put_part(own, to, starts, rank, 3, after);
    });
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(after[i], 2 * before[i]) << i;
}

TEST(distributed_matrix, rows_of_ghosts) {
    auto random = generator();
    const CsrMatrix<double> matrix = random_matrix(random, nodes, 2);
    CsrMatrix<double> other = copy_to(host(), matrix);
    for (double& value : other.values().view()) value = 1 - 3 * value;
    for (const auto& starts : partitions(nodes)) {
        const int ranks = int(starts.size()) - 1;
        on_ranks(ranks, [&](const Communicator& communicator, const Context& own) {
            const auto [halo, rows] = distribute(own, communicator, starts, matrix.view(), 2);
            const Numbering& numbering = halo->numbering();
            JoinedRows joined;
            for (const CsrMatrix<double>* values :
                 std::initializer_list<const CsrMatrix<double>*>{&matrix, &other}) {
                const auto [same_halo, same] =
                    distribute(own, communicator, starts, values->view(), 2);
                joined.set(own, *halo, same, numbering, nodes);
                // Rows of own nodes and of ghosts are those of the whole matrix.
                const CsrMatrix<double> on_device = to_csr(own, joined.view()),
                                        found = copy_to_host(own, on_device.view());
                ASSERT_EQ(found.rows(), 2 * numbering.nodes());
                const auto global = [](const Numbering& in, Index k) {
                    return Index(k < in.own ? in.first + k : in.ghosts[std::size_t(k - in.own)]);
                };
                for (Index i = 0; i < found.rows(); ++i) {
                    const auto entries = [](const CsrMatrix<double>& all, Index row,
                                            auto&& column) {
                        const CsrView<double> a = all.view();
                        std::vector<std::pair<Index, double>> list;
                        for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
                            list.emplace_back(column(a.column_indices[k]), a.values[k]);
                        }
                        return list;
                    };
                    const auto as_is = [](Index column) { return column; };
                    const auto local = entries(found, i, as_is);
                    EXPECT_TRUE(std::ranges::is_sorted(local));
                    auto got = entries(found, i, [&](Index column) {
                        return 2 * global(joined.columns(), column / 2) + column % 2;
                    });
                    std::ranges::sort(got);
                    ASSERT_EQ(got, entries(*values, 2 * global(numbering, i / 2) + i % 2, as_is));
                }
                joined.release_values();
            }
        });
    }
}

TEST(distributed_matrix, foreign_columns_ascend_and_do_not_repeat) {
    // Few nodes, which are marked, and more than could be.
    for (const Offset last : {Offset(100), Offset(1) << 40}) {
        const auto offsets = copy_to_buffer<Offset>(context(), {0, 3, 3, 7}),
                   columns = copy_to_buffer<Offset>(context(), {last, 5, 2, 2, 7, last, 4});
        const std::vector<Offset> expected{2, 7, last};
        EXPECT_EQ(foreign_columns(context(), 3, offsets.data(), columns, 4, 3, last + 1), expected);
    }
    const auto none = copy_to_buffer<Offset>(context(), {0});
    EXPECT_TRUE(foreign_columns(context(), 0, none.data(), {}, 0, 0, 0).empty());
}

TEST(distributed_matrix, wrong_sizes_are_errors_on_all_ranks) {
    auto random = generator();
    const CsrMatrix<double> matrix = random_matrix(random, nodes, 2);
    on_ranks(3, [&](const Communicator& communicator, const Context& own) {
        auto starts = equal_parts(nodes, 3);
        const CsrMatrix<double> rows =
            some_rows(matrix.view(), 2 * starts[std::size_t(communicator.rank())],
                      2 * starts[std::size_t(communicator.rank()) + 1]);
        const CsrMatrix<double> on_device = copy_to(own, rows);
        if (communicator.rank() == 1) ++starts[1];  // One rank thinks otherwise.
        EXPECT_THROW(own_rows(own, communicator, starts, on_device.view(), 2), InvalidArgument);
    });
}

}  // namespace tessera::test
