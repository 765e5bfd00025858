#include <cmath>
#include <numbers>

#include "support/bar_mesh.hpp"

namespace tessera::test {
namespace {

class cli_mesh_loads : public BarTest {
  protected:
    static void expect_vector(const Json& vector, const std::vector<double>& expected) {
        ASSERT_EQ(vector.size(), expected.size()) << vector;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            EXPECT_NEAR(vector[i].get<double>(), expected[i], 100 * accuracy) << i;
        }
    }
    static Json reaction(const Json& body, const std::string& group) {
        for (const Json& sum : body["reactions"]) {
            if (sum["group"] == group) return sum;
        }
        return Json();
    }
};

/// The bar of 4 x 1: both halves grow, or press against a wall.
TEST_F(cli_mesh_loads, temperature) {
    const Words heat = {"--young",       "10",       "--poisson",     "0",
                        "--expansion",   "0.01,0,0", "--expansion",   "stiff=0.02,0,0",
                        "--temperature", "5",        "--temperature", "stiff=10"};
    Json body = structure(with_rollers(heat));
    expect_vector(body["points"][0]["displacement"], {2 * (0.05 + 0.2), 0});
    EXPECT_NEAR(body["strain_energy"].get<double>(), 0, 1e-6);
    EXPECT_EQ(body["error_estimate"], 0);
    Words walls = with_rollers(heat);
    walls.insert(walls.end(), {"--fix", "right=0,free"});
    body = structure(walls);
    EXPECT_NEAR(body["largest_von_mises"].get<double>(), 10 * (0.05 + 0.2) / 2, 1e-5);
    expect_vector(reaction(body, "right")["force"], {-10 * (0.05 + 0.2) / 2, 0});
    expect_vector(body["loads"], {0, 0});

    // Three numbers: along the directions of the material, here y and x.
    body = structure(with_rollers({"--orthotropic", "10,20,10,0,0,0,4,4,4", "--axes", "0,1",
                                   "--expansion", "0.01,0.03,0", "--temperature", "5"}));
    expect_vector(body["points"][0]["displacement"], {4 * 0.15, 0.05});

    expect_contains(error_message({"bar.msh", "--fix", "left", "--temperature", "3"}),
                    "--temperature needs --expansion ALPHA");
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--load", "right=1,0", "--expansion", "3"}),
        "--expansion has no effect without --temperature");
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--temperature", "3", "--expansion", "soft=1"}),
        "--expansion is given for some regions, but not for stiff");
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--temperature", "3", "--expansion", "1,2"}),
        "--expansion 1,2 has 2 numbers");
    expect_contains(
        error_message({"bar.msh", "--fix", "left", "--temperature", "stif=3", "--expansion", "1"}),
        "no region 'stif'; did you mean 'stiff'");
}

TEST_F(cli_mesh_loads, springs) {
    const Words pulled = {"--load", "right=3,0", "--young", "10", "--poisson", "0"};
    Words words = {"--spring", "left=2,5"};
    words.insert(words.end(), pulled.begin(), pulled.end());
    const Json body = structure(words);
    expect_vector(body["points"][0]["displacement"], {3. / 2 + 3. * 4 / 10, 0});
    expect_vector(reaction(body, "left")["force"], {-3, 0});
    EXPECT_NEAR(reaction(body, "left")["moment"].get<double>(), 1.5, 100 * accuracy);

    const auto error = [&](Words more) {
        more.insert(more.begin(), "bar.msh");
        more.insert(more.end(), pulled.begin(), pulled.end());
        return error_message(more);
    };
    expect_contains(error({"--spring", "left=2,0"}), "the springs of 'bar.msh' allow it");
    expect_contains(error({"--spring", "left=2,0", "--fix", "right=0,free"}),
                    "the fixed supports and springs of 'bar.msh' allow it");
    expect_contains(error({"--spring", "left=2"}), "give two or three components, such as 0,1");
    expect_contains(error({"--spring", "left=2,-1"}), "has the stiffness -1 along y");
    expect_contains(run({"info", "bar.msh", "--spring", "left=2,5"}).out,
                    "spring           (2, 5) on 'left'\n");
}

