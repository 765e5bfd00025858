#include <cmath>
#include <numbers>

#include "support/bar_mesh.hpp"

namespace tessera::test {
namespace {

class cli_mesh : public BarTest {};

TEST_F(cli_mesh, a_bar_under_tension) {
    // stress = force / (height thickness), strain = stress / E, contraction nu strain.
    const double stress = 3 / 0.5, strain = stress / 200;
    const double longest = std::hypot(4 * strain, 0.25 * strain);
    const Words material = {"--young", "200", "--poisson", "0.25", "--thickness", "0.5"};
    for (const char* load : {"--load=right=3,0", "--traction=right=6,0"}) {
        Words words = with_rollers(material);
        words.emplace_back(load);
        const Json body = structure(words);
        EXPECT_EQ(body["nodes"], 27);
        EXPECT_EQ(body["elements"], 16);
        EXPECT_NEAR(body["largest_von_mises"].get<double>(), stress, accuracy * stress) << load;
        EXPECT_NEAR(body["largest_displacement"].get<double>(), longest, accuracy * longest);
    }
}

TEST_F(cli_mesh, materials_by_region) {
    // Two halves in a row, without contraction: 2 stress (1 / 10 + 1 / 40).
    const Json body = structure(with_rollers(
        {"--load", "right=3,0", "--young", "10", "--young", "stiff=40", "--poisson", "0"}));
    EXPECT_NEAR(body["largest_displacement"].get<double>(), 0.75, accuracy);
    // A region's own values take precedence, its other values are those of all regions.
    EXPECT_EQ(body, structure(with_rollers({"--load", "right=3,0", "--young", "stiff=40",
                                            "--poisson", "0", "--young", "10"})));
}

TEST_F(cli_mesh, prescribed_displacements) {
    const Json body =
        structure(with_rollers({"--fix", "right=0.1,free", "--young", "80", "--poisson", "0"}));
    EXPECT_NEAR(body["largest_displacement"].get<double>(), 0.1, accuracy);
    EXPECT_NEAR(body["largest_von_mises"].get<double>(), 80 * 0.1 / 4, accuracy);
}

/// The bar of 4 x 1 and the thickness 0.5; the sums that supports carry.
TEST_F(cli_mesh, pressure_weight_and_reactions) {
    const auto force = [](const Json& body, const char* group) {
        for (const Json& reaction : body["reactions"]) {
            if (reaction["group"] == group) return reaction["force"];
        }
        return Json();
    };
    const auto expect = [](const Json& vector, const std::vector<double>& expected) {
        ASSERT_EQ(vector.size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(vector[i].get<double>(), expected[i], 100 * accuracy) << i;
        }
    };
    const Words thin = {"--thickness", "0.5"};
    Words words = with_rollers(thin);
    words.insert(words.end(), {"--pressure", "right=6"});
    Json body = structure(words);
    expect(body["loads"], {-3, 0});
    expect(force(body, "left"), {3, 0});
    EXPECT_NEAR(body["largest_von_mises"].get<double>(), 6, 100 * accuracy);
    // Half the work of the force 3, over the length 4 in two materials of E = 1.
    EXPECT_NEAR(body["strain_energy"].get<double>(), 3 * 6 * 4 / 2, 1000 * accuracy);
    EXPECT_LT(body["error_estimate"].get<double>(), 1e-7);
    expect(body["largest_displacement_at"], {4, 1});
    EXPECT_EQ(body["points"][0]["group"], "tip");
    expect(body["points"][0]["displacement"], {-24, 1.8});

    words = with_rollers(thin);
    words.insert(words.end(), {"--gravity", "0,-10", "--density", "2", "--density", "stiff=3"});
    body = structure(words);
    expect(body["loads"], {0, -10 * (2 + 3)});
    expect(force(body, "bottom"), {0, 50});

    words = with_rollers(thin);
    words.insert(words.end(), {"--rhs", "ones"});
    EXPECT_FALSE(structure(words).contains("reactions"));  // Other loads than those of the mesh.

    const auto error = [&](Words more) {
        more.insert(more.begin(), {"bar.msh", "--fix", "left"});
        return error_message(more);
    };
    expect_contains(error({"--gravity", "0,-10"}), "--gravity and --spin need --density");
    expect_contains(error({"--load", "right=1,0", "--density", "2"}),
                    "--density has no effect without --gravity");
    expect_contains(error({"--gravity", "0,-10", "--density", "stif=2"}), "did you mean 'stiff'");
    expect_contains(error({"--gravity", "0,-10", "--density", "-2"}), "the density -2 is negative");
    expect_contains(error({"--gravity", "0,-10,0", "--density", "2"}), "has 3 components");
    expect_contains(error({"--pressure", "6"}), "write --pressure GROUP=NUMBER");
    expect_contains(error({"--pressure", "=6"}), "write --pressure GROUP=NUMBER");
    expect_contains(error({"--pressure", "lid=6"}), "no group 'lid'");
    expect_contains(solve({"bar.msh", "--fix", "left", "--load", "right=1,2"}).out,
                    "  loads           force (1, 2), moment 7.5\n"
                    "  reactions       force (-1, -2), moment -7.5 on left\n");
}

TEST_F(cli_mesh, plane_strain_and_axisymmetry) {
    const double nu = 0.25, pull = 6;
    const Words material = {"--young", "200", "--poisson", "0.25"};
    Words words = with_rollers(material);
    words.insert(words.end(), {"--plane", "strain", "--thickness", "0.5", "--load", "right=3,0"});
    Json body = structure(words);
    EXPECT_EQ(body["plane"], "strain");
    EXPECT_NEAR(body["largest_von_mises"].get<double>(), pull * std::sqrt(1 - nu + nu * nu),
                pull * accuracy);
    const double longest = std::hypot(4 * (1 - nu * nu), nu * (1 + nu)) * pull / 200;
    EXPECT_NEAR(body["largest_displacement"].get<double>(), longest, accuracy * longest);

    // A solid cylinder of radius 4, pulled on its mantle; "left" is the axis.
    words = material;
    words.insert(words.end(), {"--plane", "axisymmetric", "--fix", "bottom=free,0", "--load",
                               "right=300,0", "--vtu", "round.vtu"});
    body = structure(words);
    const double stress = 300 / (8 * std::numbers::pi);
    EXPECT_EQ(body["plane"], "axisymmetric");
    EXPECT_NEAR(body["largest_von_mises"].get<double>(), stress, stress * accuracy);
    const double grown = std::hypot(4 * (1 - nu), 2 * nu) * stress / 200;
    EXPECT_NEAR(body["largest_displacement"].get<double>(), grown, accuracy * grown);
    EXPECT_NEAR(body["loads"][0].get<double>(), 300, 300 * accuracy);
    EXPECT_FALSE(body["defaults"].contains("thickness"));
    expect_contains(text_of(path("round.vtu")),
                    "Name=\"stress\" NumberOfComponents=\"6\" ComponentName0=\"xx\" "
                    "ComponentName1=\"yy\" ComponentName2=\"zz\" ComponentName3=\"xy\" "
                    "ComponentName4=\"yz\" ComponentName5=\"xz\"");
    words.insert(words.begin(), "bar.msh");
    expect_contains(solve(words).out, "27 nodes, 16 elements, axisymmetric\n");

    const auto error = [&](Words more) {
        more.insert(more.begin(), {"bar.msh", "--fix", "left", "--load", "right=1,0"});
        return error_message(more);
    };
    expect_contains(error({"--plane", "axisymmetric", "--thickness", "2"}),
                    "an axisymmetric body extends over the full circle");
    expect_contains(error({"--plane", "axisymmetric", "--gravity", "-9.81,0", "--density", "1"}),
                    "the gravity along the radius x must be 0, not -9.81");
    expect_contains(error({"--plane", "axisymmetric", "--fix", "left=0.1,0"}),
                    "off the axis by 0.1");
    expect_contains(error({"--plane", "bending"}), "--plane");
    expect_contains(error({"--plane", "axisymmetric", "--fix", "left=0,free"}),
                    "to move along the axis; add --fix");
}

/// The surfaces of the bar as sections: what acts there.
TEST_F(cli_mesh, sections) {
    Words words = {"bar.msh",   "--fix", "left",      "--load", "right=6,-3",
                   "--section", "right", "--section", "left"};
    expect_contains(solve(words).out, "about (0, 0.5), of what lies ahead along (1, 0) of left\n");
    words.erase(words.begin());
    const Json sections = structure(words)["sections"];
    ASSERT_EQ(sections.size(), 2u);
    EXPECT_EQ(sections[1]["group"], "left");
    EXPECT_EQ(sections[1]["normal"], Json({1., 0.}));
    for (const Json& section : sections) {
        EXPECT_NEAR(section["force"][0].get<double>(), 6, 6 * accuracy);
        EXPECT_NEAR(section["force"][1].get<double>(), -3, 6 * accuracy);
    }
    EXPECT_NEAR(sections[0]["moment"].get<double>(), 0, 6 * accuracy);
    EXPECT_NEAR(sections[1]["moment"].get<double>(), -12, 12 * accuracy);
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--load", "right=1,0", "--section", "tip"}),
        "a section needs edges; group 'tip' has none");
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--load", "right=1,0", "--section", "soft"}),
        "'soft' is a region of elements, not a group of points, edges; the groups are tip, left");
}

