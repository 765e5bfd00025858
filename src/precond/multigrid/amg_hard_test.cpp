#include <algorithm>
#include <set>

#include "precond/multigrid/test_amg.hpp"

namespace tessera::test {

/// Without supports the six modes are found, and a right-hand side without them is solved.
TEST(amg_hard, a_free_body) {
    Body body{"elasticity3d:7,free", 3, 3, 7, 7};
    body.clamped = false;
    const auto matrix = copy_to(context(), body.matrix());
    const CsrOperator<double> a(context(), matrix.view());
    AmgOptions in_double = body.options(false), in_float = body.options(), automatic = in_float;
    in_float.values = ValueFormat::working;
    for (AmgOptions options : {in_double, in_float, automatic}) {
        options.coarse_rows = 200;
        Amg<double> m(context(), matrix.view(), options);
        ASSERT_EQ(m.warnings().size(), 1u);
        expect_contains(m.warnings()[0], "singular up to rounding");
        auto random = generator();
        const auto b = applied(a, random_vector<double>(random, std::size_t(m.rows())));
        // Richardson's iteration, whose error in the energy norm a good cycle reduces by half.
        const auto expect_solution = [&] {
            std::vector<double> solution(b.size(), 0.0), r = b;
            for (int k = 0; k < 40; ++k) {
                const auto z = applied(m, r);
                for (std::size_t i = 0; i < b.size(); ++i) solution[i] += z[i];
                const auto q = applied(a, solution);
                for (std::size_t i = 0; i < b.size(); ++i) r[i] = b[i] - q[i];
            }
            EXPECT_LE(product(r, r), 1e-16 * product(b, b));
        };
        expect_solution();
        const auto before = applied(m, b);
        m.update(context(), matrix.view());
        const auto after = applied(m, b);
        // A setup that took back 16-bit values has bounds of the matrix that they rounded.
        const bool took_back = options.single_precision && !options.values;
        if (took_back) {
            expect_solution();
        } else {
            EXPECT_TRUE(same_bits(after, before));
        }
        m.update(context(), matrix.view());
        EXPECT_TRUE(same_bits(applied(m, b), after));
        EXPECT_EQ(m.warnings().size(), 1u);
    }
}

/// The scale of a matrix does not matter, nor do columns that are dropped or near-null vectors that
/// are zero.
TEST(amg_hard, scales_and_degenerate_bodies) {
    for (const double scale : {1e-12, 1e12}) {
        const Body body{"elasticity3d:8,stretch=1:30:30", 3, 3, 8, 8, {1, 30, 30}};
        auto scaled = body.matrix();
        for (double& value : scaled.values().view()) value *= scale;
        const auto matrix = copy_to(context(), scaled);
        AmgOptions options = body.options();
        options.coarse_rows = 300;
        EXPECT_GT(iterations(matrix, Amg<double>(context(), matrix.view(), options)), 0) << scale;
    }
    const auto stiff = copy_to(context(), cube(6).matrix(",contrast=1e12"));
    EXPECT_TRUE(Amg<double>(context(), stiff.view(), cube(6).options()).warnings().empty());
    const auto one = copy_to(context(), make_csr<double>(3, 3, {{0}, {1}, {2}}, {{1}, {1}, {1}}));
    const Amg<double> single(context(), one.view(), {.coordinates = NodeCoordinates{3, {1, 2, 3}}});
    EXPECT_EQ(applied(single, {1, 2, 3}), (std::vector<double>{1, 2, 3}));
    EXPECT_TRUE(single.warnings().empty());
    const auto nothing = copy_to(context(), make_csr<double>(0, 0, {}, {}));
    const Amg<double> empty(context(), nothing.view());
    EXPECT_TRUE(applied(empty, {}).empty());
}

/// Rows of the identity after those of a matrix.
static CsrMatrix<double> with_identity_rows(const CsrMatrix<double>& matrix, Index added) {
    const CsrView<double> a = matrix.view();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < a.rows + added; ++i) {
        if (i >= a.rows) {
            pattern.push_back({i});
            values.push_back({1});
            continue;
        }
        const Offset first = a.row_offsets[i], last = a.row_offsets[i + 1];
        pattern.emplace_back(a.column_indices + first, a.column_indices + last);
        values.emplace_back(a.values + first, a.values + last);
    }
    return make_csr<double>(a.rows + added, a.rows + added, pattern, values);
}