TEST_F(cli_mesh_loads, rotations) {
    const Words turn = {"--fix", "left",      "--rotate", "right=0.1,4,0.5", "--young",
                        "12",    "--poisson", "0",        "--thickness",     "2"};
    const Json body = structure(turn);
    const double length = 4, angle = 0.1, inertia = 2. / 12;
    // Both ends are clamped, and the right one does not shift: 4 E I / L in Bernoulli's theory,
    // with the shear of Timoshenko's (4 + s) / (1 + s), s = 12 E I / (G A L^2) for A 5 / 6.
    const double s = 12 * 12 * inertia / (12. / 2 * 2 * 5 / 6 * length * length);
    const double moment = (4 + s) / (1 + s) * 12 * inertia / length * angle;
    const double found = reaction(body, "right")["moment"].get<double>() -
                         4 * reaction(body, "right")["force"][1].get<double>();
    EXPECT_NEAR(found, moment, 0.05 * moment);
    expect_vector(body["points"][0]["displacement"], {-0.5 * angle, 0});
    Words degrees = turn;
    degrees[3] = "right=5.7295779513082321deg,4,0.5";
    EXPECT_NEAR(structure(degrees)["strain_energy"].get<double>(),
                body["strain_energy"].get<double>(), 1e-9);

    const auto error = [&](const std::string& text, const Words& more = {}) {
        Words words = {"bar.msh", "--fix", "left", "--rotate", text};
        words.insert(words.end(), more.begin(), more.end());
        return error_message(words);
    };
    expect_contains(error("right=1"), "write --rotate GROUP=ANGLE,X,Y in the plane");
    expect_contains(error("right=1,0,0,0,0,0,1"), "has 3 components, but the mesh has 2");
    expect_contains(error("right=1rad,0,0"), "'1rad' is not a number");
    expect_contains(error("left=1,0,0"), "'left' has --fix and --rotate");
    expect_contains(error("right=1,0,0", {"--plane", "axisymmetric"}),
                    "a body of revolution cannot rotate");
    expect_contains(run({"info", "bar.msh", "--rotate", "left=0.1,0,0"}).out,
                    "rotated          left=0.1,0,0\n");
}

/// Each case has the results of a solve of its own.
TEST_F(cli_mesh_loads, cases) {
    const Words common = with_rollers({"--young", "10", "--young", "stiff=20", "--density", "2",
                                       "--expansion", "0.01", "--pressure", "right=1"});
    const std::vector<std::pair<std::string, Words>> cases = {
        {"pull", {"--load", "right=3,0", "--load", "tip=0,1"}},
        {"heat", {"--temperature", "5", "--temperature", "stiff=-3"}},
        {"weight", {"--gravity", "0,-10", "--traction", "right=0,0.5"}},
        {"move", {"--fix", "tip=0.1,0.2"}},
        {"none", {}}};
    Words all = common;
    for (const auto& [name, loads] : cases) {
        all.insert(all.end(), {"--case", name});
        all.insert(all.end(), loads.begin(), loads.end());
    }
    Words written = all;
    written.insert(written.end(), {"--vtu", path("cases.vtu"), "--out", path("x.mtx")});
    const Json body = structure(written);
    EXPECT_FALSE(body.contains("strain_energy"));
    ASSERT_EQ(body["cases"].size(), cases.size());
    for (std::size_t k = 0; k < cases.size(); ++k) {
        SCOPED_TRACE(cases[k].first);
        Words alone = common;
        alone.insert(alone.end(), cases[k].second.begin(), cases[k].second.end());
        // What a case alone needs: the tip is held in all cases.
        const auto is_given = [&](const char* option) {
            return std::ranges::find(cases[k].second, option) != cases[k].second.end();
        };
        if (!is_given("--gravity")) alone.insert(alone.end(), {"--gravity", "0,0"});
        if (!is_given("--temperature")) alone.insert(alone.end(), {"--temperature", "0"});
        if (!is_given("--fix")) alone.insert(alone.end(), {"--fix", "tip=0,0"});
        const Json expected = structure(alone);
        const Json& found = body["cases"][k];
        EXPECT_EQ(found["name"], cases[k].first);
        for (const char* number :
             {"largest_displacement", "largest_von_mises", "strain_energy", "error_estimate"}) {
            EXPECT_NEAR(found[number].get<double>(), expected[number].get<double>(),
                        1e-6 * expected[number].get<double>())
                << number;
        }
        expect_vector(found["loads"], expected["loads"]);
        for (const Json& sum : expected["reactions"]) {
            expect_vector(reaction(found, sum["group"])["force"], sum["force"]);
        }
    }
    const std::string vtu = text_of(path("cases.vtu"));
    for (const auto& [name, loads] : cases) {
        for (const char* field : {"displacement_", "stress_", "von_mises_", "error_"}) {
            expect_contains(vtu, "\"" + std::string(field) + name + "\"");
        }
    }
    expect_contains(text_of(path("x.mtx")), "40 5\n");

    Words words = {"solve", "bar.msh"};
    words.insert(words.end(), all.begin(), all.end());
    const std::string table = run(words).out;
    expect_contains(table, "  case            heat\n");
    expect_contains(table, "  right sides     5, 5 solved");
    words[0] = "info";
    const std::string info = run(words).out;
    expect_contains(info, "case             pull\n  load             (3, 0) on 'right'\n");
    expect_contains(info, "moved            tip=0.1,0.2\n");
}