/// Half the bar of wood along x, half of an isotropic material; pulled by the stress 6.
TEST_F(cli_mesh, orthotropic_materials) {
    const std::string wood = "12,1,0.6,0.4,0.5,0.3,0.8,0.06,0.7";
    const auto longest = [&](Words words) {
        words.insert(words.end(), {"--load", "right=6,0", "--poisson", "0"});
        words = with_rollers(words);
        return structure(words)["largest_displacement"].get<double>();
    };
    const auto expect = [&](const Words& words, double x, double y) {
        EXPECT_NEAR(longest(words), std::hypot(x, y), accuracy * std::hypot(x, y));
    };
    // 4 long and 1 high.
    expect({"--orthotropic", wood}, 6 * 4 / 12., 6 * 0.4 / 12);
    expect({"--orthotropic", wood, "--axes", "0,1"}, 6 * 4 / 1., 6 * 0.4 / 12);
    expect({"--orthotropic", wood, "--axes", "0,1,0,0,0,1"}, 6 * 4 / 0.6, 6 * 0.3 / 12);
    // A region of its own, and directions of one region.
    const double both = longest({"--orthotropic", "stiff=" + wood, "--young", "soft=3"});
    EXPECT_NEAR(both, longest({"--orthotropic", "stiff=" + wood, "--young", "3"}), accuracy);
    EXPECT_NEAR(both, longest({"--orthotropic", wood, "--young", "soft=3"}), accuracy);
    // But for the strains where both halves meet.
    EXPECT_NEAR(longest({"--orthotropic", wood, "--axes", "soft=0,1"}), 6 * (2 / 12. + 2), 0.5);
    EXPECT_EQ(longest({"--orthotropic", wood, "--axes", "stiff=1,0"}),
              longest({"--orthotropic", wood}));
    // A density does not make another material of it.
    EXPECT_EQ(longest({"--orthotropic", wood, "--density", "soft=1", "--density", "stiff=2",
                       "--gravity", "0,0"}),
              longest({"--orthotropic", wood}));
    Words words = with_rollers({"--orthotropic", wood, "--load", "right=6,0"});
    EXPECT_EQ(structure(words)["defaults"], (Json{{"thickness", 1}}));

    const auto error = [&](Words more) {
        more.insert(more.begin(), {"bar.msh", "--fix", "left", "--load", "right=1,0"});
        return error_message(more);
    };
    expect_contains(error({"--orthotropic", "1,2,3"}), "has 3 numbers; write --orthotropic");
    expect_contains(error({"--orthotropic", wood, "--axes", "1,2,3"}),
                    "write --axes [REGION=]X1,Y1");
    expect_contains(error({"--axes", "1,0"}), "--axes has no effect without --orthotropic");
    expect_contains(
        error({"--orthotropic", "stiff=" + wood}),
        "--orthotropic is given for some regions, but not for soft; add --young soft=E");
    expect_contains(error({"--orthotropic", "stiff=" + wood, "--young", "3", "--axes", "soft=1,0"}),
                    "--axes is for --orthotropic materials, which 'soft' is not");
    expect_contains(error({"--orthotropic", "stiff=" + wood, "--young", "3", "--young", "stiff=4"}),
                    "'stiff' has --orthotropic constants and --young or --poisson");
    expect_contains(error({"--orthotropic", wood, "--young", "3"}),
                    "the material has --orthotropic");
    expect_contains(error({"--orthotropic", "12,1,0.6,4,0.5,0.3,0.8,0.06,0.7"}),
                    "leave a strain without energy");
}