/// Rows with a diagonal entry only need no coarse level; they do not take part in any.
TEST(amg_hard, identity_rows) {
    const auto some = copy_to(
        context(),
        with_identity_rows(problems::generate<double>(host(), "poisson3d:20").matrix, 7000));
    const Amg<double> m(context(), some.view(), {.block = 1});
    EXPECT_LE(m.levels().back().nodes, 1500);
    EXPECT_TRUE(m.warnings().empty());
    const Offset found = iterations(some, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 15);
    const auto all = copy_to(context(), with_identity_rows(make_csr<double>(0, 0, {}, {}), 7000));
    const Amg<double> smoothed(context(), all.view());
    EXPECT_EQ(smoothed.levels().size(), 1u);
    EXPECT_TRUE(smoothed.warnings().empty());
    EXPECT_LE(iterations(all, smoothed), 2);
}

/// A level of many rows that cannot be coarsened is smoothed.
TEST(amg_hard, too_few_levels) {
    const auto matrix =
        copy_to(context(), problems::generate<double>(host(), "poisson3d:20").matrix);
    const Amg<double> m(context(), matrix.view(), {.block = 1, .max_levels = 1});
    ASSERT_EQ(m.warnings().size(), 1u);
    expect_contains(m.warnings()[0], "the last level has 8000 unknowns, as levels= ended");
    EXPECT_GT(iterations(matrix, m), 0);
}

/// Nodes that are fixed in one direction: their coordinates say which unknowns there are, or the
/// matrix has identity rows for the others.
TEST(amg_hard, nodes_fixed_in_some_directions) {
    const auto problem = problems::generate<double>(host(), "plate_hole:60");
    const auto matrix = copy_to(context(), problem.matrix);
    ASSERT_FALSE(problem.coordinates.unknowns.empty());
    const Amg<double> m(context(), matrix.view(), {.coordinates = problem.coordinates});
    EXPECT_EQ(m.options().block, 2);
    EXPECT_TRUE(m.warnings().empty());
    const Offset found = iterations(matrix, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 20);
    // Without coordinates the unknowns are found, but not the rotation of the body.
    const Amg<double> nodes(context(), matrix.view());
    EXPECT_EQ(nodes.options().block, 2);
    const Offset without_rotation = iterations(matrix, nodes);
    EXPECT_GT(without_rotation, 0);
    EXPECT_LE(without_rotation, 60);
    const Amg<double> points_alone(context(), matrix.view(),
                                   {.coordinates = NodeCoordinates{2, problem.coordinates.values}});
    EXPECT_EQ(iterations(matrix, points_alone), found);
    // Where more unknowns are fixed, rows are nodes.
    const auto few = copy_to(context(), problems::generate<double>(host(), "plate_hole:4").matrix);
    const Amg<double> rows(context(), few.view());
    ASSERT_EQ(rows.warnings().size(), 1u);
    expect_contains(rows.warnings()[0], "rows are taken as nodes of one unknown");

    const std::vector<Index>& unknowns = problem.coordinates.unknowns;
    const CsrView<double> a = problem.matrix.view();
    const auto n = Index(problem.coordinates.values.size());
    std::vector<std::vector<Index>> pattern(static_cast<std::size_t>(n));
    std::vector<std::vector<double>> values(static_cast<std::size_t>(n), {1.0});
    for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = {Index(i)};
    for (std::size_t row = 0; row < unknowns.size(); ++row) {
        const auto to = std::size_t(unknowns[row]);
        pattern[to].clear();
        for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
            pattern[to].push_back(unknowns[std::size_t(a.column_indices[k])]);
        }
        values[to].assign(a.values + a.row_offsets[row], a.values + a.row_offsets[row + 1]);
    }
    const auto padded = copy_to(context(), make_csr<double>(n, n, pattern, values));
    const NodeCoordinates points{2, problem.coordinates.values};
    const Offset other =
        iterations(padded, Amg<double>(context(), padded.view(), {.coordinates = points}));
    EXPECT_GT(other, 0);
    EXPECT_LE(other, found + 1);

    NodeCoordinates wrong = problem.coordinates;
    wrong.unknowns[1] = wrong.unknowns[0];
    expect_contains(
        message_of([&] { Amg<double>(context(), matrix.view(), {.coordinates = wrong}); }),
        "the unknowns of coordinates must ascend");
    wrong.unknowns.pop_back();
    expect_contains(
        message_of([&] { Amg<double>(context(), matrix.view(), {.coordinates = wrong}); }),
        "coordinates name");
}

