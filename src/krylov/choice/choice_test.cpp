#include "tessera/choice.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "krylov/choice/test_choice.hpp"
#include "krylov/rules.hpp"
#include "support/messages.hpp"
#include "tessera/precond.hpp"
#include "tessera/solver.hpp"

namespace tessera::test {

namespace {

/// The Laplacian of a random graph in which every node has `degree` neighbours or a few less.
CsrMatrix<double> random_graph(Index n, int degree) {
    auto random = generator();
    std::vector<std::set<Index>> neighbours(static_cast<std::size_t>(n));
    std::vector<Index> order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    for (int k = 0; k < degree / 2; ++k) {
        std::shuffle(order.begin(), order.end(), random);
        for (std::size_t i = 0; i < order.size(); ++i) {
            if (order[i] == Index(i)) continue;
            neighbours[i].insert(order[i]);
            neighbours[std::size_t(order[i])].insert(Index(i));
        }
    }
    std::vector<std::vector<Index>> pattern;
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i < order.size(); ++i) {
        neighbours[i].insert(Index(i));
        pattern.emplace_back(neighbours[i].begin(), neighbours[i].end());
        values.emplace_back(pattern.back().size(), -1.0);
        const auto own = std::ranges::find(pattern.back(), Index(i)) - pattern.back().begin();
        values.back()[std::size_t(own)] = double(pattern.back().size()) - 1 + 1e-3;
    }
    return make_csr<double>(n, n, pattern, values);
}

/// Multigrid and exact factors come after iterations for graphs that are no meshes.
TEST(choice, the_dimension_of_graphs) {
    EXPECT_EQ(facts_of(problem("poisson2d:100")).graph_dimension, 0) << "too small";
    for (const char* text :
         {"poisson2d:320", "poisson3d:47", "elasticity3d:32", "plate_hole:160"}) {
        const double found = facts_of(problem(text)).graph_dimension;
        EXPECT_GT(found, 1.5) << text;
        EXPECT_LT(found, 3) << text;
    }
    for (const int degree : {4, 10}) {
        const MatrixFacts facts = facts_of(random_graph(100'000, degree));
        EXPECT_GT(facts.graph_dimension, 3.05);
        EXPECT_EQ(choose(facts, "auto", "auto", "auto").at(0).preconditioner, "jacobi");
        // Blocks of a graph's rows would be nearly empty.
        MatrixFacts indefinite = facts;
        indefinite.positive_diagonal = false;
        for (const Attempt& attempt : choose(indefinite, "auto", "auto", "auto")) {
            EXPECT_FALSE(attempt.preconditioner.starts_with("block_ldlt:8"));
        }
    }
}

/// Every node of a random tree has an earlier one as its neighbour.
TEST(choice, exact_factors_for_trees) {
    if (context().on_gpu()) GTEST_SKIP() << "for a CPU alone";
    auto random = generator();
    constexpr Index n = 60'000;
    std::vector<std::vector<Index>> pattern(n);
    for (Index i = 0; i < n; ++i) {
        if (i > 0) {
            const auto other = Index(random() % std::uint64_t(i));
            pattern[std::size_t(i)].push_back(other);
            pattern[std::size_t(other)].push_back(i);
        }
        pattern[std::size_t(i)].push_back(i);
    }
    std::vector<std::vector<double>> values;
    for (std::size_t i = 0; i < n; ++i) {
        std::ranges::sort(pattern[i]);
        values.emplace_back(pattern[i].size(), -1.0);
        const auto own = std::ranges::find(pattern[i], Index(i)) - pattern[i].begin();
        values[i][std::size_t(own)] = double(pattern[i].size()) - 1 + 1e-3;
    }
    const MatrixFacts facts = facts_of(make_csr<double>(n, n, pattern, values));
    EXPECT_GT(facts.graph_dimension, 3.05);
    const std::vector<Attempt> attempts = choose(facts, "auto", "auto", "auto");
    EXPECT_GT(attempts.at(0).trial, 0);
    EXPECT_TRUE(attempts.at(1).preconditioner.starts_with("direct"));
}

TEST(choice, nodes_along_a_body) {
    const auto beam = problems::generate<double>(Context::cpu(), Spec("cantilever2d:4,length=20"));
    EXPECT_NEAR(facts_of(beam.matrix, beam.coordinates).nodes_along, 80, 20);
    if (context().on_gpu()) return;
    EXPECT_NEAR(facts_of(beam.matrix).nodes_along, 80, 20);
    const auto bar = problem("cantilever3d:3,length=25");
    const auto attempts = choose(facts_of(bar), "auto", "auto", "auto");
    EXPECT_TRUE(attempts.at(0).preconditioner.starts_with("direct"));
    EXPECT_EQ(attempts.at(1).preconditioner, "amg");
    const auto cube = problems::generate<double>(Context::cpu(), Spec("elasticity3d:10"));
    EXPECT_NEAR(facts_of(cube.matrix, cube.coordinates).nodes_along, 10, 3);
    EXPECT_NEAR(facts_of(cube.matrix).nodes_along, context().on_gpu() ? 0 : 10, 3);
    // Long bodies get multigrid at once, on the CPU.
    MatrixFacts facts = facts_of(beam.matrix, beam.coordinates);
    facts.on_gpu = false;
    const auto without_factors = [&] {
        for (const Attempt& attempt : choose(facts, "auto", "auto", "auto")) {
            if (!attempt.preconditioner.starts_with("direct")) return attempt.preconditioner;
        }
        return std::string();
    };
    EXPECT_EQ(without_factors(), "amg");
    facts.nodes_along = 10;
    EXPECT_EQ(without_factors(), "jacobi");
}

/// On a GPU few iterations precede it.
TEST(choice, bodies_of_any_size_reach_multigrid) {
    MatrixFacts facts = facts_of(problem("elasticity3d:6"));
    facts.on_gpu = true;
    const double entries = facts.entries_per_row();
    for (const Index rows : {3'000, 12'000, 45'000, 500'000}) {
        facts.rows = rows;
        facts.nonzeros = Offset(entries * rows);
        const auto attempts = choose(facts, "auto", "auto", "auto");
        const auto multigrid = std::ranges::find(attempts, "amg", &Attempt::preconditioner);
        ASSERT_NE(multigrid, attempts.end()) << rows;
        for (auto before = attempts.begin(); before != multigrid; ++before) {
            EXPECT_GT(before->max_iterations, 0) << rows << " " << before->preconditioner;
        }
    }
}

TEST(choice, exact_factors_come_first_where_they_pay) {
    const auto first = [](MatrixFacts facts) {
        facts.on_gpu = false;
        return choose(facts, "auto", "auto", "auto")[0];
    };
    MatrixFacts facts = facts_of(problem("stokes:8"));  // Indefinite ones of any size.
    for (const Index rows : {300, 5'000, 500'000}) {
        facts.rows = rows;
        EXPECT_TRUE(first(facts).preconditioner.starts_with("direct"));
    }
    facts = facts_of(problem("convection3d:8"));  // Small ones, else after a trial.
    EXPECT_TRUE(first(facts).preconditioner.starts_with("direct"));
    facts.rows = facts.blocks = 5'000;
    facts.nonzeros = 35'000;
    EXPECT_EQ(first(facts).preconditioner, "jacobi");
    EXPECT_GT(first(facts).trial, 0);
    facts = facts_of(problem("poisson2d:20"));
    EXPECT_TRUE(first(facts).preconditioner.starts_with("direct"));
    facts.rows = facts.blocks = 5'000;
    facts.nonzeros = 25'000;
    EXPECT_GT(first(facts).trial, 0);
    facts = facts_of(problem("elasticity3d:5"));  // Not solids.
    EXPECT_FALSE(first(facts).preconditioner.starts_with("direct"));
    EXPECT_EQ(first(facts).trial, 0);
    facts.nonzeros = Offset(facts.rows) * facts.rows;  // But dense ones.
    EXPECT_TRUE(first(facts).preconditioner.starts_with("direct"));
}

TEST(choice, incomplete_factors_come_before_idr) {
    MatrixFacts facts = facts_of(problem("euler3d:4"));
    EXPECT_EQ(facts.rows_per_node, 5);
    const auto place_of = [&](const char* word, bool on_gpu) {
        facts.on_gpu = on_gpu;
        const auto attempts = choose(facts, "auto", "auto", "auto");
        return std::ranges::find_if(
                   attempts,
                   [&](const Attempt& one) {
                       return (one.solver + " " + one.preconditioner).starts_with(word);
                   }) -
               attempts.begin();
    };
    for (const Index nodes : {5'000, 100'000}) {
        facts.blocks = nodes;
        facts.rows = 5 * nodes;
        facts.nonzeros = Offset(facts.rows) * 33;
        for (const bool on_gpu : {false, true}) {
            if (on_gpu && nodes < 8'000) continue;  // Exact factors.
            EXPECT_LE(place_of("bicgstab ilu", on_gpu), 2) << nodes;
            EXPECT_LT(place_of("bicgstab ilu", on_gpu), place_of("idr", on_gpu)) << nodes;
        }
    }
    // Their setup on a GPU is fast where neither a matching nor an order comes from the host.
    EXPECT_EQ(
        place_of("bicgstab ilu,precision=f32,max_levels=1000,matching=off,ordering=natural", true),
        0);
    facts.positive_diagonal = false;
    EXPECT_GT(place_of("bicgstab ilu", true), 0);
}

TEST(choice, multigrid_of_the_symmetric_part_for_large_plane_flows) {
    MatrixFacts facts = facts_of(problem("recirculation:20"));
    const auto second = [&] { return choose(facts, "auto", "auto", "auto").at(1).preconditioner; };
    const std::string part = "amg,symmetric_part=on";
    facts.blocks = facts.rows = 640'000;
    facts.nonzeros = Offset(facts.rows) * 5;
    for (const bool on_gpu : {true, false}) {
        facts.on_gpu = on_gpu;
        EXPECT_EQ(second(), part);
    }
    facts.positive_diagonal = false;
    EXPECT_NE(second(), part);
    facts.positive_diagonal = true;
    facts.nonzeros = Offset(facts.rows) * 7;  // In space.
    EXPECT_NE(second(), part);
    EXPECT_EQ(choose(facts, "auto", part, "auto").at(0).solver, "gmres:50");
}

TEST(choice, multigrid_is_the_first_where_it_finds_the_nodes) {
    MatrixFacts facts;
    facts.rows = 2'000'000;
    facts.nonzeros = Offset(facts.rows) * 18;
    facts.symmetric = facts.positive_diagonal = true;
    facts.rows_per_node = facts.largest_block = 2;
    for (const bool on_gpu : {false, true}) {
        facts.on_gpu = on_gpu;
        facts.blocks = facts.rows / 2;
        EXPECT_EQ(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
        facts.blocks += 100;  // Some nodes have one fixed unknown.
        EXPECT_EQ(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
    }
    facts.rows_per_node = 1;
    facts.blocks = facts.rows / 3 * 2;
    for (const bool on_gpu : {false, true}) {
        facts.on_gpu = on_gpu;
        EXPECT_NE(choose(facts, "auto", "auto", "auto")[0].preconditioner, "amg");
    }
    // A seven-point star of 1e6 and of 1e7 rows.
    for (const Index rows : {1'000'000, 10'000'000}) {
        facts.rows = facts.blocks = rows;
        facts.nonzeros = Offset(rows) * 7;
        facts.largest_block = 1;
        EXPECT_EQ(choose(facts, "auto", "auto", "auto")[0].preconditioner == "amg",
                  rows == 10'000'000);
    }
}

/// Tetrahedra of a size at which iterations or multigrid may be the faster ones.
TEST(choice, a_trial_decides_between_iterations_and_multigrid) {
    MatrixFacts facts;
    facts.rows = 7'776;
    facts.nonzeros = Offset(facts.rows) * 33;
    facts.symmetric = facts.positive_diagonal = facts.has_coordinates = true;
    facts.rows_per_node = 3;
    facts.largest_block = 1;
    facts.blocks = facts.rows;
    auto attempts = choose(facts, "auto", "auto", "auto");
    EXPECT_EQ(attempts.at(0).preconditioner, "jacobi");
    EXPECT_GT(attempts.at(0).trial, 0);
    EXPECT_EQ(attempts.at(1).preconditioner, "amg");
    // Without coordinates, and of blocks that are not full, exact factors of few operations first.
    facts.has_coordinates = false;
    facts.nodes_without_zeros = true;
    attempts = choose(facts, "auto", "auto", "auto");
    EXPECT_TRUE(attempts.at(1).preconditioner.starts_with("direct"));
    EXPECT_GT(attempts.at(2).trial, 0);
    EXPECT_EQ(attempts.at(3).preconditioner, "amg");
    facts.nodes_without_zeros = false;
    facts.rows_per_node = 2;
    attempts = choose(facts, "auto", "auto", "auto");
    EXPECT_EQ(attempts.at(0).preconditioner.starts_with("direct"), !facts.on_gpu) << "a plane";
}

/// Exact factors follow a short trial where some diagonal entries only are negative, as in power
/// networks: incomplete factors seldom suffice there.
TEST(choice, large_networks) {
    if (context().on_gpu()) GTEST_SKIP() << "for a CPU alone";
    MatrixFacts facts;
    facts.rows = 45'039;
    facts.nonzeros = 344'767;
    const auto second = [&] { return choose(facts, "auto", "auto", "auto").at(1); };
    EXPECT_EQ(second().preconditioner, "direct,max_flops=1e09");
    EXPECT_EQ(choose(facts, "auto", "auto", "auto").at(0).trial, 40);
    facts.negative_diagonal = true;
    EXPECT_TRUE(second().preconditioner.starts_with("ilu")) << "a flow, times -1";
    facts.negative_diagonal = false;
    facts.positive_diagonal = true;
    EXPECT_TRUE(second().preconditioner.starts_with("ilu"));
}

/// Few steps reach many nodes of elements of second order, as in graphs that are no meshes.
TEST(choice, solids_of_second_order_are_meshes) {
    MatrixFacts facts;
    facts.rows = 286'284;
    facts.nonzeros = Offset(facts.rows) * 80;
    facts.symmetric = facts.positive_diagonal = true;
    facts.rows_per_node = facts.largest_block = 3;
    facts.blocks = facts.rows / 3;
    facts.graph_dimension = 3.8;
    for (const bool has_coordinates : {false, true}) {
        facts.has_coordinates = has_coordinates;
        EXPECT_EQ(choose(facts, "auto", "auto", "auto").at(0).preconditioner, "amg");
        EXPECT_TRUE(is_known_mesh(facts));
    }
    facts.graph_dimension = 4.5;
    EXPECT_TRUE(is_known_mesh(facts));
    facts.has_coordinates = false;
    EXPECT_FALSE(is_known_mesh(facts));
    facts.graph_dimension = 0;  // Unknown.
    EXPECT_FALSE(is_known_mesh(facts));
    facts.graph_dimension = 3.8;
    facts.nonzeros = Offset(facts.rows) * 15;  // A random graph of blocks.
    EXPECT_FALSE(is_known_mesh(facts));
    EXPECT_EQ(choose(facts, "auto", "auto", "auto").at(0).preconditioner,
              facts.on_gpu ? "chebyshev:6" : "jacobi");
}

std::vector<MatrixFacts> many_facts() {
    std::vector<MatrixFacts> all;
    for (const Index rows : {0, 1, 900, 8'000, 30'000, 120'000, 700'000, 2'000'000, 9'000'000}) {
        for (const int entries : {3, 7, 80}) {
            for (const Index block : {1, 2, 3, 5}) {
                for (int bits = 0; bits < 8; ++bits) {
                    MatrixFacts one;
                    one.rows = rows;
                    one.nonzeros = Offset(rows) * entries;
                    one.symmetric = bits & 1;
                    one.positive_diagonal = bits & 2;
                    one.on_gpu = bits & 4;
                    one.rows_per_node = block;
                    one.largest_block = block;
                    one.blocks = rows / block;
                    all.push_back(one);
                }
            }
        }
    }
    return all;
}

TEST(choice, all_attempts_can_be_parsed_and_fit_the_matrix) {
    std::set<std::string> chosen;
    for (const MatrixFacts& facts : many_facts()) {
        const auto attempts = choose(facts, "auto", "auto", "auto");
        ASSERT_FALSE(attempts.empty());
        EXPECT_EQ(attempts.back().max_iterations, 0) << "nothing follows the last one";
        for (const Attempt& attempt : attempts) {
            chosen.insert(attempt.solver + " " + attempt.preconditioner);
            EXPECT_NO_THROW(parse_solver(attempt.solver));
            EXPECT_NO_THROW(parse_preconditioner(attempt.preconditioner));
            EXPECT_NO_THROW(parse_format(attempt.format));
            EXPECT_FALSE(attempt.reason.empty());
            const std::string solver = Spec(attempt.solver).name();
            if (solver == "cg" || solver == "fcg") {
                EXPECT_TRUE(facts.symmetric && facts.positive_diagonal);
            }
            if (solver == "minres" || solver == "sqmr") {
                EXPECT_TRUE(facts.symmetric);
            }
        }
    }
    EXPECT_GE(chosen.size(), 10U);
}

TEST(choice, words_that_are_given_are_kept) {
    for (const MatrixFacts& facts : many_facts()) {
        for (const Attempt& attempt : choose(facts, "idr:3", "auto", "auto")) {
            EXPECT_EQ(attempt.solver, "idr:3");
        }
        for (const char* solver : {"cg", "gmres", "bicgstab", "minres"}) {
            const auto attempts = choose(facts, solver, "auto", "auto");
            std::set<std::string> seen;  // None is repeated, and the last one has no limit.
            for (const Attempt& attempt : attempts) {
                EXPECT_TRUE(seen.insert(attempt.preconditioner + " " + attempt.format).second)
                    << solver << " with " << attempt.preconditioner;
            }
            EXPECT_EQ(attempts.back().max_iterations, 0);
        }
        for (const Attempt& attempt : choose(facts, "auto", "auto", "sell:32")) {
            EXPECT_EQ(attempt.format, "sell:32");
        }
        for (const Attempt& attempt : choose(facts, "minres", "auto", "auto")) {
            const Spec preconditioner = Spec(attempt.preconditioner);
            if (preconditioner.name() != "block_ldlt") continue;
            EXPECT_TRUE(Spec(preconditioner).flag("positive_definite"));
        }
        const auto attempts = choose(facts, "auto", "amg", "auto");
        ASSERT_EQ(attempts.size(), 1U);
        EXPECT_EQ(attempts[0].preconditioner, "amg");
        EXPECT_EQ(attempts[0].solver == "fcg", facts.symmetric && facts.positive_diagonal);
    }
}

TEST(choice, left_preconditioning_has_solvers_that_allow_it) {
    for (const MatrixFacts& facts : many_facts()) {
        for (const char* preconditioner : {"auto", "jacobi", "block_ldlt:8", "none"}) {
            const auto attempts = choose(facts, "auto", preconditioner, "auto", true);
            ASSERT_FALSE(attempts.empty());
            EXPECT_EQ(attempts.back().max_iterations, 0) << "nothing follows the last one";
            for (const Attempt& attempt : attempts) {
                EXPECT_TRUE(parse_solver(attempt.solver)->allows_left()) << attempt.solver;
            }
        }
        EXPECT_EQ(choose(facts, "cg", "auto", "auto", true), choose(facts, "cg", "auto", "auto"));
        if (!facts.symmetric) {
            EXPECT_EQ(choose(facts, "auto", "auto", "auto", true),
                      choose(facts, "auto", "auto", "auto"));
        }
    }
}

TEST(choice, candidates_hold_what_auto_chooses_and_others_once) {
    for (const MatrixFacts& facts : many_facts()) {
        const auto ways = candidates(facts, "auto", "auto", "auto");
        std::set<std::string> seen;
        for (const Attempt& way : ways) {
            EXPECT_NO_THROW(parse_solver(way.solver));
            EXPECT_NO_THROW(parse_preconditioner(way.preconditioner));
            EXPECT_NO_THROW(parse_format(way.format));
            EXPECT_EQ(way.max_iterations, 0);
            EXPECT_TRUE(
                seen.insert(way.solver + " " + way.preconditioner + " " + way.format).second)
                << way.solver << " " << way.preconditioner;
        }
        EXPECT_GE(ways.size(), 10U);
        const Attempt first = choose(facts, "auto", "auto", "auto").front();
        EXPECT_TRUE(seen.contains(first.solver + " " + first.preconditioner + " " + first.format));
    }
}

TEST(choice, candidates_keep_words_that_are_given) {
    for (const MatrixFacts& facts : many_facts()) {
        const auto ways = candidates(facts, "gmres:20", "jacobi", "auto");
        ASSERT_EQ(ways.size(), 2U);  // csr and sbell.
        EXPECT_EQ(ways[0].solver + ways[0].preconditioner, "gmres:20jacobi");
        for (const Attempt& way : candidates(facts, "minres", "auto", "csr")) {
            EXPECT_EQ(way.format, "csr");
            const bool factors = way.preconditioner.starts_with("block_ldlt");
            EXPECT_EQ(factors, way.preconditioner.ends_with("positive_definite"))
                << way.preconditioner;
        }
    }
}

}  // namespace

}  // namespace tessera::test
