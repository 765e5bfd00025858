#include "precond/multigrid/ranks/test_distributed_amg.hpp"

namespace tessera::test {

namespace {

/// The order of nodes, by rank, and the first node of each rank in it.
struct Partition {
    std::vector<Index> order;
    std::vector<Offset> starts;
};

/// From the rank of each node.
Partition by_rank(const std::vector<int>& ranks, int size) {
    Partition partition{std::vector<Index>(ranks.size()), {}};
    std::iota(partition.order.begin(), partition.order.end(), Index(0));
    std::ranges::stable_sort(partition.order, {},
                             [&](Index node) { return ranks[std::size_t(node)]; });
    for (int r = 0; r <= size; ++r) {
        partition.starts.push_back(
            std::ranges::count_if(ranks, [r](int rank) { return rank < r; }));
    }
    return partition;
}

Partition slabs(Index nodes, int size) {
    std::vector<int> ranks;
    for (Index i = 0; i < nodes; ++i) ranks.push_back(int(Offset(i) * size / nodes));
    return by_rank(ranks, size);
}

Problem in_order(const Problem& given, const std::vector<Index>& order, int block) {
    const CsrView<double> a = given.matrix.view();
    std::vector<Index> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[std::size_t(order[k])] = Index(k);
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    Problem made;
    std::vector<double> points, null_space;
    const NodeCoordinates& coordinates = *given.options.coordinates;
    const NearNullSpace& near_null = *given.options.near_null;
    for (const Index node : order) {
        for (Index row = node * block; row < (node + 1) * block; ++row) {
            std::vector<std::pair<Index, double>> entries;
            for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
                const Index column = a.column_indices[k];
                entries.emplace_back(place[std::size_t(column / block)] * block + column % block,
                                     a.values[k]);
            }
            std::ranges::sort(entries);
            pattern.emplace_back();
            values.emplace_back();
            for (const auto& [column, value] : entries) {
                pattern.back().push_back(column);
                values.back().push_back(value);
            }
            made.b.push_back(given.b[std::size_t(row)]);
            for (int c = 0; c < near_null.columns && !near_null.values.empty(); ++c) {
                null_space.push_back(near_null.values[std::size_t(row * near_null.columns + c)]);
            }
        }
        for (int axis = 0; axis < coordinates.dimensions && !coordinates.values.empty(); ++axis) {
            points.push_back(coordinates.values[std::size_t(node * coordinates.dimensions + axis)]);
        }
    }
    made.matrix = make_csr<double>(a.rows, a.columns, pattern, values);
    made.options = given.options;
    made.options.coordinates = NodeCoordinates{coordinates.dimensions, points};
    made.options.near_null = NearNullSpace{near_null.columns, null_space};
    return made;
}

struct Found {
    SolveReport report;
    double complexity = 0;
    int distributed = 0;  ///< DistributedAmg::distributed_levels
    std::vector<double> x;
};

/// Flexible CG with the multigrid over ranks.
Found solve_on_ranks(const Problem& problem, const std::vector<Offset>& starts,
                     Offset gather_nodes) {
    const int ranks = int(starts.size()) - 1, block = problem.options.block;
    Found found;
    found.x.resize(problem.b.size());
    on_ranks(ranks, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        OwnRows rows = distribute(own, communicator, starts, problem.matrix.view(), block);
        const auto halo = rows.halo;
        const DistributedMatrix<double> a(own, rows.rows.view(), halo.get(), ValueFormat::working);
        const DistributedAmg<double> m(own, std::move(rows),
                                       own_options(problem.options, starts, rank),
                                       {.gather_nodes = gather_nodes});
        const Buffer<double> b = copy_to_buffer(own, own_part(problem.b, starts, rank, block));
        Buffer<double> x(own, b.size());
        fill<double>(own, 0, x.view());
        const SumsOver sums(communicator);
        const UseRankSums use(own, &sums);
        const SolveReport report = solve<double>(own, "fcg", a, &m, b.view(), x.view());
        put_part(own, x, starts, rank, block, found.x);
        if (rank > 0) return;
        found.report = report;
        found.complexity = m.operator_complexity();
        found.distributed = m.distributed_levels();
    });
    return found;
}

