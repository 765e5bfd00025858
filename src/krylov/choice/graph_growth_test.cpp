#include "krylov/choice/test_choice.hpp"

namespace tessera::test {

/// Two nodes that are joined to every two hundredth one of a plane grid do not make it a random
/// graph.
TEST(graph_growth, dense_rows_do_not_hide_a_mesh) {
    const std::size_t side = context().on_gpu() ? 320 : 200;  // Enough rows to look.
    const CsrMatrix<double> grid = problem("poisson2d:" + std::to_string(side));
    const CsrView<double> view = grid.view();
    const auto n = std::size_t(view.rows);
    std::vector<std::vector<Index>> pattern(n + 2);
    std::vector<std::vector<double>> values(n + 2);
    for (std::size_t i = 0; i < n; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            pattern[i].push_back(view.column_indices[k]);
            values[i].push_back(view.values[k]);
        }
        if (i % side > 1) continue;
        const std::size_t hub = n + i % side;
        pattern[i].push_back(Index(hub));
        pattern[hub].push_back(Index(i));
        values[i].push_back(-1e-3);
        values[hub].push_back(-1e-3);
    }
    for (const std::size_t hub : {n, n + 1}) {
        pattern[hub].push_back(Index(hub));
        values[hub].push_back(1);
    }
    const Index rows = view.rows + 2;
    MatrixFacts facts = facts_of(make_csr<double>(rows, rows, pattern, values));
    EXPECT_GT(facts.graph_dimension, 1.5);
    EXPECT_LT(facts.graph_dimension, 2.2);
    if (context().on_gpu()) return;
    EXPECT_TRUE(choose(facts, "auto", "auto", "auto").at(1).preconditioner.starts_with("direct"));
    facts.positive_diagonal = false;
    EXPECT_TRUE(choose(facts, "auto", "auto", "auto").at(0).preconditioner.starts_with("direct"));
}

}  // namespace tessera::test