TEST_F(cli_mesh, the_last_word_on_a_group_counts) {
    const Words pull = {"--fix", "bottom=free,0", "--load", "right=3,0", "--poisson", "0.25"};
    const auto with = [&](Words words) {
        words.insert(words.end(), pull.begin(), pull.end());
        return structure(words);
    };
    const Json released = with({"--fix", "left", "--fix", "left=0,free"});
    EXPECT_EQ(released, with({"--fix", "left=0,free"}));
    EXPECT_EQ(released, with({"--fix", "left=normal"}));
    EXPECT_NE(released, with({"--fix", "left"}));
}

TEST_F(cli_mesh, groups_of_any_name_and_files_of_any_ending) {
    std::string text = bar_file();
    for (std::size_t at; (at = text.find("\"left\"")) != std::string::npos;) {
        text.replace(at, 6, "\"x=0\"");
    }
    const Words load = {"--load", "right=3,0", "--json", "-"};
    const auto solved = [&](Words words) {
        words.insert(words.end(), load.begin(), load.end());
        return Json::parse(solve(words).out)["structure"];
    };
    Json expected = solved({"bar.msh", "--fix", "left"});
    expected["reactions"][0]["group"] = "x=0";
    for (const char* name : {"other.msh", "other.MSH", "other"}) {
        write(name, text);
        EXPECT_EQ(solved({name, "--fix", "x=0"}), expected) << name;
        EXPECT_EQ(solved({name, "--fix", "x=0=0,0"}), expected) << name;
        expect_contains(run({"info", name}).out, "16 quadrilaterals");
    }
    expect_contains(error_message({"other.msh", "--fix", "x=1", "--load", "right=3,0"}),
                    "give two or three components");
}

