#include "support/bar_mesh.hpp"

namespace tessera::test {
namespace {

class cli_mesh_equations : public BarTest {
  protected:
    Json constraints(const Words& words) const { return structure(words)["constraints"]; }
};

/// The bar of 4 x 1, E = 1, pulled by 3 off its middle.
TEST_F(cli_mesh_equations, ends_that_stay_plane_or_rigid) {
    const Words pulled = {"--fix", "left=0,free", "--fix", "bottom=free,0", "--poisson", "0"};
    const auto longest = [&](Words words, const char* load) {
        words.insert(words.end(), pulled.begin(), pulled.end());
        words.insert(words.end(), {"--load", load});
        return structure(words)["largest_displacement"].get<double>();
    };
    // The end moves as a whole, wherever the force acts; its moment is that of the coupling.
    EXPECT_NEAR(longest({"--couple", "right=x"}, "tip=3,0"), 12, 12 * accuracy);
    const Json sum = constraints({"--couple", "right=x", "--load", "tip=3,0", "--fix",
                                  "left=0,free", "--fix", "bottom=free,0", "--poisson", "0"});
    ASSERT_EQ(sum.size(), 1U);
    EXPECT_EQ(sum[0]["name"], "couple right");
    EXPECT_NEAR(sum[0]["force"][0].get<double>(), 0, 10 * accuracy);
    EXPECT_NEAR(sum[0]["moment"].get<double>(), 1.5, 10 * accuracy);
    EXPECT_NEAR(longest({"--couple", "right=plane"}, "right=3,0"), 12, 12 * accuracy);
    EXPECT_NEAR(longest({"--rigid", "right"}, "right=3,0"), 12, 12 * accuracy);
    // Held on the left alone, the rigid end turns by M L / (E I), and moves up or down by half that
    // times the length.
    const Words bent = {"bar.msh",   "--rtol",  "1e-12", "--fix",     "left", "--load",
                        "tip=0.1,0", "--rigid", "right", "--poisson", "0"};
    const Outcome outcome = solve(bent);
    expect_contains(outcome.out, " of rigid right\n");
    expect_contains(outcome.out, "displacement    (1.6, -4.8) of tip\n");
}

TEST_F(cli_mesh_equations, equations_of_points) {
    // The tip moves down as node 24, at the lower corner, moves to the right, less 0.1.
    const Words words = {"--load",  "right=3,0", "--equation", "2 tip.y + 4*24.x = -0.2",
                         "--young", "30"};
    const Json sum = constraints(with_rollers(words));
    ASSERT_EQ(sum.size(), 1U);
    EXPECT_EQ(sum[0]["name"], "2 tip.y + 4*24.x = -0.2");
    write("pair.txt", "# Twice the same\n2 tip.y + 4*24.x = -0.2\n\n- tip.y - 2 24.x = 0.1\n");
    Words by_file = words;
    by_file[3] = "pair.txt";
    const Json from_file = structure(with_rollers(by_file));
    EXPECT_EQ(from_file["constraints"][0]["name"], "equations of pair.txt");
    EXPECT_EQ(from_file["points"], structure(with_rollers(words))["points"]);
    EXPECT_NEAR(from_file["constraints"][0]["force"][0].get<double>(),
                sum[0]["force"][0].get<double>(), 1e-6);
    // A value alone loads the structure.
    const Json moved = structure(
        with_rollers({"--equation", "tip.x = 0.4", "--poisson", "0", "--couple", "right=x"}));
    EXPECT_NEAR(moved["largest_displacement"].get<double>(), 0.4, accuracy);
}

TEST_F(cli_mesh_equations, cases_and_info) {
    const Json body = structure(with_rollers({"--rigid", "right", "--case", "pull", "--load",
                                              "tip=3,0", "--case", "lift", "--load", "tip=0,1"}));
    for (const Json& each : body["cases"]) {
        const Json& sum = each["constraints"][0];
        EXPECT_NEAR(sum["force"][0].get<double>(), 0, 1e-6);
        EXPECT_NEAR(sum["moment"].get<double>(), 0, 1e-6);
    }
    const Outcome outcome = run({"info", "bar.msh", "--fix", "left", "--rigid", "right", "--couple",
                                 "bottom=y", "--equation", "tip.x - 24.x = 0"});
    expect_contains(outcome.out, "  rigid            'right'\n");
    expect_contains(outcome.out, "  couple           bottom=y\n");
    expect_contains(outcome.out, "  equation         tip.x - 24.x = 0\n");
}

/// Two bars with meshes of their own, the second one behind the first one.
TEST_F(cli_mesh_equations, ties_join_parts) {
    const std::string both =
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n5\n1 1 \"left\"\n1 2 \"end\"\n"
        "1 3 \"start\"\n1 4 \"right\"\n2 5 \"all\"\n$EndPhysicalNames\n$Nodes\n10\n"
        "1 0 0 0\n2 0 1 0\n3 1 0 0\n4 1 1 0\n"
        "5 1 0 0\n6 1 0.4 0\n7 1 1 0\n8 2 0 0\n9 2 0.4 0\n10 2 1 0\n$EndNodes\n$Elements\n9\n"
        "1 1 2 1 1 2 1\n2 1 2 2 2 3 4\n3 1 2 3 3 6 5\n4 1 2 3 3 7 6\n5 1 2 4 4 8 9\n"
        "6 1 2 4 4 9 10\n7 3 2 5 5 1 3 4 2\n8 3 2 5 5 5 8 9 6\n9 3 2 5 5 6 9 10 7\n$EndElements\n";
    write("bar.msh", both);
    const Words words = {"bar.msh", "--fix", "left", "--load", "right=3,0", "--poisson", "0"};
    expect_contains(error_message(words), "or a part that is not connected to the rest");
    Words tied = words;
    tied.erase(tied.begin());
    tied.insert(tied.end(), {"--tie", "start=end"});
    EXPECT_NEAR(structure(tied)["largest_displacement"].get<double>(), 6, 6 * accuracy);
    tied.back() = "right=end";
    tied.insert(tied.begin(), "bar.msh");
    expect_contains(error_message(tied), "of 'right' is farther from 'end' than a tenth");
}

TEST_F(cli_mesh_equations, wrong_options) {
    const auto error = [&](Words more) {
        more.insert(more.begin(), {"bar.msh", "--fix", "left", "--load", "right=1,0"});
        return error_message(more);
    };
    expect_contains(error({"--rigid", "lid"}), "no group 'lid'");
    expect_contains(error({"--rigid", "tip"}), "group 'tip' has one node");
    expect_contains(error({"--couple", "right"}), "write --couple GROUP=x");
    expect_contains(error({"--couple", "right=r"}), "write --couple GROUP=x");
    expect_contains(error({"--couple", "right=x,z"}), "the mesh is plane, without z");
    expect_contains(error({"--tie", "right"}), "write --tie GROUP=GROUP");
    expect_contains(error({"--equation", "tip.x"}), "it has no '=' and is no file");
    expect_contains(error({"--equation", "tip = 0"}),
                    "'tip' is neither a number nor such as pin.x");
    expect_contains(error({"--equation", "2 - = 0"}),
                    "'-' follows a sign or a number that has no displacement");
    expect_contains(error({"--equation", "2 = 0"}), "ends without a displacement");
    expect_contains(error({"--equation", "right.x = 0"}), "group 'right' is not one point");
    expect_contains(error({"--equation", "lid.x = 0"}), "no group 'lid'");
    expect_contains(error({"--equation", "99.x = 0"}), "names node 99");
    expect_contains(error({"--equation", "tip.x = much"}), "the right side 'much' is ");
    expect_contains(error({"--equation", "tip.z = 0"}), "names axis z; the mesh has 2 dimensions");
    expect_contains(error({"--equation", "0.x = 1"}),
                    "the equation '0.x = 1' of node 0 at (0, 0) contradicts supports");
}

}  // namespace
}  // namespace tessera::test
