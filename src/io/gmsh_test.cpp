#include "io/gmsh.hpp"

#include <bit>
#include <filesystem>

#include "io/io_test.hpp"
#include "io/output_file.hpp"
#include "support/test.hpp"

namespace tessera::io {
namespace {

std::string cells_text(const std::vector<Cells>& list) {
    std::string text;
    for (const Cells& cells : list) {
        text += std::string(" ") + to_string(cells.shape);
        for (std::size_t k = 0; k < cells.nodes.size(); ++k) {
            text += k % std::size_t(corners(cells.shape)) == 0 ? " " : "-";
            text += std::to_string(cells.nodes[k]);
        }
    }
    return text;
}

/// "2d 0,0 1,0 0,1; triangle 0-1-2; regions 0: 'steel'; 'left'(1) segment 0-2".
std::string described(const Mesh& mesh) {
    std::string text = std::to_string(mesh.dimensions) + "d";
    for (std::size_t k = 0; k < mesh.points.size(); ++k) {
        text += (k % std::size_t(mesh.dimensions) == 0 ? " " : ",") + shortest(mesh.points[k]);
    }
    text += ";" + cells_text(mesh.elements);
    if (!mesh.regions.empty()) {
        text += "; regions ";
        for (const int region : mesh.regions) text += std::to_string(region);
        text += ":";
        for (const std::string& name : mesh.region_names) text += " '" + name + "'";
    }
    for (const MeshGroup& group : mesh.groups) {
        text += "; '" + group.name + "'(" + std::to_string(group.dimensions) + ")" +
                cells_text(group.cells);
    }
    return text;
}

/// The mesh in these bytes, or the error.
std::string read(const std::string& bytes) {
    return outcome([&] { return described(parse_gmsh(bytes, "f")); });
}

std::string section(const std::string& name, const std::string& text) {
    return "$" + name + "\n" + text + "\n$End" + name + "\n";
}

const std::string format_22 = section("MeshFormat", "2.2 0 8");
const std::string format_41 = section("MeshFormat", "4.1 0 8");
const std::string nodes_22 = section("Nodes", "4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0");
const std::string nodes_41 =
    section("Nodes", "1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n1 1 0\n0 1 0");
const std::string square = "2d 0,0 1,0 1,1 0,1;";

std::string read_22(const std::string& elements, const std::string& nodes = nodes_22) {
    return read(format_22 + nodes + section("Elements", elements));
}

std::string read_41(const std::string& elements, const std::string& sections = nodes_41) {
    return read(format_41 + sections + section("Elements", elements));
}

/// What is read of one element, number 7, with these corners "x y z".
std::string read_points(const std::string& type, const std::vector<std::string>& points) {
    std::string nodes = std::to_string(points.size());
    std::string element = "1\n7 " + type + " 0";
    for (std::size_t k = 1; k <= points.size(); ++k) {
        nodes += "\n" + std::to_string(k) + " " + points[k - 1];
        element += " " + std::to_string(k);
    }
    return read_22(element, section("Nodes", nodes));
}

/// Binary numbers in the order of this machine's bytes, or in the other one.
class Bytes {
  public:
    explicit Bytes(bool swapped) : swapped_(swapped) {}
    Bytes& text(const std::string& more) {
        bytes_ += more;
        return *this;
    }
    Bytes& ints(const std::vector<std::int32_t>& numbers) { return append(numbers); }
    Bytes& sizes(const std::vector<std::int64_t>& numbers) { return append(numbers); }
    Bytes& reals(const std::vector<double>& numbers) { return append(numbers); }
    const std::string& all() const { return bytes_; }