/// Where a bound of a spectrum is too low, the solver sees it, and goes on with another cycle.
TEST(amg_hard, recovers) {
    const auto matrix = copy_to(context(), cube(10).matrix());
    for (const bool single : {false, true}) {
        AmgOptions options = cube(10).options(single);
        options.lambda_factor = 0.7;
        Amg<double> m(context(), matrix.view(), options);
        const Offset found = iterations(matrix, m);
        EXPECT_GT(found, 0);
        EXPECT_LE(found, 30);
        const Offset recoveries = m.recoveries();
        EXPECT_GE(recoveries, 1);
        ASSERT_EQ(m.warnings().size(), 1u);
        expect_contains(m.warnings()[0], "the cycle was not positive definite");
        EXPECT_TRUE(m.recover(context(), recoveries - 1));
        EXPECT_EQ(m.recoveries(), recoveries);
        while (m.recover(context(), m.recoveries())) {
        }
        EXPECT_EQ(m.recoveries(), 4);
        const std::vector<double> ones(std::size_t(m.rows()), 1.0);
        const auto recovered = applied(m, ones);
        const auto smaller = copy_to(context(), cube(9).matrix());
        EXPECT_THROW(m.update(context(), smaller.view()), InvalidArgument);
        auto elsewhere = cube(10).matrix();
        elsewhere.column_indices().data()[2] = elsewhere.rows() - 1;
        const auto moved = copy_to(context(), elsewhere);
        EXPECT_THROW(m.update(context(), moved.view()), InvalidArgument);
        EXPECT_TRUE(same_bits(applied(m, ones), recovered)) << "what was wrong changed nothing";
        m.update(context(), matrix.view());
        EXPECT_TRUE(m.warnings().empty());
        EXPECT_EQ(m.recoveries(), 4);
    }
}

/// The values of a matrix that stays in its place are read again for what keeps a copy of them
/// else: other aggregates, other types of values, and another cycle.
TEST(amg_hard, a_matrix_that_stays_in_its_place_is_read_again) {
    const auto body = copy_to(context(), cube(10).matrix()),
               stiff = copy_to(context(), cube(10).matrix(",contrast=1e9")),
               plate =
                   copy_to(context(), problems::generate<double>(host(), "poisson2d:90").matrix);
    const auto check = [&](const CsrMatrix<double>& matrix, AmgOptions options) {
        const std::vector<double> ones(std::size_t(matrix.rows()), 1.0);
        std::vector<std::vector<double>> found;
        for (const bool stays : {false, true}) {
            options.matrix_stays = stays;
            Amg<double> m(context(), matrix.view(), options);
            for (int update = 0; update < 2; ++update) {
                found.push_back(applied(m, ones));
                EXPECT_TRUE(m.recover(context(), m.recoveries()));
                found.push_back(applied(m, ones));
                m.update(context(), matrix.view());
            }
            found.push_back(applied(m, ones));
        }
        const std::size_t half = found.size() / 2;
        for (std::size_t k = 0; k < half; ++k) {
            EXPECT_TRUE(same_bits(found[k], found[half + k])) << k;
        }
        EXPECT_FALSE(same_bits(found[0], found[1]));
    };
    for (const bool single : {false, true}) {
        check(body, cube(10).options(single));
        check(stiff, cube(10).options(single));
        check(plate, {.coarse_rows = 100, .single_precision = single});
    }
    AmgOptions one_level;
    one_level.max_levels = 1;
    check(plate, one_level);
}

