#include "precond/multigrid/ranks/test_distributed_amg.hpp"

// Multigrid over ranks that takes new values.
namespace tessera::test {

namespace {

/// M r for a random r, all of a hierarchy that can be compared.
struct Cycled {
    std::vector<double> z;
    std::vector<double> lambdas;
    bool operator==(const Cycled&) const = default;
};

/// The values of a problem as a stiffer body of the same pattern, with a heavier first half.
CsrMatrix<double> stiffer(const CsrView<double>& a) {
    CsrMatrix<double> made = copy_to(host(), a);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            made.values().data()[k] *= a.column_indices[k] == i && i < a.rows / 2 ? 7.5 : 3;
        }
    }
    return made;
}

}  // namespace

TEST(distributed_amg_update, gives_what_a_setup_gives) {
    std::vector<Problem> problems;
    for (int k = 0; k < 3; ++k) problems.push_back(problem_of(cube(11)));
    problems[1].options.near_null = rigid_body_modes(*problems[1].options.coordinates);
    problems[2].options.single_precision = false;
    problems.push_back(problem_of(grid("poisson3d:20", 1, 0, 20, 20)));
    for (const Problem& problem : problems) {
        const int block = problem.options.block;
        const CsrMatrix<double> other = stiffer(problem.matrix.view());
        for (const int size : {1, 2, 3, 8}) {
            SCOPED_TRACE(std::to_string(block) + " x " + std::to_string(size));
            auto starts = equal_parts(problem.matrix.rows() / block, size);
            if (size == 8) starts[3] = starts[4];  // A rank without rows.
            std::vector<Cycled> found(3);
            for (Cycled& each : found) each.z.resize(problem.b.size());
            int distributed = 0;
            on_ranks(size, [&](const Communicator& communicator, const Context& own) {
                const int rank = communicator.rank();
                OwnRows rows = distribute(own, communicator, starts, problem.matrix.view(), block);
                const auto halo = rows.halo;
                DistributedAmg<double> m(own, std::move(rows),
                                         own_options(problem.options, starts, rank),
                                         {.gather_nodes = 100});
                const Buffer<double> r =
                    copy_to_buffer(own, own_part(problem.b, starts, rank, block));
                Buffer<double> z(own, r.size());
                const auto note = [&](Cycled& cycled) {
                    m.apply(own, r.view(), z.view());
                    put_part(own, z, starts, rank, block, cycled.z);
                    if (rank > 0) return;
                    for (const AmgLevel& level : m.levels()) {
                        cycled.lambdas.push_back(level.lambda);
                    }
                };
                const auto update = [&](const CsrMatrix<double>& whole) {
                    const CsrMatrix<double> mine =
                        some_rows(whole.view(), starts[std::size_t(rank)] * block,
                                  starts[std::size_t(rank) + 1] * block);
                    m.update(own, own_rows(own, *halo, copy_to(own, mine).view(), block));
                };
                note(found[0]);
                update(other);
                note(found[1]);
                update(problem.matrix);
                note(found[2]);
                if (rank == 0) distributed = m.distributed_levels();
            });
            EXPECT_GE(distributed, 1);
            // The setup has the aggregates of the update to its own matrix.
            EXPECT_EQ(found[0].z, found[2].z);
            EXPECT_EQ(found[0].lambdas, found[2].lambdas);
            EXPECT_NE(found[0].z, found[1].z);
        }
    }
}

TEST(distributed_amg_update, to_a_multiple_of_the_matrix) {
    // Powers of two are exact, scale nothing but S, and change no aggregate.
    const Problem problem = problem_of(cube(9));
    Problem four = problem_of(cube(9));
    for (double& value : four.matrix.values().view()) value *= 4;
    const auto starts = equal_parts(problem.matrix.rows() / 3, 3);
    std::vector<double> updated(problem.b.size()), fresh(problem.b.size());
    on_ranks(3, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        const auto make = [&](const Problem& from) {
            return std::make_unique<DistributedAmg<double>>(
                own, distribute(own, communicator, starts, from.matrix.view(), 3),
                own_options(from.options, starts, rank), multigrid::RankOptions{50});
        };
        const Buffer<double> r = copy_to_buffer(own, own_part(problem.b, starts, rank, 3));
        Buffer<double> z(own, r.size());
        const auto m = make(problem), other = make(four);
        m->update(own, distribute(own, communicator, starts, four.matrix.view(), 3).rows);
        m->apply(own, r.view(), z.view());
        put_part(own, z, starts, rank, 3, updated);
        other->apply(own, r.view(), z.view());
        put_part(own, z, starts, rank, 3, fresh);
    });
    EXPECT_EQ(updated, fresh);
}

TEST(distributed_amg_update, fails_on_all_ranks) {
    const Problem problem = problem_of(cube(8));
    const auto starts = equal_parts(problem.matrix.rows() / 3, 3);
    CsrMatrix<double> negative = copy_to(host(), problem.matrix),
                      not_a_number = copy_to(host(), problem.matrix);
    const CsrView<double> a = problem.matrix.view();
    const Offset node = starts[1] + 4;
    for (Offset k = a.row_offsets[3 * node]; k < a.row_offsets[3 * node + 1]; ++k) {
        if (a.column_indices[k] == 3 * node) negative.values().data()[k] *= -1;
        if (a.column_indices[k] < 3 * node) {
            not_a_number.values().data()[k] = std::numeric_limits<double>::quiet_NaN();
        }
    }
    std::vector<double> before(problem.b.size()), after(problem.b.size());
    std::vector<std::string> messages(12);
    on_ranks(3, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        const auto rows_of = [&](const CsrMatrix<double>& matrix) {
            return distribute(own, communicator, starts, matrix.view(), 3);
        };
        OwnRows rows = rows_of(problem.matrix);
        const auto halo = rows.halo;
        DistributedAmg<double> m(own, std::move(rows), own_options(problem.options, starts, rank),
                                 {.gather_nodes = 50});
        const Buffer<double> r = copy_to_buffer(own, own_part(problem.b, starts, rank, 3));
        Buffer<double> z(own, r.size());
        m.apply(own, r.view(), z.view());
        put_part(own, z, starts, rank, 3, before);
        const auto note = [&](int k, const std::function<void()>& f) {
            try {
                f();
            } catch (const std::exception& error) {
                messages[std::size_t(4 * rank + k)] = error.what();
            }
        };
        note(0, [&] { m.update(own, rows_of(negative).rows); });
        note(1, [&] { m.apply(own, r.view(), z.view()); });
        note(2, [&] { m.update(own, rows_of(not_a_number).rows); });
        // The rows of one rank have another pattern.
        CsrMatrix<double> diagonal =
            changed(a, [](Index i, Index j, double value) { return i == j ? value : 0; });
        note(3, [&] {
            const CsrMatrix<double> mine =
                some_rows(rank == 2 ? diagonal.view() : a, 3 * starts[std::size_t(rank)],
                          3 * starts[std::size_t(rank) + 1]);
            m.update(own, own_rows(own, *halo, copy_to(own, mine).view(), 3));
        });
        m.update(own, rows_of(problem.matrix).rows);
        m.apply(own, r.view(), z.view());
        put_part(own, z, starts, rank, 3, after);
    });
    EXPECT_EQ(before, after);
    const std::string expected[] = {"the diagonal block of node " + std::to_string(node),
                                    "as an update failed", "not finite", "needs the pattern"};
    for (std::size_t k = 0; k < messages.size(); ++k) {
        EXPECT_NE(messages[k].find(expected[k % 4]), std::string::npos) << k << messages[k];
    }
}

}  // namespace tessera::test
