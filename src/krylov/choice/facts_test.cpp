#include "krylov/choice/test_choice.hpp"

namespace tessera::test {

namespace {

TEST(facts, laplacian) {
    const MatrixFacts facts = facts_of(problem("poisson2d:20"));
    EXPECT_EQ(facts.rows, 400);
    EXPECT_EQ(facts.nonzeros, 5 * 400 - 4 * 20);
    EXPECT_TRUE(facts.symmetric);
    EXPECT_TRUE(facts.positive_diagonal);
    EXPECT_EQ(facts.blocks, 400);
    EXPECT_EQ(facts.rows_per_node, 1);
    EXPECT_FALSE(facts.has_various_blocks());
    EXPECT_EQ(facts.on_gpu, context().on_gpu());
}

TEST(facts, each_row_of_the_diagonal) {
    const CsrMatrix<double> good = problem("poisson2d:20");
    for (const Index row : {0, 137, 399}) {
        for (const double value : {0., -1., std::nan("")}) {
            EXPECT_FALSE(facts_of(with_diagonal(copy_to(Context::cpu(), good), row, value))
                             .positive_diagonal)
                << row << " " << value;
        }
    }
    EXPECT_FALSE(facts_of(problem("stokes:6")).positive_diagonal);  // Not stored in some rows.
    EXPECT_FALSE(facts_of(problem("convection3d:5")).symmetric);
}

TEST(facts, rows) {
    const MatrixFacts facts = facts_of(problem("poisson2d:20"));
    EXPECT_EQ(facts.row_span, 1);  // The largest entry of each row is that of the diagonal.
    EXPECT_FALSE(facts.negative_diagonal || facts.zeros_on_diagonal || facts.row_sums_vanish ||
                 facts.has_fixed_rows || facts.has_odd_rows);
    EXPECT_TRUE(facts_of(problem("stokes:6")).zeros_on_diagonal);
    const auto chain = [](double end, double fixed) {
        return facts_of(matrix_of<double>(30, [&](Index i, Index j) {
            if (i == 29 || j == 29) return i == j ? fixed : 0.0;
            if (i == j) return i == 0 || i == 28 ? end : -2 * end;
            return std::abs(i - j) == 1 ? 1.0 : 0.0;
        }));
    };
    EXPECT_TRUE(chain(-1, 1).row_sums_vanish == false);  // The last row sums to 1.
    EXPECT_TRUE(facts_of(problem("elasticity2d:4,free")).row_sums_vanish);
    EXPECT_TRUE(chain(-1, 2).has_fixed_rows);
    EXPECT_FALSE(chain(-1, 2).has_odd_rows);
    EXPECT_TRUE(chain(-1, 1e7).has_odd_rows);
    EXPECT_TRUE(chain(-1, 1e-7).has_odd_rows);
    EXPECT_TRUE(facts_of(matrix_of<double>(5, [](Index i, Index j) {
                    return i == j ? -1.0 : 0.0;
                })).negative_diagonal);
}

TEST(facts, nodes_with_several_unknowns) {
    const auto body = problems::generate<double>(Context::cpu(), Spec("elasticity3d:4"));
    EXPECT_EQ(facts_of(body.matrix).rows_per_node, 3);
    EXPECT_EQ(facts_of(body.matrix).largest_block, 3);
    const MatrixFacts with_nodes = facts_of(body.matrix, body.coordinates);
    EXPECT_EQ(with_nodes.rows_per_node, 3);
    EXPECT_TRUE(with_nodes.has_coordinates);
    EXPECT_TRUE(facts_of(problem("random_blocks:40,sizes=1-6")).has_various_blocks());
}

/// Serendipity hexahedra: nodes on an edge of the body may have the same neighbours.
TEST(facts, nodes_with_the_same_neighbours) {
    CsrMatrix<double> body = problem("elasticity3d:5");
    const Index rows = body.rows();
    std::vector<std::vector<Index>> pattern(std::size_t(rows + 6));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < rows; ++i) {
        for (Offset k = body.view().row_offsets[i]; k < body.view().row_offsets[i + 1]; ++k) {
            pattern[std::size_t(i)].push_back(body.view().column_indices[k]);
            values[std::size_t(i)].push_back(body.view().values[k]);
        }
    }
    for (Index i = rows; i < rows + 6; ++i) {  // Two nodes.
        for (Index j = rows; j < rows + 6; ++j) {
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(i == j ? 8 : 1);
        }
    }
    const CsrMatrix<double> both = make_csr<double>(rows + 6, rows + 6, pattern, values);
    const MatrixFacts facts = facts_of(both);
    EXPECT_EQ(facts.rows_per_node, 3);
    EXPECT_EQ(facts.largest_block, 3);
    EXPECT_EQ(facts.blocks, rows / 3 + 2);
    EXPECT_FALSE(facts.has_various_blocks() || facts.nodes_without_zeros);
    const Amg<double> amg(context(), copy_to(context(), both).view());
    EXPECT_EQ(amg.levels().front().block, 3);
}

TEST(facts, nodes_of_which_some_have_fixed_unknowns) {
    const MatrixFacts facts = facts_of(problem("plate_hole:30"));
    EXPECT_EQ(facts.rows_per_node, 2);
    EXPECT_TRUE(facts.has_various_blocks());
}

/// A beam without the rows of its fixed unknowns: not a whole number of rows for each node.
TEST(facts, coordinates_tell_the_unknowns_of_a_node) {
    const auto plate = problems::generate<double>(Context::cpu(), Spec("plate_hole:8"));
    NodeCoordinates points = plate.coordinates;
    ASSERT_FALSE(points.unknowns.empty());
    const Offset nodes = Offset(points.values.size()) / 2;
    ASSERT_NE(plate.matrix.rows() % nodes, 0);
    EXPECT_EQ(facts_of(plate.matrix, points).rows_per_node, 2);
    points.unknowns.clear();  // Multigrid finds them.
    EXPECT_EQ(facts_of(plate.matrix, points).rows_per_node, 2);
    points.values = std::vector<double>(2 * std::size_t(nodes / 3), 0.0);
    try {
        facts_of(plate.matrix, points);
        ADD_FAILURE() << "too few coordinates were taken";
    } catch (const InvalidArgument& error) {
        EXPECT_STREQ(error.argument(), "coordinates");
    }
}

/// The matrix without some entries outside of diagonal blocks of 3 rows, one of `modulus`.
CsrMatrix<double> without_some_entries(const CsrMatrix<double>& matrix, Offset modulus) {
    const CsrView<double> a = matrix.view();
    std::vector<std::vector<Index>> pattern(std::size_t(a.rows));
    std::vector<std::vector<double>> values(pattern.size());
    for (Index i = 0; i < a.rows; ++i) {
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index j = a.column_indices[k];
            if (i / 3 != j / 3 && (Offset(i) * j + i + j) % modulus == 0) continue;
            pattern[std::size_t(i)].push_back(j);
            values[std::size_t(i)].push_back(a.values[k]);
        }
    }
    return make_csr<double>(a.rows, a.columns, pattern, values);
}

