#include "precond/multigrid/setup/padding.hpp"

#include "support/test.hpp"
#include "tessera/problems.hpp"

namespace tessera::test {

using namespace multigrid;

namespace {

/// A matrix without the rows and columns of some unknowns, and the unknown of each row that is
/// left, nodes without any not counted.
struct Fixed {
    CsrMatrix<double> matrix;
    std::vector<Index> unknowns;
    Index nodes = 0;
};

/// The body is held at one end of the first axis. On the others, unknown c of a node is fixed where
/// coordinate c is the least of all nodes: planes of symmetry.
Fixed with_planes_of_symmetry(const std::string& problem) {
    const auto given = problems::generate<double>(host(), Spec(problem));
    const SharedNumbers& x = given.coordinates.values;
    const auto dimensions = std::size_t(given.coordinates.dimensions);
    std::vector<double> least(dimensions, std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < x.size(); ++i) {
        least[i % dimensions] = std::min(least[i % dimensions], x[i]);
    }
    Fixed fixed;
    std::vector<Index> row_of(x.size(), -1);
    for (std::size_t node = 0; node < x.size() / dimensions; ++node) {
        const std::size_t before = fixed.unknowns.size();
        for (std::size_t c = 0; c < dimensions; ++c) {
            const std::size_t i = node * dimensions + c;
            if (c > 0 && x[i] <= least[c] + 1e-9) continue;
            row_of[i] = Index(fixed.unknowns.size());
            fixed.unknowns.push_back(fixed.nodes * Index(dimensions) + Index(c));
        }
        if (fixed.unknowns.size() > before) ++fixed.nodes;
    }
    const CsrView<double> a = given.matrix.view();
    std::vector<std::vector<Index>> pattern(fixed.unknowns.size());
    std::vector<std::vector<double>> values(pattern.size());
    for (std::size_t i = 0; i < row_of.size(); ++i) {
        if (row_of[i] < 0) continue;
        for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
            const Index column = row_of[std::size_t(a.column_indices[k])];
            if (column < 0) continue;
            pattern[std::size_t(row_of[i])].push_back(column);
            values[std::size_t(row_of[i])].push_back(a.values[k]);
        }
    }
    const auto rows = Index(pattern.size());
    fixed.matrix = copy_to(context(), make_csr<double>(rows, rows, pattern, values));
    return fixed;
}

}  // namespace

TEST(padding, unknowns_of_nodes_on_planes_of_symmetry) {
    for (const char* problem : {"elasticity2d:12", "elasticity2d:12,poisson=0.45", "elasticity3d:7",
                                "elasticity3d:6,element=tet4,jitter=0.3",
                                "elasticity3d:6,stretch=1:1:4", "elasticity3d:6,stretch=4:1:1",
                                "elasticity3d:6,poisson=0.45", "elasticity3d:6,contrast=1e4"}) {
        SCOPED_TRACE(problem);
        const Fixed fixed = with_planes_of_symmetry(problem);
        const BlockPartition natural = find_blocks(context(), fixed.matrix, 8, Blocking::natural);
        ASSERT_EQ(natural.count, fixed.nodes);
        EXPECT_EQ(unknowns_of_rows(context(), fixed.matrix.view(), natural), fixed.unknowns);
    }
}

}  // namespace tessera::test