/// 80 neighbours with 1/80 of the diagonal each: a threshold of 0.02 calls none of them strong.
TEST(amg_hard, many_weak_couplings_matter) {
    constexpr Index n = 60;
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < n * n; ++i) {
        pattern.emplace_back();
        values.emplace_back();
        for (Index row = std::max(i / n - 4, 0); row <= std::min(i / n + 4, n - 1); ++row) {
            for (Index k = std::max(i % n - 4, 0); k <= std::min(i % n + 4, n - 1); ++k) {
                pattern.back().push_back(row * n + k);
                values.back().push_back(row * n + k == i ? 80 : -1);
            }
        }
    }
    const auto matrix = copy_to(context(), make_csr<double>(n * n, n * n, pattern, values));
    const Amg<double> m(context(), matrix.view(), {.block = 1, .coarse_rows = 100});
    ASSERT_EQ(m.warnings().size(), 1u);
    expect_contains(m.warnings()[0],
                    "level 1 was made with theta = 0.01, as no coupling is stronger");
    EXPECT_GE(m.levels().size(), 2u);
    const Offset found = iterations(matrix, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 10);
}

/// A threshold that leaves too few couplings for a coarser level is halved until they suffice.
TEST(amg_hard, a_threshold_that_is_too_large_is_lowered) {
    const Body body = cube(10);
    const auto matrix = copy_to(context(), body.matrix());
    AmgOptions options = body.options();
    const Offset usual = iterations(matrix, Amg<double>(context(), matrix.view(), options));
    for (const double theta : {0.1, 0.5}) {
        options.theta = theta;
        const Amg<double> m(context(), matrix.view(), options);
        ASSERT_GE(m.warnings().size(), 1u);
        expect_contains(m.warnings()[0], "for few couplings are stronger");
        EXPECT_GE(m.levels().size(), 2u);
        const Offset found = iterations(matrix, m);
        EXPECT_GT(found, 0);
        EXPECT_LE(found, 2 * usual);
    }
}

namespace {

/// The Laplacian of a graph, and 0.001 times the identity.
CsrMatrix<double> laplacian(Index n, const std::set<std::pair<Index, Index>>& edges) {
    std::vector<std::vector<Index>> pattern(std::size_t(n), std::vector<Index>{});
    for (const auto& [i, j] : edges) {
        pattern[std::size_t(i)].push_back(j);
        pattern[std::size_t(j)].push_back(i);
    }
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < n; ++i) {
        auto& row = pattern[std::size_t(i)];
        const double degree = double(row.size());
        row.push_back(i);
        std::ranges::sort(row);
        values.emplace_back();
        for (const Index j : row) values.back().push_back(j == i ? degree + 0.001 : -1);
    }
    return make_csr<double>(n, n, pattern, values);
}

}  // namespace

