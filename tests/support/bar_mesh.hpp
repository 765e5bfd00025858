#pragma once

#include <algorithm>
#include <cmath>
#include <sstream>

#include "support/command_line.hpp"

/// A small mesh for tests of the command line.
namespace tessera::test {

/// A bar of 4 x 1 in nx x ny squares, as a Gmsh file: the half with x < 2 is "soft", the other
/// "stiff"; left, right and bottom are curves, "tip" is the upper corner on the right.
/// It is turned by an angle about the corner at 0.
inline std::string bar_file(int nx = 8, int ny = 2, double angle = 0) {
    std::string text =
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n6\n0 1 \"tip\"\n1 2 \"left\"\n"
        "1 3 \"right\"\n1 4 \"bottom\"\n2 5 \"soft\"\n2 6 \"stiff\"\n$EndPhysicalNames\n$Nodes\n";
    const auto node = [&](int i, int j) { return std::to_string(i * (ny + 1) + j + 1); };
    text += std::to_string((nx + 1) * (ny + 1)) + "\n";
    for (int i = 0; i <= nx; ++i) {
        for (int j = 0; j <= ny; ++j) {
            const double x = 4.0 * i / nx, y = 1.0 * j / ny;
            std::ostringstream line;
            line.precision(17);
            line << node(i, j) << " " << x * std::cos(angle) - y * std::sin(angle) << " "
                 << x * std::sin(angle) + y * std::cos(angle) << " 0\n";
            text += line.str();
        }
    }
    std::vector<std::string> cells = {"15 2 1 1 " + node(nx, ny)};
    for (int j = 0; j < ny; ++j) {
        cells.push_back("1 2 2 2 " + node(0, j + 1) + " " + node(0, j));
        cells.push_back("1 2 3 3 " + node(nx, j) + " " + node(nx, j + 1));
    }
    for (int i = 0; i < nx; ++i) {
        cells.push_back("1 2 4 4 " + node(i, 0) + " " + node(i + 1, 0));
        for (int j = 0; j < ny; ++j) {
            cells.push_back(std::string("3 2 ") + (i < nx / 2 ? "5 5 " : "6 6 ") + node(i, j) +
                            " " + node(i + 1, j) + " " + node(i + 1, j + 1) + " " + node(i, j + 1));
        }
    }
    text += "$EndNodes\n$Elements\n" + std::to_string(cells.size()) + "\n";
    for (std::size_t k = 0; k < cells.size(); ++k) {
        text += std::to_string(k + 1) + " " + cells[k] + "\n";
    }
    return text + "$EndElements\n";
}

/// Runs the command line with this mesh, bar.msh.
class BarTest : public CommandLineTest {
  protected:
    void SetUp() override {
        CommandLineTest::SetUp();
        if (!IsSkipped()) write("bar.msh", bar_file());
    }

    /// The structure in the report.
    Json structure(Words words) const {
        words.insert(words.begin(), {"bar.msh", "--rtol", "1e-12"});
        return solve_json(words)["structure"];
    }

    std::string error_message(const Words& words) const {
        const Outcome outcome = solve(words);
        EXPECT_EQ(outcome.code, 2) << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
        return outcome.err;
    }
};

inline const Words rollers = {"--fix", "left=0,free", "--fix", "bottom=free,0"};

inline Words with_rollers(const Words& words) {
    Words all = rollers;
    all.insert(all.end(), words.begin(), words.end());
    return all;
}

/// Accuracy for rtol 1e-12 and a condition number below 1e4.
inline constexpr double accuracy = 1e-8;

}  // namespace tessera::test