std::vector<double> product_with(const CsrView<double>& a, const std::vector<double>& x) {
    std::vector<double> y(x.size(), 0.0);
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            y[std::size_t(i)] += a.values[k] * x[std::size_t(a.column_indices[k])];
        }
    }
    return y;
}

/// Iterations on ranks are at most `more` than those of Amg.
void expect_iterations(const Problem& problem, const std::vector<int>& sizes,
                       const std::function<Partition(int)>& partition, Offset gather_nodes,
                       Offset more = 1, int distributed = 0) {
    const CsrMatrix<double> matrix = copy_to(context(), problem.matrix);
    const Amg<double> m(context(), matrix.view(), problem.options);
    const CsrOperator<double> a(context(), matrix.view());
    const Buffer<double> b = copy_to_buffer(context(), problem.b);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(problem.b.size(), 0.0));
    const SolveReport alone = solve<double>(context(), "fcg", a, &m, b.view(), x.view());
    ASSERT_EQ(alone.status, Status::converged);
    for (const int size : sizes) {
        SCOPED_TRACE(std::to_string(size) + " ranks");
        const Partition parts = partition(size);
        const Problem ordered = in_order(problem, parts.order, problem.options.block);
        const Found found = solve_on_ranks(ordered, parts.starts, gather_nodes);
        EXPECT_GE(found.distributed, distributed);
        // Partitions that leave thin parts have the largest ones.
        EXPECT_LE(found.complexity, 3.5);
        EXPECT_EQ(found.report.status, Status::converged) << found.report.message;
        // On small levels the smaller aggregates of ranks take fewer.
        EXPECT_LE(found.report.iterations, alone.iterations + more);
        EXPECT_GE(found.report.iterations, alone.iterations / 2);
        EXPECT_LE(found.report.true_relative_residual, 1.001e-8);
    }
}

}  // namespace

TEST(distributed_amg, iterations_are_those_of_one_rank) {
    for (const Body& body :
         {cube(14), grid("poisson3d:28", 1, 0, 28, 28), grid("poisson2d:120", 1, 0, 120, 120)}) {
        SCOPED_TRACE(body.text);
        const Problem problem = problem_of(body);
        const Index nodes = problem.matrix.rows() / body.block;
        for (const Offset gather_nodes : {Offset(2000), Offset(100)}) {
            const int distributed = body.block > 1 || gather_nodes > 1000 ? 1 : 2;
            expect_iterations(
                problem, {1, 2, 3, 8}, [&](int size) { return slabs(nodes, size); }, gather_nodes,
                1, distributed);
        }
    }
}

TEST(distributed_amg, any_partition) {
    const Problem problem = problem_of(cube(12));
    const Index nodes = problem.matrix.rows() / 3;
    const std::vector<double> x(problem.options.coordinates->values.begin(),
                                problem.options.coordinates->values.end());
    const auto expect = [&](const char* what, int size, const std::function<int(Index)>& rank,
                            Offset more = 1) {
        SCOPED_TRACE(what);
        std::vector<int> ranks;
        for (Index i = 0; i < nodes; ++i) ranks.push_back(rank(i));
        expect_iterations(
            problem, {size}, [&](int) { return by_rank(ranks, size); }, 50, more);
    };
    // Eight boxes, one of them empty, in any place.
    const auto box = [&](Index i) {
        int number = 0;
        for (Index axis = 0; axis < 3; ++axis) {
            number = 2 * number + (x[std::size_t(3 * i + axis)] > 6);
        }
        return number;
    };
    expect("boxes", 8, box);
    expect("no rows first", 9, [&](Index i) { return box(i) + 1; });
    expect("no rows between", 9, [&](Index i) { return box(i) + (box(i) > 3); });
    expect("no rows last", 10, box);
    expect("one node", 2, [&](Index i) { return int(i == nodes / 2); });
    expect("scattered nodes", 8, [&](Index i) { return i % 20 == 7 ? (box(i) + 1) % 8 : box(i); });
    expect(
        "slabs of one layer", 12, [&](Index i) { return int(12 * Offset(i) / nodes); }, 2);
    expect(
        "cyclic", 2, [](Index i) { return int(i % 2); }, 2);
    expect(
        "cyclic on many", 8, [](Index i) { return int(i % 8); }, 2);
}