  private:
    template <class Number>
    Bytes& append(const std::vector<Number>& numbers) {
        for (const Number number : numbers) {
            std::string word(reinterpret_cast<const char*>(&number), sizeof(Number));
            bytes_ += swapped_ ? std::string(word.rbegin(), word.rend()) : word;
        }
        return *this;
    }
    bool swapped_;
    std::string bytes_;
};

std::string mesh_file(const std::string& name) {
    return (std::filesystem::path(__FILE__).parent_path() / "../../tests/meshes" / name).string();
}

/// What gmsh made of tests/meshes/NAME.geo.
class gmsh : public ::testing::Test {
  protected:
    void expect_all_kinds(const std::string& name, const std::string& expected) {
        const std::string kinds[] = {"_22", "_22_binary", "_41", "_41_binary"};
        for (const std::string& kind : kinds) {
            const std::string path = mesh_file(name + kind + ".msh");
            if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
            EXPECT_EQ(outcome([&] { return described(read_mesh(test::host(), path)); }), expected)
                << path;
        }
    }
};

TEST_F(gmsh, reads_what_gmsh_writes_in_the_plane) {
    expect_all_kinds(
        "plate",
        "2d 0,0 1,0 2,0 3,0.25 3,1 2,1 1,1 0,1; triangle 0-1-7 7-1-6 quadrilateral "
        "2-5-6-1 2-3-4-5; regions 1100: 'rubber, glued' 'steel'; 'corner'(0) point 3; "
        "'left'(1) segment 7-0; 'bottom'(1) segment 0-1 1-2 2-3; 'middle of bottom'(1) "
        "segment 2-1; 'curve6'(1) segment 3-4");
}

TEST_F(gmsh, reads_what_gmsh_writes_in_space) {
    expect_all_kinds(
        "solid",
        "3d 0,0,0 1,0,0 0,1,0 1,1,0 0,0,1 1,0,1 1,1,1 0,1,1 4,0,0 6,0,0 4,1,0 6,1,0 4,0,1 6,0,1 "
        "6,1,1 4,1,1; tetrahedron 8-9-11-14 13-12-14-9 9-12-14-8 8-11-10-15 14-12-15-8 11-8-14-15 "
        "hexahedron 0-1-3-2-4-5-6-7; regions 1111110: 'box' 'wedges'; 'edge'(1) segment 0-1; "
        "'floor'(2) triangle 10-8-11 8-9-11 quadrilateral 0-1-3-2");
}

TEST_F(gmsh, files_cut_at_any_byte_give_the_mesh_or_an_error) {
    for (const char* name : {"plate_22", "plate_22_binary", "plate_41", "plate_41_binary"}) {
        const std::string path = mesh_file(std::string(name) + ".msh");
        if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
        const std::string bytes = read_text(path);
        const std::string whole = read(bytes);
        for (std::size_t length = 0; length < bytes.size(); ++length) {
            const std::string cut = read(bytes.substr(0, length));
            const bool complete = length + 1 == bytes.size();  // But for the last end of line.
            EXPECT_TRUE(complete ? cut == whole : cut.starts_with("f:")) << name << " " << length;
        }
    }
}

TEST_F(gmsh, reads_zipped_files_and_refuses_others) {
    const std::string folder = test::scratch_folder();
    const std::string unzipped = write_text(folder + "/a.msh", format_22 + nodes_22);
    EXPECT_EQ(outcome([&] { return described(read_mesh(test::host(), unzipped)); }),
              unzipped +
                  ": the mesh has no triangles, quadrilaterals, tetrahedra or hexahedra; where "
                  "there are physical groups Gmsh saves nothing else, so that the material needs "
                  "one too (or set Mesh.SaveAll = 1)");
    const std::string old = write_text(folder + "/b.msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n");
    EXPECT_EQ(outcome([&] { return described(read_mesh(test::host(), old)); }),
              old +
                  ":1: the format is not known; files that can be read: Gmsh .msh of the "
                  "versions 4.1 and 2.2 (first word $MeshFormat). The file starts with '$NOD'");
    const std::string zipped = folder + "/c.msh.gz";
    write_pieces(test::host(), zipped, true, 1, [](Offset) {
        return format_22 + nodes_22 + section("Elements", "1\n1 3 0 1 2 3 4");
    });
    EXPECT_EQ(described(read_mesh(test::host(), zipped)), square + " quadrilateral 0-1-2-3");
}

TEST_F(gmsh, tags_may_have_gaps_and_any_order) {
    const std::string nodes = section("Nodes", "3\n900000 0 1 0\n5 0 0 0\n77 1 0 0");
    EXPECT_EQ(read_22("1\n3 2 0 5 77 900000", nodes), "2d 0,0 1,0 0,1; triangle 0-1-2");
    const std::string newer =
        section("Nodes",
                "2 3 5 9000000000000000000\n0 1 0 1\n9000000000000000000\n0 1 0\n"
                "2 1 1 2\n77\n5\n1 0 0 0.5 0.5\n0 0 0 1 1");
    EXPECT_EQ(read_41("1 1 3 3\n2 1 2 1\n3 5 77 9000000000000000000", newer),
              "2d 0,0 1,0 0,1; triangle 0-1-2");
}

TEST_F(gmsh, nodes_that_no_element_has_are_dropped) {
    EXPECT_EQ(read_22("1\n1 2 0 2 3 4"), "2d 1,0 1,1 0,1; triangle 0-1-2");
}

TEST_F(gmsh, reads_parametric_nodes) {
    const std::string text =
        section("ParametricNodes", "3\n1 0 0 0 0 1\n2 1 0 0 1 3 0.25\n3 0 1 0 2 4 0.5 0.75");
    EXPECT_EQ(read_22("1\n1 2 0 1 2 3", text), "2d 0,0 1,0 0,1; triangle 0-1-2");
    const std::string in_volume = section("ParametricNodes", "1\n4 0 0 1 3 1");
    EXPECT_EQ(read_22("1\n1 4 0 1 2 3 4", text + in_volume),
              "3d 0,0,0 1,0,0 0,1,0 0,0,1; tetrahedron 0-1-2-3");
    const std::string newer =
        section("Nodes",
                "1 4 1 4\n3 1 1 4\n1 2 3 4\n0 0 0 9 9 9\n1 0 0 9 9 9\n0 1 0 9 9 9\n"
                "0 0 1 9 9 9");
    EXPECT_EQ(read_41("1 1 1 1\n3 1 4 1\n1 1 2 3 4", newer),
              "3d 0,0,0 1,0,0 0,1,0 0,0,1; tetrahedron 0-1-2-3");
}

TEST_F(gmsh, reads_binary_numbers_in_either_byte_order) {
    const std::string expected =
        "2d 0,0 1,0 1,1 0,1; triangle 0-1-2 0-2-3; regions 01: 'a' 'surface8'";
    for (const bool swapped : {false, true}) {
        Bytes older(swapped);
        older.text("$MeshFormat\n2.2 1 8\n").ints({1}).text("\n$EndMeshFormat\n$Nodes\n4\n");
        older.ints({1}).reals({0, 0, 0}).ints({2}).reals({1, 0, 0}).ints({3}).reals({1, 1, 0});
        older.ints({4}).reals({0, 1, 0}).text("\n$EndNodes\n$Elements\n2\n");
        older.ints({2, 2, 2, 1, 7, 1, 1, 2, 3, 2, 8, 1, 1, 3, 4}).text("\n$EndElements\n");
        older.text(section("PhysicalNames", "1\n2 7 \"a\""));
        EXPECT_EQ(read(older.all()), expected) << swapped;

        Bytes newer(swapped);
        newer.text("$MeshFormat\n4.1 1 8\n").ints({1}).text("\n$EndMeshFormat\n");
        newer.text(section("PhysicalNames", "1\n2 7 \"a\"")).text("$Entities\n");
        newer.sizes({0, 0, 2, 0}).ints({1}).reals({0, 0, 0, 1, 1, 0}).sizes({1}).ints({7});
        newer.sizes({2}).ints({1, -2}).ints({2}).reals({0, 0, 0, 1, 1, 0}).sizes({1});
        newer.ints({8}).sizes({0}).text("\n$EndEntities\n$Nodes\n");
        newer.sizes({1, 4, 1, 4}).ints({2, 1, 0}).sizes({4, 1, 2, 3, 4});
        newer.reals({0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0}).text("\n$EndNodes\n$Elements\n");
        newer.sizes({2, 2, 1, 2}).ints({2, 1, 2}).sizes({1, 1, 1, 2, 3});
        newer.ints({2, 2, 2}).sizes({1, 2, 1, 3, 4}).text("\n$EndElements\n");
        EXPECT_EQ(read(newer.all()), expected) << swapped;
    }
}

TEST_F(gmsh, elements_that_stand_wrong_are_turned_round) {
    EXPECT_EQ(read_points("2", {"0 0 0", "0 1 0", "1 0 0"}), "2d 0,0 0,1 1,0; triangle 0-2-1");
    EXPECT_EQ(read_points("3", {"0 0 1", "0 1 1", "1 1 1", "1 0 1"}),
              "2d 0,0 0,1 1,1 1,0; quadrilateral 0-3-2-1");
    EXPECT_EQ(read_points("4", {"0 0 0", "0 1 0", "1 0 0", "0 0 1"}),
              "3d 0,0,0 0,1,0 1,0,0 0,0,1; tetrahedron 0-2-1-3");
    EXPECT_EQ(
        read_points("5", {"0 0 0", "0 1 0", "1 1 0", "1 0 0", "0 0 1", "0 1 1", "1 1 1", "1 0 1"}),
        "3d 0,0,0 0,1,0 1,1,0 1,0,0 0,0,1 0,1,1 1,1,1 1,0,1; hexahedron 0-3-2-1-4-7-6-5");
    EXPECT_EQ(read_points("2", {"0 0 0", "1 0 0", "2 0 0"}),
              "f:12: element 7, a triangle, is degenerate or folds over");
    EXPECT_EQ(read_points("2", {"0 0 0", "0.1 0.1 0", "0.3 0.3 0"}),
              "f:12: element 7, a triangle, is degenerate or folds over");
    EXPECT_EQ(read_points("3", {"0 0 0", "1 1 0", "1 0 0", "0 1 0"}),
              "f:13: element 7, a quadrilateral, is degenerate or folds over");
    EXPECT_EQ(read_points("3", {"0 0 0", "1 0 0", "0.2 0.2 0", "0 1 0"}),
              "f:13: element 7, a quadrilateral, is degenerate or folds over");
    EXPECT_EQ(read_points("4", {"0 0 0", "0 1 0", "1 0 0", "1 1 0"}),
              "f:13: element 7, a tetrahedron, is degenerate or folds over");
    EXPECT_EQ(
        read_points("5", {"0 0 0", "1 0 0", "1 1 0", "0 1 0", "1 1 1", "0 1 1", "0 0 1", "1 0 -1"}),
        "f:17: element 7, a hexahedron, is degenerate or folds over");
}

TEST_F(gmsh, a_mesh_of_two_dimensions_is_plane) {
    EXPECT_EQ(read_points("2", {"0 0 5", "1 0 5.00000000001", "0 1 5"}),
              "2d 0,0 1,0 0,1; triangle 0-1-2");
    EXPECT_EQ(read_points("2", {"0 0 0", "0 1 0", "0 0 1"}),
              "f: the mesh has no tetrahedra or hexahedra, and its elements do not lie in a plane "
              "z = constant: z reaches from 0.000000 to 1.000000");
}

TEST_F(gmsh, elements_without_physical_groups) {
    EXPECT_EQ(read_22("2\n1 1 2 0 1 1 2\n2 3 2 0 1 1 2 3 4"), square + " quadrilateral 0-1-2-3");
    EXPECT_EQ(read_41("2 2 1 2\n1 1 1 1\n1 1 2\n2 1 3 1\n2 1 2 3 4"),
              square + " quadrilateral 0-1-2-3");
    EXPECT_EQ(read_22("3\n1 1 1 5 1 2\n2 2 2 0 1 1 2 3\n3 2 2 4 1 1 3 4"),
              square + " triangle 0-1-2 0-2-3; regions 01: '' 'surface4'; 'curve5'(1) segment 0-1");
}

TEST_F(gmsh, a_curve_may_be_in_several_groups) {
    const std::string entities =
        section("Entities", "0 1 1 0\n3 0 0 0 1 0 0 3 4 -5 6 2 1 -2\n1 0 0 0 1 1 0 0 1 3");
    EXPECT_EQ(read_41("2 2 1 2\n1 3 1 1\n1 1 2\n2 1 3 1\n2 1 2 3 4", entities + nodes_41),
              square +
                  " quadrilateral 0-1-2-3; 'curve4'(1) segment 0-1; 'curve5'(1) segment 1-0; "
                  "'curve6'(1) segment 0-1");
}

TEST_F(gmsh, other_sections_are_skipped) {
    const std::string other = section("Comments", "$Nodes\n4.1 $EndNodes\n");
    EXPECT_EQ(read(format_22 + other + nodes_22 + section("Elements", "1\n1 3 0 1 2 3 4") + "\n" +
                   section("NodeData", "1\n\"x\"")),
              square + " quadrilateral 0-1-2-3");
    EXPECT_EQ(read(format_22 + other + "$Periodic\n1\n"), "f:9: the section has no $EndPeriodic");
    EXPECT_EQ(read(format_22 + other + "$Nodes 4\n"), "f:9: expected nothing else in this line");
    EXPECT_EQ(read(format_22 + other + "7\n"), "f:9: expected a section such as $Nodes, found '7'");
}

TEST_F(gmsh, refuses_other_versions_and_kinds) {
    EXPECT_EQ(read(section("MeshFormat", "4 0 8")),
              "f:2: version '4' of Gmsh's format is not supported; write 4.1 or 2.2 (gmsh -format "
              "msh41)");
    EXPECT_EQ(read(section("MeshFormat", "4.1 2 8")), "f:2: the file type '2' is too large");
    EXPECT_EQ(read("$MeshFormat\n4.1 1 4\n"),
              "f:2: binary numbers of 4 bytes are not supported, only of 8");
    EXPECT_EQ(read("$MeshFormat\n4.1 1 8\nabcd"),
              "f: byte 20: expected the number 1, which tells the byte order");
    EXPECT_EQ(read("$MeshFormat\n4.1 0"), "f:2: the file ends where the data size should be");
}

TEST_F(gmsh, refuses_elements_that_it_does_not_know) {
    const std::string order =
        " is not supported; only elements of first order are (Mesh.ElementOrder = 1, or gmsh "
        "-order 1)";
    EXPECT_EQ(read_22("1\n1 9 2 0 1 1 2 3 4 5 6"), "f:13: element type 9" + order);
    EXPECT_EQ(read_41("1 1 1 1\n3 1 11 1\n1 1 2 3 4 5 6 7 8 9 10"),
              "f:18: element type 11" + order);
    EXPECT_EQ(read_22("1\n1 6 0 1 2 3 4 5 6"),
              "f:13: element type 6 (prism) is not supported; mesh with tetrahedra or hexahedra "
              "alone");
}

TEST_F(gmsh, refuses_wrong_counts) {
    EXPECT_EQ(read_22("1\n1 3 0 1 2 3 4", section("Nodes", "5\n1 0 0 0\n2 1 0 0\n3 1 1 0")),
              "f:9: expected the tag of a node, found '$EndNodes': the section is shorter than "
              "its counts say");
    EXPECT_EQ(read_22("1\n1 3 0 1 2 3 4", section("Nodes", "1\n1 0 0 0\n2 1 0 0")),
              "f:7: expected $EndNodes, found '2': the section is longer than its counts say");
    EXPECT_EQ(read_22("1", section("Nodes", "1000000\n1 0 0 0")),
              "f:5: 1000000 nodes are claimed, but only 43 bytes follow");
    EXPECT_EQ(read_22("1", section("Nodes", "-4\n1 0 0 0")),
              "f:5: the number of nodes '-4' is negative");
    EXPECT_EQ(read_41("1 5 1 4\n2 1 3 1\n1 1 2 3 4"),
              "f:19: the blocks hold 1 elements, the section claims 5");
    EXPECT_EQ(read_41("1 1 1 4\n2 1 3 -1\n"), "f:18: the number of elements '-1' is negative");
    EXPECT_EQ(read_41("1 1 1 4\n2 1 3 9000000000000000000\n"),
              "f:18: 9000000000000000000 elements are claimed, but only 15 bytes follow");
    EXPECT_EQ(read_41("", section("Nodes", "1 5 1 5\n2 1 0 1\n1\n0 0 0")),
              "f:8: the blocks hold 1 nodes, the section claims 5");
    Bytes binary(false);
    binary.text("$MeshFormat\n2.2 1 8\n").ints({1}).text("\n$EndMeshFormat\n$Nodes\n1\n");
    binary.ints({1}).reals({0, 0, 0}).text("\n$EndNodes\n$Elements\n1\n");
    const std::string start = binary.all();
    EXPECT_EQ(read(Bytes(binary).ints({15, 2, 0, 1, 1, 2, 1}).all()),
              "f: byte " + std::to_string(start.size() + 4) +
                  ": a block of 2 elements where 1 are left of 1");
    EXPECT_EQ(
        read(Bytes(binary).ints({15, 1, -1, 1, 1}).text("........").all()),
        "f: byte " + std::to_string(start.size() + 8) + ": -1 tags: a count cannot be negative");
    EXPECT_EQ(
        read(Bytes(binary).ints({15, 1, 0, -1, 1}).all()),
        "f: byte " + std::to_string(start.size() + 12) + ": the tag of an element -1 is negative");
}

TEST_F(gmsh, refuses_what_is_no_number) {
    EXPECT_EQ(read_22("1", section("Nodes", "1\n1 0 zero 0")), "f:6: y 'zero' is not a number");
    EXPECT_EQ(read_22("1", section("Nodes", "1\n1 0 0 nan")), "f:6: z 'nan' is not finite");
    EXPECT_EQ(read_22("1", section("Nodes", "1\n4294967297 0 0 0")),
              "f:6: the tag of a node '4294967297' is too large");
    Bytes binary(false);
    binary.text("$MeshFormat\n2.2 1 8\n").ints({1}).text("\n$EndMeshFormat\n$Nodes\n1\n");
    const std::size_t start = binary.all().size();
    EXPECT_EQ(read(binary.ints({1}).reals({0, INFINITY, 0}).all()),
              "f: byte " + std::to_string(start + 12) + ": y is not finite");
}

TEST_F(gmsh, refuses_nodes_and_entities_that_are_missing_or_twice_there) {
    EXPECT_EQ(read_22("1\n8 3 0 1 2 3 5"),
              "f:13: element 8 has the node 5, which $Nodes does not list");
    EXPECT_EQ(read_22("1\n8 3 0 1 2 3 0"),
              "f:13: element 8 has the node 0, which $Nodes does not list");
    EXPECT_EQ(read_22("1\n8 2 0 1 4 7", section("Nodes", "3\n1 0 0 0\n4 1 0 0\n8 0 1 0")),
              "f:12: element 8 has the node 7, which $Nodes does not list");
    EXPECT_EQ(read(format_22 + section("Elements", "1\n8 2 0 1 4 7")),
              "f:6: element 8 has the node 1, which $Nodes does not list");
    EXPECT_EQ(read_22("1\n8 2 0 1 4 7", section("Nodes", "3\n1 0 0 0\n4 1 0 0\n1 0 1 0")),
              "f:8: node 1 is listed twice");
    EXPECT_EQ(read_22("2\n8 1 1 3 2 4\n9 2 0 1 2 3"),
              "f:13: element 8 of the physical group 'curve3' has a node that no element of the "
              "mesh's dimension has");
    const std::string entity = "1 0 0 0 1 1 0 0 0";
    EXPECT_EQ(read_41("1 1 1 1\n2 2 3 1\n8 1 2 3 4",
                      section("Entities", "0 0 1 0\n" + entity) + nodes_41),
              "f:23: element 8 lies in the entity of dimension 2 with the tag 2, which $Entities "
              "does not list");
    EXPECT_EQ(read_41("", section("Entities", "0 0 2 0\n" + entity + "\n" + entity)),
              "f:7: the entity of dimension 2 with the tag 1 is listed twice");
    EXPECT_EQ(read_41("1 1 1 1\n1 1 3 1\n1 1 2 3 4"),
              "f:18: a quadrilateral in an entity of dimension 1");
    EXPECT_EQ(read_41("1 1 1 1\n4 1 3 1\n1 1 2 3 4"), "f:18: the dimension 4 is not within 0..3");
}

TEST_F(gmsh, refuses_groups_that_are_not_clear) {
    EXPECT_EQ(read_22("2\n1 2 1 3 1 2 3\n2 2 1 4 3 1 2"),
              "f:14: element 2 has the nodes of element 1; an element may be in one physical "
              "group of its dimension only");
    EXPECT_EQ(read_41("1 1 1 1\n2 1 3 1\n1 1 2 3 4",
                      section("Entities", "0 0 1 0\n1 0 0 0 1 1 0 2 7 -9 0") + nodes_41),
              "f:23: element 1 is in the physical groups 7 and 9; an element may be in one of its "
              "dimension only");
    const auto named = [](const std::string& names) {
        return read(format_22 + section("PhysicalNames", names) + nodes_22 +
                    section("Elements", "3\n1 15 1 1 1\n2 1 1 1 1 2\n3 3 1 1 1 2 3 4"));
    };
    EXPECT_EQ(named("3\n0 1 \"a b\"\n2 1 \"a b\"\n1 1 \"\""),
              square +
                  " quadrilateral 0-1-2-3; regions 0: 'a b'; 'a b'(0) point 0; 'curve1'(1) "
                  "segment 0-1");
    EXPECT_EQ(named("2\n0 1 \"a\"\n1 1 \"a\""), "f:7: two physical groups have the name 'a'");
    EXPECT_EQ(named("1\n0 1 a"), "f:6: expected a name in quotes, found 'a'");
    EXPECT_EQ(named("2\n1 1 \"a\"\n1 1 \"b\""),
              "f:7: the group of dimension 1 with the tag 1 has two names");
}

}  // namespace
}  // namespace tessera::io