TEST(facts, nodes_whose_zeros_are_not_stored) {
    const CsrMatrix<double> body = problem("elasticity3d:15");
    const MatrixFacts facts = facts_of(without_some_entries(body, 11));
    ASSERT_GE(facts.rows, 10'000);
    EXPECT_LT(facts.largest_block, 4);
    EXPECT_EQ(facts.rows_per_node, 3);
    EXPECT_TRUE(facts.nodes_without_zeros);
    const MatrixFacts sparser = facts_of(without_some_entries(body, 2));
    EXPECT_EQ(sparser.rows_per_node, 1);  // Blocks of 3 rows would have 1.3 times the entries.
    EXPECT_FALSE(sparser.nodes_without_zeros);
    EXPECT_FALSE(facts_of(body).nodes_without_zeros);
    const MatrixFacts small = facts_of(without_some_entries(problem("elasticity3d:12"), 11));
    EXPECT_LT(small.rows, 10'000);
    EXPECT_EQ(small.rows_per_node, context().on_gpu() ? 1 : 3);
    EXPECT_EQ(facts_of(problem("poisson2d:150")).rows_per_node, 1);
}

TEST(facts, empty_matrix) {
    const MatrixFacts facts = facts_of(CsrMatrix<double>(Context::cpu(), 0, 0, 0));
    EXPECT_EQ(facts.rows, 0);
    EXPECT_TRUE(facts.symmetric && facts.positive_diagonal);
    EXPECT_FALSE(choose(facts, "auto", "auto", "auto").empty());
}

}  // namespace

}  // namespace tessera::test