/// The bar of 4 x 1 with E = 1 bends by 12 M L / E.
TEST_F(cli_mesh_loads, moments) {
    const Json body = structure({"--fix", "left", "--moment", "right=0.01", "--poisson", "0"});
    EXPECT_NEAR(body["points"][0]["displacement"][0].get<double>(), -0.24, accuracy);
    EXPECT_NEAR(body["points"][0]["displacement"][1].get<double>(), 0.96, accuracy);
    EXPECT_NEAR(body["loads_moment"].get<double>(), 0.01, accuracy);
    const auto error = [&](const std::string& text) {
        return error_message({"bar.msh", "--fix", "left", "--moment", text});
    };
    expect_contains(error("right"), "write --moment GROUP=M in the plane");
    expect_contains(error("right=1,2"), "write --moment GROUP=M in the plane");
    expect_contains(error("right=1,2,3"), "give one number, about z");
    expect_contains(error("lid=1"), "no group 'lid'");
    expect_contains(run({"info", "bar.msh", "--fix", "left", "--moment", "right=2"}).out,
                    "  load             moment 2 on 'right'\n");
}

TEST_F(cli_mesh_loads, info_says_what_acts) {
    const Words words = {"info",      "bar.msh", "--fix",     "left", "--fix",     "right=0.1,free",
                         "--gravity", "0,-10",   "--density", "2",    "--section", "right"};
    const std::string acts = "gravity          0,-10\n", section = "section          right\n";
    const std::string alone = run(words).out;
    expect_contains(alone, "fixed            x = 0.1 of 'right'\n");
    expect_contains(alone, acts);
    expect_contains(alone, section);
    Words all = words;
    all.insert(all.end(), {"--case", "spun", "--spin", "3,0,0", "--body-force", "1,2", "--case",
                           "moved", "--fix", "right=0.2,free"});
    const std::string cases = run(all).out;
    expect_contains(cases, "fixed            x = 0.1 of 'right'\n");
    expect_contains(cases, acts + "  case             spun\n");
    expect_contains(cases, "body force       1,2\n  spin             3,0,0\n");
    expect_contains(cases, "moved            right=0.2,free\n  " + section);
}

TEST_F(cli_mesh_loads, wrong_cases_are_told) {
    const std::vector<std::pair<Words, std::string>> wrong = {
        {{"--case", "a"}, "no load acts in --case a"},
        {{"--case", "a", "--rotate", "right=0deg,4,0.5"}, "no load acts in --case a"},
        {{"--case", "a", "--load", "right=1,0", "--case", "a"}, "--case a is given more than once"},
        {{"--case", "a b", "--load", "right=1,0"}, "--case 'a b': a name has letters"},
        {{"--case", "a", "--fix", "right"}, "--case a fixes 'right'; supports are common"},
        {{"--case", "a", "--fix", "right=0,0"}, "--case a fixes 'right'; supports are common"},
        {{"--case", "a", "--fix", "right=1,0", "--case", "b", "--fix", "right=1,free"},
         "--case b prescribes other components of 'right'"},
        {{"--case", "a", "--load", "rigt=1,0"}, "no group 'rigt'; did you mean 'right'"},
        {{"--case", "a", "--gravity", "1,0"}, "--gravity and --spin need --density"},
        {{"--case", "a", "--load", "right=1,0", "--rhs", "ones"},
         "--rhs replaces the loads, --case among them"},
        {{"--case", "a", "--gravity", "1,0", "--gravity", "1,0", "--density", "1"},
         "--gravity is given more than once"}};
    for (const auto& [words, part] : wrong) {
        Words all = {"bar.msh", "--fix", "left"};
        all.insert(all.end(), words.begin(), words.end());
        expect_contains(error_message(all), part);
    }
    const Words loaded = {"--fix", "left",   "--load", "right=1,0", "--case",
                          "pull",  "--case", "shear",  "--load",    "right=0,1"};
    Words words = {"convert", "bar.msh", path("K.mtx"), "--rhs", path("f.mtx")};
    words.insert(words.end(), loaded.begin(), loaded.end());
    EXPECT_EQ(run(words).code, 0);
    expect_contains(text_of(path("f.mtx")), "48 2\n");
}