TEST(distributed_amg, special_systems) {
    const auto expect = [](const char* what, const Problem& problem, Offset more = 1) {
        SCOPED_TRACE(what);
        const Index nodes = problem.matrix.rows() / problem.options.block;
        expect_iterations(
            problem, {2, 3}, [&](int size) { return slabs(nodes, size); }, 50, more);
    };
    expect("blocks of 2 with 3 modes", problem_of(grid("elasticity2d:40", 2, 2, 40, 40)));
    Problem translations = problem_of(cube(10));
    translations.options.near_null_kind = AmgNearNull::translations;
    expect("translations", translations, 2);
    Problem given = problem_of(cube(10));
    given.options.near_null = rigid_body_modes(*given.options.coordinates);
    expect("given near-null vectors", given);
    given.options.coordinates = {};
    expect("given near-null vectors without coordinates", given);
    Problem double_cycle = problem_of(cube(8));
    double_cycle.options.single_precision = false;
    expect("a cycle in double", double_cycle);

    // Every number of a scalar matrix becomes a block of 6.
    Problem six = problem_of(grid("poisson3d:14", 1, 0, 14, 14));
    const CsrView<double> a = six.matrix.view();
    std::vector<std::vector<Index>> pattern(std::size_t(6 * a.rows));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < a.rows; ++i) {
        for (int r = 0; r < 6; ++r) {
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                for (int c = 0; c < 6; ++c) {
                    pattern[std::size_t(6 * i + r)].push_back(6 * a.column_indices[k] + c);
                    values[std::size_t(6 * i + r)].push_back(a.values[k] *
                                                             (r == c ? 1.3 + r : 0.3));
                }
            }
        }
    }
    six.matrix = make_csr<double>(6 * a.rows, 6 * a.rows, pattern, values);
    six.options.block = 6;
    auto random = generator();
    six.b = random_vector<double>(random, pattern.size());
    expect("blocks of 6", six);

    Problem loose;
    const Index n = 3000;
    pattern.assign(std::size_t(n), {});
    values.assign(std::size_t(n), {});
    for (Index i = 0; i < n; ++i) {
        pattern[std::size_t(i)] = {i};
        values[std::size_t(i)] = {2.0 + i % 3};
    }
    loose.matrix = make_csr<double>(n, n, pattern, values);
    loose.options.block = 1;
    loose.b = random_vector<double>(random, std::size_t(n));
    expect("no couplings", loose);
}

TEST(distributed_amg, bodies) {
    const auto expect = [](const char* what, const Problem& problem, Offset more = 1) {
        SCOPED_TRACE(what);
        const Index nodes = problem.matrix.rows() / problem.options.block;
        expect_iterations(
            problem, {2, 3, 8}, [&](int size) { return slabs(nodes, size); }, 50, more);
    };
    expect("nearly incompressible", problem_of(cube(10, ",poisson=0.45")));
    expect("two materials", problem_of(cube(10, ",contrast=1e4")), 2);
    expect("a bar", problem_of({"cantilever3d:4,length=12", 3, 3, 48, 4}), 2);

    // Its six motions are found on every rank.
    Body free{"elasticity3d:8,free", 3, 3, 8, 8};
    free.clamped = false;
    Problem moving = problem_of(free);
    moving.b = product_with(moving.matrix.view(), moving.b);
    expect("a free body", moving, 2);

    // Nodes at x = 0 are still there, with identity rows.
    Problem held = problem_of(free);
    const Index of_side = 3 * 9 * 9;
    held.matrix = changed(held.matrix.view(), [&](Index i, Index j, double value) {
        const bool fixed = i < of_side || j < of_side;
        return fixed ? double(i == j) : value;
    });
    expect("identity rows", held);

    // Couplings across the middle are cut: between two of the ranks there are none.
    Problem pieces = problem_of(cube(8));
    const Index half = pieces.matrix.rows() / 6 * 3;
    pieces.matrix = changed(pieces.matrix.view(), [&](Index i, Index j, double value) {
        const bool cut = (i < half) != (j < half);
        return cut ? 0 : i == j ? 1.5 * value : value;
    });
    expect("no couplings between ranks", pieces);
}

