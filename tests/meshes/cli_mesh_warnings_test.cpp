#include <algorithm>

#include "support/command_line.hpp"
#include "tessera/mesh.hpp"

namespace tessera::test {
namespace {

/// A structured mesh as a Gmsh file of the version 2.2; the elements with x < `border` are the
/// region "first", the others "second"; without a border there are no regions.
std::string gmsh_file(const Mesh& mesh, double border = 0) {
    const int d = mesh.dimensions;
    const std::string top = std::to_string(d) + " ";
    std::string text = "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n" +
                       std::to_string(mesh.groups.size() + 2) + "\n" + top + "1 \"first\"\n" + top +
                       "2 \"second\"\n";
    for (std::size_t g = 0; g < mesh.groups.size(); ++g) {
        text += std::to_string(mesh.groups[g].dimensions) + " " + std::to_string(g + 3) + " \"" +
                mesh.groups[g].name + "\"\n";
    }
    text += "$EndPhysicalNames\n$Nodes\n" + std::to_string(mesh.node_count()) + "\n";
    for (Index node = 0; node < mesh.node_count(); ++node) {
        text += std::to_string(node + 1);
        for (int i = 0; i < 3; ++i) {
            text += " " + std::to_string(i < d ? mesh.points[std::size_t(node * d + i)] : 0);
        }
        text += "\n";
    }
    std::vector<std::string> elements;
    const auto add = [&](const Cells& cells, auto&& tag_of) {
        constexpr const char* types[] = {"15", "1", "2",  "3",  "4",  "5",  "6",  "7",
                                         "8",  "9", "16", "10", "11", "18", "17", "12"};
        const std::size_t n = std::size_t(node_count(cells.shape));
        for (std::size_t at = 0; at < cells.nodes.size(); at += n) {
            const std::string tag = std::to_string(tag_of(cells.nodes[at]));
            std::string element = std::string(types[int(cells.shape)]) + " 2 " + tag + " " + tag;
            for (std::size_t c = 0; c < n; ++c) {
                // Gmsh has the last two nodes of a tetrahedron the other way round.
                const bool swapped = cells.shape == CellShape::tetrahedron10 && c >= 8;
                const std::size_t k = swapped ? 17 - c : c;
                element += " " + std::to_string(cells.nodes[at + k] + 1);
            }
            elements.push_back(element);
        }
    };
    for (std::size_t g = 0; g < mesh.groups.size(); ++g) {
        for (const Cells& cells : mesh.groups[g].cells) add(cells, [&](Index) { return g + 3; });
    }
    for (const Cells& cells : mesh.elements) {
        add(cells, [&](Index node) {
            return border == 0 ? 0 : mesh.points[std::size_t(node * d)] < border ? 1 : 2;
        });
    }
    text += "$EndNodes\n$Elements\n" + std::to_string(elements.size()) + "\n";
    for (std::size_t k = 0; k < elements.size(); ++k) {
        text += std::to_string(k + 1) + " " + elements[k] + "\n";
    }
    return text + "$EndElements\n";
}

/// A bar of 4 x 1 in 8 x 4 squares; from x = 1.9 on in the region "second".
class cli_mesh_warnings : public CommandLineTest {
  protected:
    void SetUp() override {
        CommandLineTest::SetUp();
        if (IsSkipped()) return;
        meshes::GridOptions options;
        options.lengths = {4, 1, 1};
        bar_ = meshes::rectangle(CellShape::quadrilateral, 8, 4, options);
        write("bar.msh", gmsh_file(bar_));
        write("two.msh", gmsh_file(bar_, 1.9));
    }

    /// The warnings of a solve that converges; none with --quiet.
    std::string warnings(const std::string& mesh, Words words) const {
        words.insert(words.begin(), {mesh, "--fix", "left"});
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        words.emplace_back("--quiet");
        EXPECT_EQ(solve(words).err, "");
        const std::string text = outcome.err;
        const std::size_t coarse = text.find("tessera: the mesh is coarse: ");
        return text.substr(0, coarse);  // The last one; meshes of tests are coarse.
    }

    std::string error_message(Words words) const {
        words.insert(words.begin(), {"two.msh", "--fix", "left", "--load", "right=1,0"});
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        return outcome.err;
    }