/// A turned bar on inclined rollers has the turned solution.
TEST_F(cli_mesh_loads, inclined_rollers) {
    const double angle = 0.5, c = std::cos(angle), s = std::sin(angle);
    const Words options = {"--fix",   "left=normal", "--fix",     "bottom=normal",
                           "--young", "10",          "--poisson", "0.25"};
    Words straight = options, turned = options;
    straight.insert(straight.end(), {"--load", "right=3,0.2"});
    const std::string load =
        std::to_string(3 * c - 0.2 * s) + "," + std::to_string(3 * s + 0.2 * c);
    turned.insert(turned.end(), {"--load", "right=" + load});
    const Json expected = structure(straight);
    write("bar.msh", bar_file(8, 2, angle));
    for (const char* const method : {"direct", "amg"}) {
        Words words = turned;
        words.insert(words.end(), {"--solver", "cg", "--precond", method});
        const Json body = structure(words);
        for (const char* number :
             {"largest_displacement", "largest_von_mises", "strain_energy", "error_estimate"}) {
            EXPECT_NEAR(body[number].get<double>(), expected[number].get<double>(), 1e-4) << number;
        }
        const auto force = reaction(expected, "left")["force"];
        const double x = force[0].get<double>(), y = force[1].get<double>();
        const auto found = reaction(body, "left")["force"];
        EXPECT_NEAR(found[0].get<double>(), c * x - s * y, 1e-4);
        EXPECT_NEAR(found[1].get<double>(), s * x + c * y, 1e-4);
    }
    expect_contains(run({"info", "bar.msh", "--fix", "left=normal"}).out,
                    "fixed            normal of 'left'\n");
}

/// The sum of the forces: density volume speed^2 times the centre's distance from the axis.
TEST_F(cli_mesh_loads, spin) {
    const Words common = {"--fix", "left", "--density", "2", "--young", "1e4"};
    const auto loads = [&](Words words) {
        words.insert(words.end(), common.begin(), common.end());
        return structure(words)["loads"];
    };
    expect_vector(loads({"--spin", "3,1,1"}), {2 * 4 * 9 * (2 - 1), 2 * 4 * 9 * (0.5 - 1)});
    expect_vector(loads({"--spin", "28.64788975654116rpm,1,1"}), {72, -36});
    // The ring's radial forces are integrals of density speed^2 r over its volume.
    expect_vector(loads({"--spin", "0.1", "--plane", "axisymmetric"}),
                  {2 * 0.01 * 2 * std::numbers::pi * 64 / 3, 0});
    const auto error = [&](Words words) {
        words.insert(words.begin(), "bar.msh");
        words.insert(words.end(), common.begin(), common.end());
        return error_message(words);
    };
    expect_contains(error({"--spin", "3"}), "give a point of the axis, too");
    expect_contains(error({"--spin", "3,1"}), "write --spin SPEED,X,Y in the plane");
    expect_contains(error({"--spin", "3,1,1,1,0,0,1"}), "has 3 components, but the mesh has 2");
    expect_contains(error({"--spin", "3,1,1,1,0,0,0"}), "the direction of the axis has no length");
    expect_contains(error({"--spin", "3,1,1", "--plane", "axisymmetric"}),
                    "an axisymmetric body spins about its axis");
}

}  // namespace
}  // namespace tessera::test
