#include "io/gmsh/test_gmsh.hpp"

namespace tessera::io {
namespace {

TEST(gmsh_errors, other_versions_and_kinds) {
    EXPECT_EQ(read(section("MeshFormat", "4 0 8")),
              "f:2: version '4' of Gmsh's format is not supported; write 4.1 or 2.2 (gmsh OLD.msh "
              "-save -format msh41 -o NEW.msh)");
    EXPECT_EQ(read(section("MeshFormat", "4.1 2 8")), "f:2: the file type '2' is too large");
    EXPECT_EQ(read("$MeshFormat\n4.1 1 4\n"),
              "f:2: binary numbers of 4 bytes are not supported, only of 8");
    EXPECT_EQ(read("$MeshFormat\n4.1 1 8\nabcd"),
              "f: byte 20: expected the number 1, which gives the byte order");
    EXPECT_EQ(read("$MeshFormat\n4.1 0"), "f:2: the file ends where the data size should be");
}

TEST(gmsh_errors, elements_that_it_does_not_know) {
    const std::string order =
        " is not supported; only elements of first and second order are, pyramids of first "
        "(Mesh.ElementOrder = ";
    EXPECT_EQ(read_22("1\n1 21 2 0 1 1 2 3 4 1 2 3 4 1 2"),
              "f:13: element type 21" + order + "2, or gmsh -order 2)");
    EXPECT_EQ(read_41("1 1 1 1\n3 1 29 1\n1 1 2 3 4"),
              "f:18: element type 29" + order + "2, or gmsh -order 2)");
    EXPECT_EQ(read_22("1\n1 14 0 1 2 3 4"),
              "f:13: element type 14 (pyramid of second order)" + order + "1, or gmsh -order 1)");
    EXPECT_EQ(read_22("1\n1 13 0 1 2 3 4"),
              "f:13: element type 13" + order +
                  "2, or gmsh -order 2, with Mesh.SecondOrderIncomplete = 1 for prisms)");
}

/// A fault of the whole file has no position in it.
TEST(gmsh_errors, binary_files_without_elements) {
    Bytes binary(false);
    binary.text("$MeshFormat\n2.2 1 8\n").ints({1}).text("\n$EndMeshFormat\n$Nodes\n1\n");
    binary.ints({1}).reals({0, 0, 0}).text("\n$EndNodes\n");
    EXPECT_TRUE(read(binary.all()).starts_with("f: the mesh has no triangles"));
}

TEST(gmsh_errors, wrong_counts) {
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

TEST(gmsh_errors, what_is_no_number) {
    EXPECT_EQ(read_22("1", section("Nodes", "1\n1 0 zero 0")), "f:6: y 'zero' is not a number");
    EXPECT_EQ(read_22("1", section("Nodes", "1\n1 0 0 nan")), "f:6: z 'nan' is not finite");
    EXPECT_EQ(read_22("1", section("Nodes", "1\n9223372036854775808 0 0 0")),
              "f:6: the tag of a node '9223372036854775808' is out of range");
    EXPECT_EQ(read_22("1", section("Nodes", "2\n1 0 0\n2 1 0")),
              "f:8: expected y, found '$EndNodes': numbers are missing in this section (a node has "
              "a tag, x, y and z)");
    Bytes binary(false);
    binary.text("$MeshFormat\n2.2 1 8\n").ints({1}).text("\n$EndMeshFormat\n$Nodes\n1\n");
    const std::size_t start = binary.all().size();
    EXPECT_EQ(read(binary.ints({1}).reals({0, INFINITY, 0}).all()),
              "f: byte " + std::to_string(start + 12) + ": y is not finite");
}

TEST(gmsh_errors, nodes_and_entities_that_are_missing_or_twice_there) {
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

TEST(gmsh_errors, groups_that_are_not_clear) {
    const std::string twice =
        ": it would count twice; remove such copies (in Gmsh's Python interface "
        "gmsh.model.mesh.removeDuplicateElements())";
    EXPECT_EQ(read_22("2\n1 2 1 3 1 2 3\n2 2 1 3 3 1 2"),
              "f:14: element 2 has the nodes of element 1, and both are in the physical group "
              "'surface3'" +
                  twice);
    EXPECT_EQ(read_22("3\n1 2 1 3 1 2 3\n2 2 1 4 3 1 2\n7 2 1 -4 3 1 2"),
              "f:15: element 7 has the nodes of element 2, and both are in the physical group "
              "'surface4'" +
                  twice);
    EXPECT_EQ(
        read_22("2\n1 2 0 1 2 3\n2 2 0 3 1 2"),
        "f:14: element 2 has the nodes of element 1, and neither is in a physical group" + twice);
    EXPECT_EQ(read_22("3\n1 2 1 3 1 2 3\n8 1 1 5 1 2\n9 1 1 5 2 1"),
              "f:15: element 9 has the nodes of element 8, and both are in the physical group "
              "'curve5'" +
                  twice);
    EXPECT_EQ(read_22("2\n1 9 1 3 1 2 3 4 5 6\n2 9 1 3 2 3 1 5 6 4",
                      section("Nodes", "6\n1 0 0 0\n2 2 0 0\n3 0 2 0\n4 1 0 0\n5 1 1 0\n6 0 1 0")),
              "f:16: element 2 has the nodes of element 1, and both are in the physical group "
              "'surface3'" +
                  twice);
    const auto named = [](const std::string& names) {
        return read(format_22 + section("PhysicalNames", names) + nodes_22 +
                    section("Elements", "3\n1 15 1 1 1\n2 1 1 1 1 2\n3 3 1 1 1 2 3 4"));
    };
    EXPECT_EQ(named("3\n0 1 \"a b\"\n2 1 \"a b\"\n1 1 \"\""),
              square +
                  " quadrilateral 0-1-2-3; regions 0: 'a b'; 'a b'(0) point 0; 'curve1'(1) "
                  "segment 0-1");
    EXPECT_EQ(named("2\n0 1 \"a\"\n1 1 \"a\""), "f:7: two physical groups have the name 'a'");
    EXPECT_EQ(named("1\n0 1 \"a"), "f:6: expected a name in quotes, found '\"a'");
    EXPECT_EQ(named("1\n0 1 a b"), named("1\n0 1 \"a b\""));
    EXPECT_EQ(named("2\n1 1 \"a\"\n1 1 \"b\""),
              "f:7: the group of dimension 1 with the tag 1 has two names");
}

}  // namespace
}  // namespace tessera::io
