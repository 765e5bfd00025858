#include "support/bar_mesh.hpp"

namespace tessera::test {
namespace {

class cli_mesh_system : public BarTest {};

TEST_F(cli_mesh_system, info_lists_elements_and_groups) {
    const Outcome table = run({"info", "bar.msh"});
    EXPECT_EQ(table.code, 0) << table.err;
    expect_contains(table.out,
                    "bar.msh\n"
                    "  format           Gmsh mesh, plane\n"
                    "  nodes            27\n"
                    "  elements         16 quadrilaterals\n"
                    "  x                0 .. 4\n"
                    "  y                0 .. 1\n"
                    "  regions          soft: 8 elements\n"
                    "                   stiff: 8 elements\n"
                    "  groups           tip: points, 1 point\n"
                    "                   left: edges, 2 segments\n"
                    "                   right: edges, 2 segments\n"
                    "                   bottom: edges, 8 segments\n"
                    "\n"
                    "Try: tessera solve bar.msh --fix left --load bottom=0,-1 --vtu out.vtu\n");
    const Json json = Json::parse(run({"info", "bar.msh", "--json", "-"}).out);
    EXPECT_EQ(json["schema"], "tessera-mesh-info/1");
    EXPECT_EQ(json["nodes"], 27);
    EXPECT_EQ(json["elements"]["quadrilateral"], 16);
    EXPECT_EQ(json["regions"][1]["name"], "stiff");
    EXPECT_EQ(json["groups"][3]["cells"], 8);
}

TEST_F(cli_mesh_system, info_says_what_options_mean) {
    const std::string all = run({"info", "bar.msh", "--fix", "left=0,free", "--fix",
                                 "bottom=normal", "--load", "right=3,0", "--young", "2"})
                                .out;
    for (const char* part : {"fixed            x of 'left'\n", "fixed            y of 'bottom'\n",
                             "load             (3, 0) on 'right'\n",
                             "default          --poisson 0.3\n", "unknowns         42, "}) {
        expect_contains(all, part);
    }
    const std::string loose = run({"info", "bar.msh", "--fix", "left=0.5,free"}).out;
    expect_contains(loose, "x = 0.5 of 'left'");
    expect_contains(loose, "singular         the fixed supports of 'bar.msh' allow it");
    EXPECT_EQ(run({"info", "bar.msh", "--fix", "lft"}).code, 2);
    expect_contains(run({"info", "poisson2d:4", "--fix", "left"}).err, "--fix is for meshes");
}

TEST_F(cli_mesh_system, the_system_of_a_mesh_is_written) {
    const Words model = {"--fix",  "left=0,free", "--fix",   "bottom=free,0",
                         "--load", "right=3, 0",  "--young", "200"};
    Words words = {"convert", "bar.msh", "k.mtx", "--rhs", "f.mtx"};
    words.insert(words.end(), model.begin(), model.end());
    const Outcome outcome = run(words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    ASSERT_EQ(solve({"k.mtx", "f.mtx", "--rtol", "1e-12", "--out", "x.mtx"}).code, 0);
    words = {"bar.msh", "--rtol", "1e-12", "--out", "y.mtx"};
    words.insert(words.end(), model.begin(), model.end());
    ASSERT_EQ(solve(words).code, 0);
    const auto x = io::read_vector<double>(host(), path("x.mtx"));
    const auto y = io::read_vector<double>(host(), path("y.mtx"));
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k) EXPECT_NEAR(x[k], y[k], accuracy) << k;

    const Outcome free = run({"convert", "bar.msh", "k.mtx"});  // The stiffness of a free body.
    EXPECT_EQ(free.code, 0);
    expect_contains(free.err, "the matrix is singular: 'bar.msh' has no fixed support");
    expect_contains(run({"convert", "bar.msh", "k.mtx", "--fix", "left", "--rhs", "f.mtx"}).err,
                    "no load acts on the structure");
    expect_contains(run({"convert", "poisson2d:4", "k.mtx", "--fix", "left"}).err,
                    "--fix is for meshes");
    expect_contains(run({"convert", "bar.msh", "k.mtx", "--section", "left"}).err,
                    "convert --section has no effect");
    expect_contains(run({"convert", "bar.msh", "k.mtx", "--rhs", "k.mtx"}).err,
                    "convert and --rhs name the same file");
}

/// Coordinates in a file beside the matrix give multigrid the rigid motions.
TEST_F(cli_mesh_system, the_coordinates_of_rows_are_written) {
    ASSERT_EQ(run({"convert", "bar.msh", "k.mtx", "--fix", "left", "--coordinates", "at.mtx"}).code,
              0);
    const auto values = io::read_vectors<double>(host(), path("at.mtx"), 24);
    ASSERT_EQ(values.size(), 48u);
    EXPECT_EQ(*std::min_element(values.begin(), values.begin() + 24), 0.5);  // Left is fixed.
    EXPECT_EQ(*std::max_element(values.begin() + 24, values.end()), 1);
    const Outcome solved = solve({"k.mtx", "--precond", "amg,coordinates=at.mtx", "--rhs", "ones"});
    EXPECT_EQ(solved.code, 0) << solved.err;
    expect_contains(solved.out, "near-null space rigid_body");
    expect_contains(run({"convert", "k.mtx", "m.mtx", "--coordinates", "at2.mtx"}).err,
                    "--coordinates: 'k.mtx' has no nodes");
    expect_contains(run({"convert", "bar.msh", "k.mtx", "--coordinates", "k.mtx"}).err,
                    "convert and --coordinates name the same file");
}

/// Right-hand sides from a file have results each, as load cases have.
TEST_F(cli_mesh_system, several_right_hand_sides) {
    const Words cases = {"--fix",     "left",   "--case", "pull",   "--load",
                         "right=3,0", "--case", "lift",   "--load", "right=0,1"};
    Words words = {"convert", "bar.msh", "k.mtx", "--rhs", "f.mtx"};
    words.insert(words.end(), cases.begin(), cases.end());
    ASSERT_EQ(run(words).code, 0);
    const Json expected = structure(cases)["cases"];
    const Json found = structure({"--fix", "left", "--rhs", "f.mtx", "--vtu", "two.vtu"})["cases"];
    ASSERT_EQ(found.size(), 2U);
    for (std::size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(found[k]["name"], std::to_string(k + 1));
        EXPECT_EQ(found[k]["points"], expected[k]["points"]);
        expect_contains(text_of(path("two.vtu")), "Name=\"von_mises_" + std::to_string(k + 1));
    }
}

}  // namespace
}  // namespace tessera::test