/// A grid of which every third node is joined to one more node: through it all nodes are two edges
/// apart. It is an aggregate of its own, and the levels are those of the grid.
TEST(amg_hard, a_node_that_is_coupled_to_many) {
    constexpr Index n = 70, hub = n * n;
    std::set<std::pair<Index, Index>> edges;
    for (Index i = 0; i < hub; ++i) {
        if (i % n + 1 < n) edges.insert({i, i + 1});
        if (i + n < hub) edges.insert({i, i + n});
    }
    const auto grid = copy_to(context(), laplacian(hub, edges));
    for (Index i = 0; i < hub; i += 3) edges.insert({i, hub});
    const auto matrix = copy_to(context(), laplacian(hub + 1, edges));
    Amg<double> m(context(), matrix.view(), {.block = 1, .coarse_rows = 100});
    const Amg<double> of_grid(context(), grid.view(), {.block = 1, .coarse_rows = 100});
    EXPECT_TRUE(m.warnings().empty());
    ASSERT_GE(m.levels().size(), 3u);
    EXPECT_LE(m.levels()[1].nodes, of_grid.levels()[1].nodes + 1);
    EXPECT_LE(m.operator_complexity(), of_grid.operator_complexity() + 0.5);
    const Offset found = iterations(matrix, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 15);
    auto random = generator();
    const auto r = random_vector<double>(random, std::size_t(hub) + 1);
    const auto before = applied(m, r);
    m.update(context(), matrix.view());
    EXPECT_TRUE(same_bits(applied(m, r), before));
}

/// The products of a random graph's coarse levels fill up: there are no such levels.
TEST(amg_hard, a_random_graph_has_few_levels) {
    constexpr Index n = 8000;
    std::set<std::pair<Index, Index>> edges;
    auto random = generator();
    std::uniform_int_distribution<Index> any(0, n - 1);
    for (Index i = 0; i < n; ++i) {
        for (int k = 0; k < 10; ++k) {
            const Index j = any(random);
            if (i != j) edges.insert(std::minmax(i, j));
        }
    }
    const auto matrix = copy_to(context(), laplacian(n, edges));
    const Amg<double> m(context(), matrix.view(), {.block = 1, .coarse_rows = 100});
    ASSERT_FALSE(m.warnings().empty());
    expect_contains(m.warnings().back(),
                    "as the many entries of another level ended the coarsening");
    EXPECT_LE(m.operator_complexity(), 7);
    const Offset found = iterations(matrix, m);
    EXPECT_GT(found, 0);
    EXPECT_LE(found, 40);
}

/// Two bodies that can move, of which each has six modes.
TEST(amg_hard, two_free_bodies) {
    const auto one = problems::generate<double>(host(), "elasticity3d:6,free").matrix;
    const CsrView<double> a = one.view();
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (Index i = 0; i < 2 * a.rows; ++i) {
        const Index first = i < a.rows ? 0 : a.rows;
        const Offset begin = a.row_offsets[i - first], end = a.row_offsets[i - first + 1];
        pattern.emplace_back(a.column_indices + begin, a.column_indices + end);
        for (Index& column : pattern.back()) column += first;
        values.emplace_back(a.values + begin, a.values + end);
    }
    const auto both = copy_to(context(), make_csr<double>(2 * a.rows, 2 * a.rows, pattern, values));
    Body body{"", 3, 3, 6, 6};
    body.clamped = false;
    NodeCoordinates points = body.points();
    std::vector<double> positions(points.values.begin(), points.values.end());
    for (std::size_t k = 0; k < points.values.size(); ++k) {
        positions.push_back(positions[k] + (k % 3 == 0 ? 20 : 0));
    }
    points.values = std::move(positions);
    const Amg<double> m(context(), both.view(), {.coordinates = points, .coarse_rows = 100});
    ASSERT_EQ(m.warnings().size(), 1u);
    expect_contains(m.warnings()[0], "singular up to rounding");
    const CsrOperator<double> matrix(context(), both.view());
    auto random = generator();
    const auto given = applied(matrix, random_vector<double>(random, std::size_t(2 * a.rows)));
    const Buffer<double> b = copy_to_buffer(context(), given);
    Buffer<double> x = copy_to_buffer(context(), std::vector<double>(given.size(), 0.0));
    const SolveReport report = solve<double>(context(), "fcg", matrix, &m, b.view(), x.view());
    EXPECT_EQ(report.status, Status::converged);
    EXPECT_LE(report.iterations, 20);
}

}  // namespace tessera::test