    Mesh bar_;
};

TEST_F(cli_mesh_warnings, loads_that_fixed_nodes_take) {
    EXPECT_EQ(warnings("bar.msh", {"--load", "right=0,-1"}), "");
    const std::string all = warnings("bar.msh", {"--load", "left=3,0"});
    expect_contains(all, "the load on 'left', the force (3, 0), acts only on displacements that");
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 1) << all;
    // The corner carries half of one of 8 edges.
    expect_contains(warnings("bar.msh", {"--traction", "bottom=0,-2"}),
                    "6.25 % of the load on 'bottom', the force (0, -0.5), acts on displacements");
    EXPECT_EQ(warnings("bar.msh", {"--body-force", "0,-1"}), "");
}

TEST_F(cli_mesh_warnings, loads_that_are_zero) {
    const Words load = {"--load", "right=0,-1"};
    const auto with_load = [&](Words words) {
        words.insert(words.end(), load.begin(), load.end());
        return warnings("bar.msh", words);
    };
    expect_contains(with_load({"--load", "top=0,0"}), "the load on 'top' is zero");
    expect_contains(with_load({"--traction", "top=0,0"}), "the load on 'top' is zero");
    expect_contains(with_load({"--body-force", "0,0"}), "body force is zero");
    expect_contains(with_load({"--gravity", "0,0", "--density", "2"}), "gravity and spin are zero");
    expect_contains(with_load({"--spin", "0,0,0", "--density", "2"}), "gravity and spin are zero");
    expect_contains(with_load({"--load", "right=0,1"}), "the loads are zero or cancel each other");
}

TEST_F(cli_mesh_warnings, materials_of_some_regions_only) {
    expect_contains(error_message({"--young", "second=40"}),
                    "--young is given for some regions, but not for first; add --young first=E, or "
                    "--young E for all other regions");
    expect_contains(error_message({"--young", "2", "--poisson", "first=0.2"}),
                    "add --poisson second=NU, or --poisson NU for all other regions");
    expect_contains(error_message({"--young", "=2"}), "write --young NUMBER or");
    expect_contains(error_message({"--young", "scond=40"}),
                    "no region 'scond'; did you mean 'second'? It has first, second");
    for (const Words& complete : {Words{"--young", "first=1", "--young", "second=2"},
                                  Words{"--young", "1", "--young", "second=2"}, Words{}}) {
        Words words = {"--load", "right=1,0"};
        words.insert(words.end(), complete.begin(), complete.end());
        EXPECT_EQ(warnings("two.msh", words), "");
    }
}

/// Nodes "x y z", elements "type group nodes"; the groups are curves "left" and "right" and
/// surfaces "first" and "second".
std::string small_mesh(const std::vector<std::string>& nodes,
                       const std::vector<std::string>& elements) {
    std::string text =
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n4\n1 1 \"left\"\n1 2 "
        "\"right\"\n2 3 \"first\"\n2 4 \"second\"\n$EndPhysicalNames\n$Nodes\n" +
        std::to_string(nodes.size()) + "\n";
    for (std::size_t k = 0; k < nodes.size(); ++k) {
        text += std::to_string(k + 1) + " " + nodes[k] + "\n";
    }
    text += "$EndNodes\n$Elements\n" + std::to_string(elements.size()) + "\n";
    for (std::size_t k = 0; k < elements.size(); ++k) {
        text += std::to_string(k + 1) + " " + elements[k] + "\n";
    }
    return text + "$EndElements\n";
}

TEST_F(cli_mesh_warnings, parts_that_hang_together_by_a_node) {
    write("hinge.msh", small_mesh({"0 0 0", "1 0 0", "1 1 0", "0 1 0", "2 1 0", "2 2 0", "1 2 0"},
                                  {"1 1 1 1 4", "1 1 2 5 6", "3 1 3 1 2 3 4", "3 1 3 3 5 6 7"}));
    // The second load points to the hinge and moves nothing.
    for (const char* load : {"right=0,-1", "right=1,1"}) {
        const Outcome outcome = solve({"hinge.msh", "--fix", "left", "--load", load});
        EXPECT_EQ(outcome.code, 2);
        expect_contains(outcome.err,
                        "parts of 'hinge.msh' hang together only by the node 2 at (1, 1) (counted "
                        "from 0) and can move against each other there: a mechanism; join them by "
                        "common edges of elements, support each of them by --fix");
    }
    EXPECT_EQ(solve({"hinge.msh", "--fix", "left", "--fix", "right", "--body-force", "0,-1"}).code,
              0);
}

TEST_F(cli_mesh_warnings, elements_far_thinner_than_long) {
    const auto mesh = [](const char* y) {
        return small_mesh({"0 0 0", "1 0 0", "1 1 0", "0 1 0", std::string("0.5 ") + y + " 0"},
                          {"1 1 1 1 4", "1 1 2 2 3", "3 1 3 1 2 3 4", "2 1 3 1 5 2"});
    };
    write("thin.msh", mesh("-1e-9"));
    expect_contains(warnings("thin.msh", {"--load", "right=1,0"}),
                    "is only 1.0e-09 times as thick as long");
    write("thin.msh", mesh("-1e-6"));
    const std::string others = warnings("thin.msh", {"--load", "right=1,0"});
    EXPECT_EQ(others.find("as thick as long"), std::string::npos) << others;
}

TEST_F(cli_mesh_warnings, materials_of_elements_in_two_groups) {
    write("both.msh", small_mesh({"0 0 0", "1 0 0", "2 0 0", "2 1 0", "1 1 0", "0 1 0"},
                                 {"1 1 1 1 6", "1 1 2 3 4", "3 1 3 1 2 5 6", "3 1 3 2 3 4 5",
                                  "3 1 4 2 3 4 5"}));
    const auto largest = [&](Words words) {
        words.insert(words.begin(), {"both.msh", "--fix", "left", "--load", "right=1,0"});
        return double(solve_json(words)["structure"]["largest_displacement"]);
    };
    EXPECT_EQ(largest({"--young", "first=2"}), largest({"--young", "2"}));
    EXPECT_EQ(largest({"--young", "first=2", "--young", "second=2"}), largest({"--young", "2"}));
    EXPECT_LT(largest({"--young", "2", "--young", "second=8"}), largest({"--young", "2"}));
    const auto error = [&](Words words) {
        words.insert(words.begin(), {"both.msh", "--fix", "left", "--load", "right=1,0"});
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 2);
        return outcome.err;
    };
    expect_contains(error({"--young", "second=2"}), "but not for first");
    expect_contains(error({"--young", "first=2", "--young", "second=8"}),
                    "is in the groups 'first' and 'second', which have different materials");
    expect_contains(run({"info", "both.msh"}).out, "second: elements, 1 quadrilateral");
}

