#include "precond/multigrid/hierarchy.hpp"

#include <numbers>

#include "support/test.hpp"

namespace tessera::test {

using namespace multigrid;

/// On every level diagonal blocks are identities, and matrices are symmetric: coarse ones exactly.
TEST(hierarchy, scaled_matrices) {
    std::vector<double> points;
    for (int node = 0; node < 10 * 11 * 11; ++node) {
        const int place[] = {node / 121 + 1, node / 11 % 11, node % 11};
        points.insert(points.end(), std::begin(place), std::end(place));
    }
    AmgOptions options;
    options.coordinates = NodeCoordinates{3, points};
    options.near_null_kind = AmgNearNull::rigid_body;
    options.coarse_rows = 100;
    const auto matrix = problems::generate<double>(host(), "elasticity3d:10").matrix;
    const Hierarchy<double> hierarchy(host(), to_bsr(host(), matrix.view(), 3, 3), options, 1e-16);
    ASSERT_GE(hierarchy.levels().size(), 3u);
    for (const Level& level : hierarchy.levels()) {
        const CsrMatrix<double> scaled = to_csr(host(), level.matrix.view());
        validate(scaled.view());
        const CsrView<double> view = scaled.view();
        const int block = level.matrix.view().height;
        for (Index i = 0; i < view.rows; ++i) {
            for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
                const Index j = view.column_indices[k];
                if (j / block != i / block) continue;
                EXPECT_EQ(view.values[k], i == j ? 1 : 0);
            }
        }
        const auto transposed = transpose(host(), view);
        EXPECT_TRUE(std::ranges::equal(view.values_span(), transposed.view().values_span()));
        EXPECT_TRUE(std::ranges::equal(view.column_indices_span(),
                                       transposed.view().column_indices_span()));
    }
}

/// A Rayleigh quotient: no smaller than the eigenvalue, but for rounding; near enough to tell
/// thousandths from millionths.
template <class C>
static void check_smallest_eigenvalue() {
    for (const int n : {30, 60, 120}) {
        AmgOptions options;
        options.coarse_rows = 100;
        const std::string text = "poisson2d:" + std::to_string(n);
        const auto matrix = copy_to(context(), problems::generate<double>(host(), text).matrix);
        const Hierarchy<C> hierarchy(context(), to_bsr(context(), matrix.view(), 1, 1), options,
                                     1e-16);
        ASSERT_GE(hierarchy.levels().size(), 2u);
        const double sine = std::sin(std::numbers::pi / (2 * (n + 1)));
        const double smallest = 2 * sine * sine;  // After scaling to a unit diagonal.
        const double found = hierarchy.cycle().smallest_eigenvalue(context());
        // The coarsest inverse is rounded; its sum with b may be a thousandth of its norm.
        const double error = 1000 * std::numeric_limits<C>::epsilon();
        EXPECT_GE(found, (1 - error) * smallest) << text;
        EXPECT_LE(found, 50 * smallest) << text;
    }
}

TEST(hierarchy, smallest_eigenvalue) {
    check_smallest_eigenvalue<double>();
    check_smallest_eigenvalue<float>();
}

}  // namespace tessera::test