TEST_F(cli_mesh, weight_and_forces_on_points) {
    // Hanging in x: u(4) = g L^2 / (2 E), and linear elements are exact at the nodes.
    const Json hanging =
        structure(with_rollers({"--body-force", "2,0", "--young", "100", "--poisson", "0"}));
    EXPECT_NEAR(hanging["largest_displacement"].get<double>(), 2 * 16 / 200., accuracy);
    // Reciprocity: a force at the tip moves it as far as twice the force moves a bar of twice the
    // stiffness.
    const Json once = structure({"--fix", "left", "--load", "tip=0,-1", "--young", "3"});
    const Json twice = structure({"--fix", "left", "--load", "tip=0,-2", "--young", "6"});
    EXPECT_NEAR(once["largest_displacement"].get<double>(),
                twice["largest_displacement"].get<double>(),
                accuracy * once["largest_displacement"].get<double>());
}

TEST_F(cli_mesh, fields_are_written) {
    const Outcome outcome = solve(
        {"bar.msh", "--fix", "left", "--load", "right=0,-1", "--vtu", "bar.vtu", "--out", "x.mtx"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    expect_contains(outcome.out, "27 nodes, 16 elements");
    expect_contains(outcome.out, "displacement    largest ");
    expect_contains(outcome.out, "von Mises       largest ");
    const std::string file = text_of(path("bar.vtu"));
    for (const char* name :
         {"\"displacement\"", "\"stress\"", "\"von_mises\"", "\"region\"", "\"error\""}) {
        expect_contains(file, name);
    }
    EXPECT_EQ(io::read_vector<double>(host(), path("x.mtx")).size(), 48u);
}

TEST_F(cli_mesh, single_precision_and_tune) {
    const Words load = {"--fix", "left", "--load", "right=0,-1"};
    Words words = load;
    // Rounding in single precision leaves a residual near 1e-4 of the load of a bar so slender.
    words.insert(words.end(), {"--precision", "f32", "--rtol", "2e-4"});
    words.insert(words.begin(), "bar.msh");
    EXPECT_EQ(solve(words).code, 0);
    words = {"tune", "bar.msh", "--device", "cpu", "--seconds", "2"};
    words.insert(words.end(), load.begin(), load.end());
    const Outcome tuned = run(words);
    EXPECT_EQ(tuned.code, 0) << tuned.err;
    expect_contains(tuned.out, "tessera solve bar.msh --fix left --load right=0,-1");
    words = {"tune",     "bar.msh",    "--fix",     "left",  "--case", "down",
             "--load",   "right=0,-1", "--case",    "along", "--load", "right=1,0",
             "--device", "cpu",        "--seconds", "1"};
    const Outcome of_cases = run(words);
    EXPECT_EQ(of_cases.code, 0) << of_cases.err;
    expect_contains(of_cases.err, "trials solve the first load case, 'down'");
    expect_contains(of_cases.out, "--case down --load right=0,-1 --case along --load right=1,0");
}

TEST_F(cli_mesh, wrong_words_are_told_in_one_sentence) {
    const std::string groups = "It has tip, left, right, bottom";
    const std::vector<std::pair<Words, std::string>> cases = {
        {{"--fix", "lft", "--load", "right=0,1"}, "no group 'lft'; did you mean 'left'? " + groups},
        {{"--fix", "left", "--load", "rigth=0,1"},
         "no group 'rigth'; did you mean 'right'? " + groups},
        {{"--fix", "left", "--load", "right=0,1", "--young", "iron=2"},
         "no region 'iron'; it has soft, stiff"},
        {{"--load", "right=0,1"}, "'bar.msh' has no fixed support"},
        {{"--fix", "left=0,free", "--load", "right=0,1"}, "to move as a rigid body"},
        {{"--fix", "left"}, "no load acts on the structure"},
        {{"--fix", "left", "--load", "right"}, "--load GROUP=X,Y[,Z]"},
        {{"--fix", "left", "--load", "right=1"}, "give two or three components"},
        {{"--fix", "left", "--load", "right=1,2,3"}, "the mesh has 2 dimensions"},
        {{"--fix", "tip=normal", "--load", "right=1,2"},
         "the normal of group 'tip': it needs edges"},
        {{"--fix", "lft=normal", "--load", "right=1,2"}, "did you mean 'left'"},
        {{"--fix", "left=0,fre", "--load", "right=1,2"}, "'fre' is not a number"},
        {{"--fix", "left", "--traction", "tip=1,2"}, "a traction needs segments"},
        {{"--fix", "left", "--load", "right=1,2", "--young", "-1"}, "Young's modulus"},
        {{"--fix", "left", "--load", "right=1,2", "--poisson", "0.6"}, "Poisson's ratio"},
        {{"--fix", "left", "--load", "right=1,2", "--thickness", "0"}, "thickness"},
        {{"--fix", "left", "--load", "right=1,2", "--vtu", "bar.txt"}, "must end in .vtu"},
        {{"--fix", "left", "--load", "right=1,2", "--vtu", "no/bar.vtu"}, "no folder"}};
    for (const auto& [words, part] : cases) {
        Words all = words;
        all.insert(all.begin(), "bar.msh");
        expect_contains(error_message(all), part);
    }
    expect_contains(error_message({"poisson2d:4", "--fix", "left"}), "--fix is for meshes");
}

TEST_F(cli_mesh, what_is_not_solved_is_not_drawn) {
    const Outcome outcome = solve({"bar.msh", "--fix", "left", "--load", "right=1,0", "--precond",
                                   "jacobi", "--max-iterations", "2", "--vtu", "bar.vtu"});
    EXPECT_EQ(outcome.code, 3);
    expect_contains(outcome.err, "bar.vtu was not written");
    EXPECT_EQ(outcome.out.find("displacement    largest"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("bar.vtu")));
    // Near the tolerance results are of use, and said to be what they are.
    const Words nearly = {"bar.msh",   "--fix",  "left",     "--load", "right=1,0",
                          "--precond", "jacobi", "--solver", "cg",     "--rtol",
                          "1e-4",      "--vtu",  "bar.vtu"};
    const Json report = solve_json(nearly);
    Words fewer = nearly;
    const int iterations = report["iterations"].get<int>() - 1;
    fewer.insert(fewer.end(), {"--max-iterations", std::to_string(iterations)});
    const Outcome missed = solve(fewer);
    EXPECT_EQ(missed.code, 3);
    expect_contains(missed.err, "displacements and stresses are those of this x");
    expect_contains(missed.out, "displacement    largest");
    EXPECT_TRUE(std::filesystem::exists(path("bar.vtu")));
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--load", "right=1,0", "--rhs", "ones"}),
        "--rhs replaces the loads");
}

TEST_F(cli_mesh, bad_meshes_are_told_with_their_line) {
    const std::string good = bar_file(2, 1);
    const auto replaced = [&](const std::string& from, const std::string& to) {
        std::string text = good;
        const auto at = text.find(from);
        EXPECT_NE(at, std::string::npos);
        write("bad.msh", text.replace(at, from.size(), to));
        const auto line = std::count(good.begin(), good.begin() + std::ptrdiff_t(at), '\n') + 1;
        const std::string message =
            error_message({"bad.msh", "--fix", "left", "--load", "right=0,1"});
        expect_contains(message, "bad.msh:" + std::to_string(line));
        return message;
    };
    replaced("5 3 2 5 5 1 3 4 2", "5 21 2 5 5 1 3 4 2");  // of third order
    replaced("5 3 2 5 5 1 3 4 2", "5 3 2 5 5 1 3 44 2");  // a node that is missing
    replaced("5 3 2 5 5 1 3 4 2", "5 3 2 5 5 1 3 2 4");   // folds over
    write("cut.msh", good.substr(0, good.size() / 2));
    expect_contains(error_message({"cut.msh", "--fix", "left"}), "cut.msh");
    expect_contains(error_message({"none.msh", "--fix", "left"}), "no file or problem 'none.msh'");
    expect_contains(error_message({"zzzzzzzzzz", "--fix", "left"}), "--fix is for meshes");
    expect_contains(error_message({"zzzzzzzzzz"}), "give a matrix file, a mesh (.msh) or one of");
}

}  // namespace
}  // namespace tessera::test