TEST_F(cli_mesh_warnings, defaults_are_said) {
    const auto defaults = [&](Words words) {
        words.insert(words.begin(), {"two.msh", "--fix", "left", "--load", "right=1,0"});
        return solve_json(words)["structure"]["defaults"];
    };
    EXPECT_EQ(defaults({}), (Json{{"young", 1}, {"poisson", 0.3}, {"thickness", 1}}));
    EXPECT_EQ(defaults({"--young", "3", "--thickness", "1"}), (Json{{"poisson", 0.3}}));
    expect_contains(solve({"bar.msh", "--fix", "left", "--load", "right=1,0"}).out,
                    "  defaults        --young 1, --poisson 0.3, --thickness 1\n");
}

TEST_F(cli_mesh_warnings, results_of_any_magnitude) {
    const auto structure = [&](const std::string& load) {
        return solve_json({"bar.msh", "--fix", "left", "--load", load})["structure"];
    };
    for (const char* key : {"largest_displacement", "largest_von_mises"}) {
        const double usual = structure("right=2,-1")[key];
        for (const std::string power : {"e200", "e-200"}) {
            const double scaled = structure("right=2" + power + ",-1" + power)[key];
            EXPECT_NEAR(scaled / std::stod("1" + power), usual, 1e-6 * usual) << key << power;
        }
    }
}

TEST_F(cli_mesh_warnings, error_of_any_magnitude) {
    write("far.mtx", "%%MatrixMarket matrix array real general\n2 1\n1e200\n1e200\n");
    write("one.mtx",
          "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1e-200\n2 2 1e-200\n");
    const Outcome outcome = solve({"one.mtx", "--rhs", "solution:ones", "--x0", "far.mtx",
                                   "--max-iterations", "0", "--json", "-"});
    EXPECT_EQ(outcome.code, 3) << outcome.err;
    EXPECT_NEAR(Json::parse(outcome.out)["forward_error"].get<double>(), 1e200, 1e188);
}

