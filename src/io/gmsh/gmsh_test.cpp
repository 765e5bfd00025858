#include <bit>
#include <filesystem>

#include "io/gmsh/test_gmsh.hpp"
#include "tessera/detail/cells.hpp"

namespace tessera::io {
namespace {

std::string mesh_file(const std::string& name) {
    return (std::filesystem::path(__FILE__).parent_path() / "../../../tests/meshes" / name)
        .string();
}

/// Files that gmsh made of tests/meshes/NAME.geo.
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
            const bool complete = length + 1 == bytes.size();  // All but the last end of line.
            EXPECT_TRUE(complete ? cut == whole : cut.starts_with("f:")) << name << " " << length;
        }
    }
}

TEST_F(gmsh, reads_zipped_files_and_rejects_others) {
    const std::string folder = test::scratch_folder();
    const std::string unzipped = write_text(folder + "/a.msh", format_22 + nodes_22);
    EXPECT_EQ(outcome([&] { return described(read_mesh(test::host(), unzipped)); }),
              unzipped +
                  ": the mesh has no triangles, quadrilaterals or solid elements; where there are "
                  "physical groups Gmsh saves nothing else, so that the material needs one too (or "
                  "set Mesh.SaveAll = 1)");
    const std::string old = write_text(folder + "/b.msh", "$NOD\n1\n1 0 0 0\n$ENDNOD\n");
    EXPECT_EQ(outcome([&] { return described(read_mesh(test::host(), old)); }),
              old +
                  ":1: the format is not known; files that can be read: Gmsh .msh of the "
                  "versions 4.1 and 2.2 (first word $MeshFormat). The file starts with '$NOD'");
    const std::string zipped = folder + "/c.msh.gz";
    write_sections(test::host(), zipped, true,
                   {text_section(format_22 + nodes_22 + section("Elements", "1\n1 3 0 1 2 3 4"))});
    EXPECT_EQ(described(read_mesh(test::host(), zipped)), square + " quadrilateral 0-1-2-3");
}

TEST_F(gmsh, headers_in_all_their_spellings) {
    const std::string rest = nodes_22 + section("Elements", "1\n1 3 0 1 2 3 4");
    const std::string expected = read(format_22 + rest);
    EXPECT_EQ(expected, square + " quadrilateral 0-1-2-3");
    for (const char* version : {"2", "2.0", "2.000000", "2.1", "2.20"}) {
        EXPECT_EQ(read(section("MeshFormat", std::string(version) + " 0 8") + rest), expected);
    }
    for (const std::string& before :
         {std::string("\xef\xbb\xbf"), std::string("\n\n"), section("Comments", "by hand, 2.2")}) {
        const std::string text = before + format_22 + rest;
        EXPECT_TRUE(is_gmsh(text));
        EXPECT_EQ(read(text), expected) << before;
    }
}

/// As Gmsh writes it with Mesh.SaveAll = 1: names, and elements without tags.
TEST_F(gmsh, groups_without_elements_are_named) {
    const std::string text = format_22 +
                             section("PhysicalNames", "2\n1 1 \"left\"\n2 2 \"steel\"") + nodes_22 +
                             section("Elements", "2\n1 1 2 0 1 1 2\n2 3 2 0 1 1 2 3 4");
    const Mesh mesh = parse_gmsh({test::host(), text, "f"});
    EXPECT_EQ(mesh.empty_groups, (std::vector<std::string>{"left", "steel"}));
    EXPECT_NE(outcome([&] { return mesh.group("left").name; }).find("Mesh.SaveAll"),
              std::string::npos);
}

