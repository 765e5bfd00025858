#include <algorithm>
#include <filesystem>

#include "krylov/choice/test_choice.hpp"
#include "krylov/rules.hpp"
#include "tessera/io.hpp"

namespace tessera::test {

namespace {

/// Whether facts of the rows determine the first attempt, which is that of all facts then.
bool rows_suffice(const CsrMatrix<double>& matrix) {
    const CsrMatrix<double> placed = copy_to(context(), matrix);
    const auto chosen = attempt_by_rows(find_row_facts(context(), placed.view()));
    if (!chosen) return false;
    EXPECT_EQ(*chosen, choose(facts_of(matrix), "auto", "auto", "auto").front());
    return true;
}

}  // namespace

TEST(attempt_by_rows, is_the_first_of_all_attempts) {
    const std::vector<std::pair<const char*, bool>> expected{
        {"poisson2d:4", true},
        {"poisson2d:38", true},
        {"poisson2d:39", false},
        {"poisson3d:11", true},
        {"plate_hole:12", true},
        {"cantilever2d:3,length=25", true},
        {"cantilever3d:2,length=20", false},
        {"elasticity3d:6", false},
        {"stokes:8", true},
        {"stokes:48", true},
        {"stokes:96", true},
        {"helmholtz:60", false},
        {"kkt:200", true},
        {"qpband:12000", true},
        {"qpband:20000", true},
        {"darcy:8", true},
        {"convection3d:8", true},
        {"convection3d:12", false},
        {"convection3d:18", false},
        {"recirculation:30,peclet=100", true},
        {"recirculation:60,peclet=100", true},
        {"recirculation:80,peclet=100", false}};
    for (const auto& [text, suffice] : expected) {
        SCOPED_TRACE(text);
        EXPECT_EQ(rows_suffice(problem(text)), suffice && !context().on_gpu());
    }
}

TEST(attempt_by_rows, of_diagonal_matrices) {
    for (const double sign : {1.0, -1.0}) {
        const auto matrix =
            matrix_of<double>(50, [sign](Index i, Index j) { return i == j ? sign * (i + 1) : 0; });
        EXPECT_EQ(rows_suffice(matrix), sign > 0 && !context().on_gpu());
    }
}

/// LDL^T of a small matrix does not ask for its sign; a large one is turned for cg.
TEST(attempt_by_rows, of_negative_matrices) {
    for (const bool is_small : {true, false}) {
        CsrMatrix<double> matrix = problem(is_small ? "poisson2d:38" : "poisson2d:39");
        for (double& value : matrix.values().view()) value = -value;
        EXPECT_EQ(rows_suffice(matrix), is_small && !context().on_gpu());
    }
}

/// Facts of the whole matrix change nothing.
TEST(attempt_by_rows, does_not_depend_on_nodes) {
    int compared = 0;
    for (const Index rows : {1, 40, 1'499, 1'500, 4'999, 5'000, 19'999, 20'000, 90'000}) {
        for (const double entries : {1.0, 3.0, 5.5, 9.0, 29.0, 31.0, 80.0}) {
            for (int bits = 0; bits < 8; ++bits) {
                MatrixFacts facts;
                facts.rows = rows;
                facts.nonzeros = Offset(rows * std::min(entries, double(rows)));
                facts.symmetric = (bits & 1) != 0;
                facts.positive_diagonal = (bits & 2) != 0;
                facts.off_diagonal_share = (bits & 4) != 0 ? 2 : entries == 1 ? 0 : 0.5;
                facts.graph_dimension = rows < 20'000 ? 0 : entries < 30 ? 2.5 : 3.5;
                const auto by_rows = attempt_by_rows(facts);
                if (!by_rows) continue;
                ++compared;
                for (const Index block : {1, 2, 3, 6}) {
                    if (block > rows || Offset(block) * rows > facts.nonzeros) continue;
                    facts.rows_per_node = facts.largest_block = block;
                    facts.blocks = rows / block;
                    const double nodes = double(rows) / block;
                    for (const double along : {0.0, 10.0, 60.0, nodes}) {
                        facts.nodes_along = block > 1 && along <= nodes ? along : 0;
                        EXPECT_EQ(*by_rows, choose(facts, "auto", "auto", "auto").front())
                            << rows << " rows, " << entries << " entries per row, " << block
                            << " unknowns per node, " << along << " nodes along, bits " << bits;
                    }
                }
            }
        }
    }
    EXPECT_GT(compared, 0);
}

TEST(attempt_by_rows, is_the_first_for_real_matrices) {
    if (matrix_folder().empty()) GTEST_SKIP() << "TESSERA_TEST_MATRICES is not set";
    if (context().on_gpu()) GTEST_SKIP() << "for a CPU alone";
    int compared = 0;
    for (const auto& file : std::filesystem::directory_iterator(matrix_folder())) {
        constexpr std::uintmax_t max_bytes = 100'000;
        const std::string path = file.path();
        if (!path.ends_with(".mtx.gz") || file.file_size() > max_bytes) continue;
        SCOPED_TRACE(path);
        CsrMatrix<double> matrix;
        try {
            matrix = io::read_matrix<double>(host(), path);
        } catch (const Error&) {  // A complex one.
            continue;
        }
        if (matrix.rows() == matrix.columns() && rows_suffice(matrix)) ++compared;
    }
    EXPECT_GT(compared, 0);
}

}  // namespace tessera::test