TEST(distributed_amg, tiny_systems) {
    // More ranks than nodes; a matrix without rows.
    for (const Index nodes : {3, 1, 0}) {
        Problem tiny;
        std::vector<std::vector<Index>> pattern;
        std::vector<std::vector<double>> values;
        for (Index i = 0; i < nodes; ++i) {
            pattern.push_back({i});
            values.push_back({2.0 + i});
        }
        tiny.matrix = make_csr<double>(nodes, nodes, pattern, values);
        tiny.options.block = 1;
        tiny.b.assign(std::size_t(nodes), 1.0);
        const Found found = solve_on_ranks(tiny, equal_parts(nodes, 4), 0);
        EXPECT_EQ(found.report.status, Status::converged);
        for (Index i = 0; i < nodes; ++i) EXPECT_NEAR(found.x[std::size_t(i)], 1 / (2.0 + i), 1e-8);
    }
}

TEST(distributed_amg, the_same_bits_again) {
    const Problem problem = problem_of(cube(10));
    const Partition parts = slabs(problem.matrix.rows() / 3, 3);
    const Found once = solve_on_ranks(problem, parts.starts, 50),
                again = solve_on_ranks(problem, parts.starts, 50);
    EXPECT_EQ(once.x, again.x);
    EXPECT_EQ(once.report.residuals, again.report.residuals);
}

TEST(distributed_amg, errors_of_one_rank_are_thrown_on_all) {
    Problem problem = problem_of(cube(8));
    const Partition parts = slabs(problem.matrix.rows() / 3, 3);
    // What each rank ends with.
    const auto expect_message = [&](const Problem& bad, const std::string& text) {
        std::vector<std::string> messages(3);
        const auto run = [&] {
            on_ranks(3, [&](const Communicator& communicator, const Context& own) {
                const int rank = communicator.rank();
                try {
                    const DistributedAmg<double> m(
                        own, distribute(own, communicator, parts.starts, bad.matrix.view(), 3),
                        own_options(bad.options, parts.starts, rank), {.gather_nodes = 50});
                } catch (const std::exception& error) {
                    messages[std::size_t(rank)] = error.what();
                    throw;
                }
            });
        };
        EXPECT_ANY_THROW(run());
        for (const std::string& message : messages) {
            EXPECT_NE(message.find(text), std::string::npos) << message;
        }
    };
    Problem negative = in_order(problem, parts.order, 3);
    const CsrView<double> a = negative.matrix.view();
    const Index bad_row = 3 * Index(parts.starts[1] + 4);
    for (Offset k = a.row_offsets[bad_row]; k < a.row_offsets[bad_row + 1]; ++k) {
        if (a.column_indices[k] == bad_row) negative.matrix.values().data()[k] *= -1;
    }
    expect_message(negative, "the diagonal block of node " + std::to_string(parts.starts[1] + 4));
    Problem not_a_number = in_order(problem, parts.order, 3);
    NodeCoordinates points = *not_a_number.options.coordinates;
    std::vector<double> x(points.values.begin(), points.values.end());
    x[std::size_t(3 * parts.starts[2] + 1)] = std::numeric_limits<double>::quiet_NaN();
    not_a_number.options.coordinates = NodeCoordinates{3, x};
    expect_message(not_a_number, "is not finite");
    not_a_number = in_order(problem, parts.order, 3);
    not_a_number.matrix.values().data()[7] = std::numeric_limits<double>::quiet_NaN();
    expect_message(not_a_number, "amg: ");
}

}  // namespace tessera::test