TEST_F(gmsh, tags_may_have_gaps_and_any_order) {
    const std::string nodes = section("Nodes", "3\n900000 0 1 0\n5 0 0 0\n77 1 0 0");
    EXPECT_EQ(read_22("1\n3 2 0 5 77 900000", nodes), "2d 0,0 1,0 0,1; triangle 0-1-2");
    const std::string large = section("Nodes", "3\n8589934592 0 1 0\n5 0 0 0\n77 1 0 0");
    EXPECT_EQ(read_22("1\n4294967297 2 0 5 77 8589934592", large),
              "2d 0,0 1,0 0,1; triangle 0-1-2");
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

/// Elements of one type of Gmsh, and their reference nodes in Gmsh's order (its manual, "Node
/// ordering"; as gmsh.model.mesh.getElementProperties gives them).
struct GmshType {
    int type;
    CellShape shape;
    std::vector<std::array<double, 3>> nodes;
};

const std::vector<std::array<double, 3>> gmsh_hexahedron = {
    {-1, -1, -1}, {1, -1, -1}, {1, 1, -1},  {-1, 1, -1}, {-1, -1, 1}, {1, -1, 1}, {1, 1, 1},
    {-1, 1, 1},   {0, -1, -1}, {-1, 0, -1}, {-1, -1, 0}, {1, 0, -1},  {1, -1, 0}, {0, 1, -1},
    {1, 1, 0},    {-1, 1, 0},  {0, -1, 1},  {-1, 0, 1},  {1, 0, 1},   {0, 1, 1},  {0, 0, -1},
    {0, -1, 0},   {-1, 0, 0},  {1, 0, 0},   {0, 1, 0},   {0, 0, 1},   {0, 0, 0}};

const std::vector<GmshType> gmsh_types_of_second_order = {
    {9, CellShape::triangle6, {{0, 0}, {1, 0}, {0, 1}, {0.5, 0}, {0.5, 0.5}, {0, 0.5}}},
    {16,
     CellShape::quadrilateral8,
     {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {0, -1}, {1, 0}, {0, 1}, {-1, 0}}},
    {10,
     CellShape::quadrilateral9,
     {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {0, -1}, {1, 0}, {0, 1}, {-1, 0}, {0, 0}}},
    {11,
     CellShape::tetrahedron10,
     {{0, 0, 0},
      {1, 0, 0},
      {0, 1, 0},
      {0, 0, 1},
      {0.5, 0, 0},
      {0.5, 0.5, 0},
      {0, 0.5, 0},
      {0, 0, 0.5},
      {0, 0.5, 0.5},
      {0.5, 0, 0.5}}},
    {17, CellShape::hexahedron20, {gmsh_hexahedron.begin(), gmsh_hexahedron.begin() + 20}},
    {12, CellShape::hexahedron27, gmsh_hexahedron},
    {18,
     CellShape::prism15,
     {{0, 0, -1},
      {1, 0, -1},
      {0, 1, -1},
      {0, 0, 1},
      {1, 0, 1},
      {0, 1, 1},
      {0.5, 0, -1},
      {0, 0.5, -1},
      {0, 0, 0},
      {0.5, 0.5, -1},
      {1, 0, 0},
      {0, 1, 0},
      {0.5, 0, 1},
      {0, 0.5, 1},
      {0.5, 0.5, 1}}},
    {6, CellShape::prism, {{0, 0, -1}, {1, 0, -1}, {0, 1, -1}, {0, 0, 1}, {1, 0, 1}, {0, 1, 1}}},
    {7, CellShape::pyramid, {{-1, -1, 0}, {1, -1, 0}, {1, 1, 0}, {-1, 1, 0}, {0, 0, 1}}}};

/// One element in a file of a version, text or binary.
std::string one_element(const GmshType& type, bool version_4, bool binary, bool mirrored) {
    const auto count = int(type.nodes.size());
    Bytes bytes(false);
    const auto ints = [&](const std::vector<std::int32_t>& numbers) {
        if (binary) return void(bytes.ints(numbers));
        for (const int number : numbers) bytes.text(std::to_string(number) + " ");
    };
    const auto sizes = [&](const std::vector<std::int64_t>& numbers) {
        if (!version_4) return ints({numbers.begin(), numbers.end()});
        if (binary) return void(bytes.sizes(numbers));
        for (const auto number : numbers) bytes.text(std::to_string(number) + " ");
    };
    const auto add_point = [&](int k) {
        std::array<double, 3> at = type.nodes[std::size_t(k)];
        if (mirrored) at[0] = -at[0];
        if (binary) return void(bytes.reals({at[0], at[1], at[2]}));
        for (const double x : at) bytes.text(shortest(x) + " ");
    };
    bytes.text(std::string("$MeshFormat\n") + (version_4 ? "4.1" : "2.2") +
               (binary ? " 1 8\n" : " 0 8\n"));
    if (binary) bytes.ints({1});
    bytes.text(binary ? "\n$EndMeshFormat\n$Nodes\n" : "$EndMeshFormat\n$Nodes\n");
    const int d = dimensions(type.shape);
    std::vector<std::int64_t> tags;
    for (int k = 0; k < count; ++k) tags.push_back(10 + k);
    if (version_4) {
        sizes({1, count, 10, 10 + count - 1});
        ints({d, 1, 0});
        sizes({count});
        sizes(tags);
        for (int k = 0; k < count; ++k) add_point(k);
    } else {
        bytes.text(std::to_string(count) + "\n");
        for (int k = 0; k < count; ++k) {
            ints({10 + k});
            add_point(k);
        }
    }
    bytes.text("\n$EndNodes\n$Elements\n");
    if (version_4) {
        sizes({1, 1, 1, 1});
        ints({d, 1, type.type});
        sizes({1});
        sizes({1});
    } else {
        bytes.text("1\n");
        if (binary) ints({type.type, 1, 0, 1});
        if (!binary) ints({1, type.type, 0});
    }
    sizes(tags);
    return bytes.text("\n$EndElements\n").all();
}

/// The nodes are where those of the CellShape are, whatever the order in the file; an element that
/// stands wrong is turned round: the mirror image of the reference cell at x = y.
TEST_F(gmsh, reads_every_element_in_every_kind_of_file) {
    for (const GmshType& type : gmsh_types_of_second_order) {
        for (int kind = 0; kind < 8; ++kind) {
            SCOPED_TRACE(std::string(to_string(type.shape)) + ", kind " + std::to_string(kind));
            const bool mirrored = kind & 4;
            const Mesh mesh =
                parse_gmsh({test::host(), one_element(type, kind & 1, kind & 2, mirrored), "f"});
            ASSERT_EQ(mesh.elements.size(), 1u);
            ASSERT_EQ(mesh.elements[0].shape, type.shape);
            const int d = mesh.dimensions;
            ASSERT_EQ(int(mesh.elements[0].nodes.size()), node_count(type.shape));
            for (int k = 0; k < node_count(type.shape); ++k) {
                std::array<double, 3> expected = node_point(type.shape, k);
                if (mirrored) {
                    std::swap(expected[0], expected[1]);
                    expected[0] = -expected[0];
                }
                for (int i = 0; i < d; ++i) {
                    EXPECT_EQ(mesh.points[std::size_t(mesh.elements[0].nodes[k] * d + i)],
                              expected[std::size_t(i)])
                        << k;
                }
            }
        }
    }
}

TEST_F(gmsh, elements_may_have_any_size) {
    for (const std::string size : {"1e-200", "1e+200"}) {
        const std::vector<std::string> points = {"0 0 0", size + " 0 0", "0 " + size + " 0",
                                                 "0 0 " + size};
        EXPECT_EQ(read_points("4", points), "3d 0,0,0 " + size + ",0,0 0," + size + ",0 0,0," +
                                                size + "; tetrahedron 0-1-2-3");
        EXPECT_EQ(read_points("2", {points[0], points[2], points[1]}),
                  "2d 0,0 0," + size + " " + size + ",0; triangle 0-2-1");
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
              "f: the mesh has no solid elements, and its elements do not lie in a plane "
              "z = constant: z ranges from 0 to 1; rotate a plane mesh, or, of a solid, give the "
              "volume a physical group too, so that Gmsh saves its elements (or set Mesh.SaveAll = "
              "1)");
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

/// Element 2 is in surface3 and surface4; element 1 in the last one only.
const std::string overlapping =
    square +
    " triangle 0-1-2 0-2-3; regions 10: 'surface3' 'surface4'; 'surface4'(2) triangle 0-1-2 0-2-3";

TEST_F(gmsh, elements_in_two_groups) {
    EXPECT_EQ(read_22("3\n1 2 1 4 1 2 3\n2 2 1 3 1 3 4\n3 2 1 4 1 3 4"), overlapping);
    EXPECT_EQ(read_22("3\n1 2 1 4 1 2 3\n2 2 1 4 1 3 4\n3 2 1 -3 4 3 1"), overlapping);
    const std::string entities =
        section("Entities", "0 0 2 0\n1 0 0 0 1 1 0 1 4 0\n2 0 0 0 1 1 0 2 4 -3 0");
    EXPECT_EQ(read_41("2 2 1 2\n2 1 2 1\n1 1 2 3\n2 2 2 1\n2 1 3 4", entities + nodes_41),
              overlapping);
    // A group that is the region of all its elements is no other group, too.
    EXPECT_EQ(
        read_22("3\n1 2 1 3 1 2 3\n2 2 1 3 1 3 4\n3 2 1 4 1 3 4"),
        square + " triangle 0-1-2 0-2-3; regions 00: 'surface3'; 'surface4'(2) triangle 0-2-3");
}

/// Partition 1 has the first triangle of the square, partition 2 the second one and a ghost of the
/// first; curve 8 between them is a part of the surface.
std::string partitioned(const std::string& surfaces, const std::string& elements) {
    const std::string entities = "0 1 1 0\n3 0 0 0 1 0 0 1 5 0\n1 0 0 0 1 1 0 1 7 0";
    const std::string parts =
        "2\n1\n9 2\n0 2 2 0\n7 1 3 1 1 0 0 0 1 0 0 1 5 0\n"
        "8 2 1 2 1 2 0 0 0 1 1 0 0 0\n" +
        surfaces;
    return read_41(
        elements, section("Entities", entities) + section("PartitionedEntities", parts) + nodes_41);
}

TEST_F(gmsh, partitioned_meshes_are_read_as_a_whole) {
    const std::string elements =
        "5 5 1 5\n1 7 1 1\n1 1 2\n1 8 1 1\n2 1 3\n2 4 2 1\n3 1 2 3\n"
        "2 5 2 1\n4 1 3 4\n2 9 2 1\n3 1 2 3";
    const std::string whole =
        square + " triangle 0-1-2 0-2-3; regions 00: 'surface7'; 'curve5'(1) segment 0-1";
    for (const std::string& groups : {std::string("1 7"), std::string("0")}) {  // The parent's.
        const std::string surfaces =
            "4 2 1 1 1 0 0 0 1 1 0 " + groups + " 0\n5 2 1 1 2 0 0 0 1 1 0 " + groups + " 0";
        EXPECT_EQ(partitioned(surfaces, elements), whole);
        EXPECT_EQ(partitioned(surfaces, "2 2 1 2\n2 5 2 1\n4 1 3 4\n2 9 2 1\n3 1 2 3"),
                  "f: the file has no elements of partition 1 of 2; a mesh is read as a whole: "
                  "save it in one file (Gmsh's option Mesh.PartitionSplitMeshFiles = 0), or "
                  "without partitions");
    }
    EXPECT_EQ(partitioned("4 2 1 1 1 0 0 0 1 1 0 0 0\n4 2 1 1 2 0 0 0 1 1 0 0 0", elements),
              "f:17: the entity of dimension 2 with the tag 4 is listed twice");
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

}  // namespace
}  // namespace tessera::io