TEST_F(cli_mesh_warnings, a_right_hand_side_replaces_all_loads) {
    expect_contains(
        solve({"bar.msh", "--fix", "left", "--fix", "right=0.1,free", "--rhs", "ones"}).err,
        "--rhs replaces the loads, --fix right=0.1,free among them");
    const Words moved = {"bar.msh", "--fix", "left", "--fix", "right=0.1,free"};
    Words named = moved;
    named.insert(named.end(), {"--rhs", "load"});
    EXPECT_EQ(solve_json(named)["structure"], solve_json(moved)["structure"]);
    expect_contains(solve({"bar.msh", "--fix", "left", "--rhs", "load"}).err, "no load acts");
}

TEST_F(cli_mesh_warnings, elements_that_lock) {
    const auto box = [&](CellShape shape, Index layers, double border) {
        write("box.msh", gmsh_file(meshes::box(shape, 6, layers, 4), border));
    };
    for (const CellShape shape : {CellShape::tetrahedron, CellShape::hexahedron}) {
        SCOPED_TRACE(to_string(shape));
        const Words load = {"--load", "right=0,-1,0", "--formulation", "full"};
        box(shape, 1, 0);
        const std::string thin = warnings("box.msh", load);
        expect_contains(thin, "the mesh is mostly one element thick");
        EXPECT_EQ(std::count(thin.begin(), thin.end(), '\n'), 1) << thin;
        box(shape, 1, 0.45);
        expect_contains(warnings("box.msh", load), "regions 'first', 'second' are mostly one");
        box(shape, 2, 0.45);
        EXPECT_EQ(warnings("box.msh", load), "");
        Words nearly = load;
        nearly.insert(nearly.end(), {"--poisson", "first=0.49", "--poisson", "second=0.4"});
        const std::string soft = warnings("box.msh", nearly);
        expect_contains(soft, "region 'first' is nearly incompressible");
        EXPECT_EQ(std::count(soft.begin(), soft.end(), '\n'), 1) << soft;
    }
    // With incompatible modes, of the first order, or of the second order.
    box(CellShape::hexahedron, 1, 0);
    EXPECT_EQ(warnings("box.msh", {"--load", "right=0,-1,0", "--poisson", "0.49"}), "");
    const Mesh raised = meshes::second_order(meshes::box(CellShape::tetrahedron, 6, 1, 4));
    write("box.msh", gmsh_file(raised));
    EXPECT_EQ(warnings("box.msh", {"--load", "right=0,-1,0", "--poisson", "0.49"}), "");
    Words soft = {"--load", "right=1,0", "--poisson", "0.499"};
    EXPECT_EQ(warnings("bar.msh", soft), "");
    for (const char* kind : {"strain", "axisymmetric"}) {
        Words full = soft;
        full.insert(full.end(), {"--plane", kind, "--formulation", "full"});
        expect_contains(warnings("bar.msh", full), "nearly incompressible");
    }
    expect_contains(
        solve({"box.msh", "--fix", "left", "--load", "right=1,0,0", "--plane", "strain"}).err,
        "--plane is for plane meshes; this one is solid");
    expect_contains(run({"info", "box.msh"}).out, "144 tetrahedrons with 10 nodes");
    const Mesh plane = meshes::rectangle(CellShape::quadrilateral, 6, 2);
    write("plane.msh", gmsh_file(meshes::second_order(plane)));
    Words strain = {"--load", "right=0,-1", "--plane", "strain", "--poisson", "0.49"};
    EXPECT_EQ(warnings("plane.msh", strain), "");
    strain.back() = "0.499";
    expect_contains(warnings("plane.msh", strain),
                    "the stresses of its quadrilaterals of second order may be wrong");
    strain[3] = "stress";
    EXPECT_EQ(warnings("plane.msh", strain), "");
}

/// A slender strip is much softer in bending than its elements, so that rounding them spoils it.
TEST_F(cli_mesh_warnings, rounding_to_f32) {
    const auto warning = [&](double length, const char* precision) {
        meshes::GridOptions options;
        options.lengths = {length, 1, 1};
        const Mesh mesh =
            meshes::rectangle(CellShape::quadrilateral, Index(4 * length), 4, options);
        write("strip.msh", gmsh_file(mesh, length));
        return solve(
                   {"strip.msh", "--fix", "left", "--precision", precision, "--load", "right=0,-1"})
            .err;
    };
    const std::string text = "rounded to 32 bits this structure is another one";
    expect_contains(warning(20, "f32"), text);
    EXPECT_EQ(warning(20, "f64").find(text), std::string::npos);
    EXPECT_EQ(warning(2, "f32").find(text), std::string::npos);
}

}  // namespace
}  // namespace tessera::test
