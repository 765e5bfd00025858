#include <filesystem>
#include <limits>

#include "io/io_test.hpp"
#include "support/program.hpp"

namespace tessera::io {
namespace {

/// A triangle and a square, then a triangle again.
Mesh plate() {
    Mesh mesh;
    mesh.points = {0, 0, 1, 0, 1, 1, 0, 1, 2, 0.1};
    mesh.elements = {{CellShape::triangle, {1, 4, 2}},
                     {CellShape::quadrilateral, {0, 1, 2, 3}},
                     {CellShape::triangle, {}}};
    mesh.regions = {1, 0};
    return mesh;
}

/// Elements of both three-dimensional shapes.
Mesh solid() {
    Mesh mesh;
    mesh.dimensions = 3;
    mesh.points = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0,
                   1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 0, -1};
    mesh.elements = {{CellShape::tetrahedron, {0, 3, 1, 8, 1, 3, 2, 8}},
                     {CellShape::hexahedron, {0, 1, 2, 3, 4, 5, 6, 7}}};
    return mesh;
}

template <class T>
std::string raw(const std::vector<T>& numbers) {
    return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)};
}

template <class T>
std::string hex(const std::vector<T>& numbers) {
    std::string text;
    for (const char byte : raw(numbers)) {
        for (const int digit : {(byte >> 4) & 15, byte & 15}) text += "0123456789abcdef"[digit];
    }
    return text;
}

std::string error_message(const Mesh& mesh, const std::vector<MeshField>& node_fields = {},
                          const std::vector<MeshField>& element_fields = {}) {
    return outcome([&] {
        write_vtu(test::host(), test::scratch_folder() + "/a.vtu", mesh, node_fields,
                  element_fields);
        return std::string();
    });
}

/// Files, and what another program reads in them.
class vtu : public test::ProgramTest {
  protected:
    /// The arrays that meshio finds in the file, one line per array.
    std::string contents(const std::string& name) {
        const test::Outcome result = wait(start({python_, script_, path(name)}));
        EXPECT_EQ(result.code, 0) << result.err;
        return result.out;
    }

    /// A Python that has meshio: Debian's, or another one.
    bool has_meshio() {
        if (!std::filesystem::exists(script_)) return false;
        for (const char* python : {"/usr/bin/python3", "/usr/local/bin/python3"}) {
            if (!std::filesystem::exists(python)) continue;
            if (wait(start({python, "-c", "import meshio"})).code != 0) continue;
            python_ = python;
            return true;
        }
        return false;
    }

  private:
    const std::string script_ =
        std::filesystem::absolute(std::filesystem::path(__FILE__).parent_path() /
                                  "../../tests/vtu_contents.py")
            .string();
    std::string python_;
};

TEST_F(vtu, holds_what_the_format_asks_for) {
    Mesh mesh = plate();
    const std::vector<double> moved = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    const std::vector<double> energy = {0.1, -1};
    write_vtu(test::host(), path("a.vtu"), mesh, {{"u & <v>", 2, moved, {"x", "<y>"}}},
              {{"energy", 1, energy}});
    const auto array = [](const char* type, const char* name, int components, int offset,
                          const char* names = "") {
        return std::string("<DataArray type=\"") + type + "\" Name=\"" + name +
               "\" NumberOfComponents=\"" + std::to_string(components) + "\"" + names +
               " format=\"appended\" offset=\"" + std::to_string(offset) + "\"/>\n";
    };
    const auto block = [](const auto& numbers) {
        const std::string bytes = raw(numbers);
        return raw(std::vector<std::uint64_t>{bytes.size()}) + bytes;
    };
    EXPECT_EQ(read_text(path("a.vtu")),
              "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
              "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece "
              "NumberOfPoints=\"5\" NumberOfCells=\"2\">\n<PointData>\n" +
                  array("Float64", "u &amp; &lt;v&gt;", 3, 0,
                        " ComponentName0=\"x\" ComponentName1=\"&lt;y&gt;\"") +
                  "</PointData>\n<CellData>\n" + array("Int32", "region", 1, 128) +
                  array("Float64", "energy", 1, 144) + "</CellData>\n<Points>\n" +
                  array("Float64", "Points", 3, 168) + "</Points>\n<Cells>\n" +
                  array("Int32", "connectivity", 1, 296) + array("Int64", "offsets", 1, 332) +
                  array("UInt8", "types", 1, 356) +
                  "</Cells>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_" +
                  block(std::vector<double>{1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0, 9, 10, 0}) +
                  block(std::vector<int>{1, 0}) + block(energy) +
                  block(std::vector<double>{0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0.1, 0}) +
                  block(std::vector<int>{1, 4, 2, 0, 1, 2, 3}) +
                  block(std::vector<std::int64_t>{3, 7}) + block(std::vector<std::uint8_t>{5, 9}) +
                  "\n</AppendedData>\n</VTKFile>\n");
}

TEST_F(vtu, another_program_reads_the_same_mesh_and_fields) {
    if (!has_meshio())
        GTEST_SKIP() << "tests/vtu_contents.py or a Python with meshio (Debian: "
                        "python3-meshio) is not there";
    const Mesh flat = plate();
    const std::vector<double> moved = {1, -2, 3, 4, 5e-324, 6, 7, 0.1, 9, 1e308};
    const std::vector<double> stress = {1, 2, 3, 4, 5, 1.0 / 3};
    write_vtu(test::host(), path("flat.vtu"), flat, {{"moved", 2, moved}}, {{"s", 3, stress}});
    EXPECT_EQ(contents("flat.vtu"),
              "points float64 5x3 " + hex<double>({0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0.1, 0}) +
                  "\ntriangle int32 1x3 " + hex<int>({1, 4, 2}) + "\nquad int32 1x4 " +
                  hex<int>({0, 1, 2, 3}) + "\nnode moved float64 5x3 " +
                  hex<double>({1, -2, 0, 3, 4, 0, 5e-324, 6, 0, 7, 0.1, 0, 9, 1e308, 0}) +
                  "\nelement region int32 1x1 " + hex<int>({1}) + "\nelement region int32 1x1 " +
                  hex<int>({0}) + "\nelement s float64 1x3 " + hex<double>({1, 2, 3}) +
                  "\nelement s float64 1x3 " + hex<double>({4, 5, 1.0 / 3}) + "\n");

    const Mesh cube = solid();
    const std::vector<double> heat = {0, 1, 2, 3, 4, 5, 6, 7, -0.0};
    const std::vector<double> tensor(27, std::numeric_limits<double>::quiet_NaN());
    write_vtu(test::host(), path("cube.vtu"), cube, {{"heat", 1, heat}}, {{"t", 9, tensor}});
    EXPECT_EQ(contents("cube.vtu"),
              "points float64 9x3 " + hex(cube.points) + "\ntetra int32 2x4 " +
                  hex(cube.elements[0].nodes) + "\nhexahedron int32 1x8 " +
                  hex(cube.elements[1].nodes) + "\nnode heat float64 9x1 " + hex(heat) +
                  "\nelement t float64 2x9 " + hex(std::vector(tensor.begin(), tensor.end() - 9)) +
                  "\nelement t float64 1x9 " +
                  hex(std::vector(tensor.begin(), tensor.begin() + 9)) + "\n");
}

/// VTK's numbers of cell types (vtkCellType.h), and the nodes in their order.
TEST_F(vtu, has_cells_of_every_shape) {
    const auto written = [&](int dimensions, const std::vector<CellShape>& shapes) {
        Mesh mesh;
        mesh.dimensions = dimensions;
        for (const CellShape shape : shapes) {
            Cells cells{shape, {}};
            for (int k = 0; k < node_count(shape); ++k) {
                cells.nodes.push_back(mesh.node_count());
                for (int i = 0; i < dimensions; ++i) mesh.points.push_back(k + i * 0.5);
            }
            mesh.elements.push_back(cells);
        }
        write_vtu(test::host(), path("all.vtu"), mesh);
        const std::string text = read_text(path("all.vtu"));
        const std::size_t end = text.rfind("\n</AppendedData>");
        return std::vector<int>(text.begin() + std::ptrdiff_t(end - shapes.size()),
                                text.begin() + std::ptrdiff_t(end));
    };
    EXPECT_EQ(written(2, {CellShape::triangle, CellShape::quadrilateral, CellShape::triangle6,
                          CellShape::quadrilateral8, CellShape::quadrilateral9}),
              (std::vector<int>{5, 9, 22, 23, 28}));
    EXPECT_EQ(written(3, {CellShape::tetrahedron, CellShape::hexahedron, CellShape::prism,
                          CellShape::pyramid, CellShape::tetrahedron10, CellShape::prism15,
                          CellShape::hexahedron20, CellShape::hexahedron27}),
              (std::vector<int>{10, 12, 13, 14, 24, 26, 25, 29}));
}

TEST_F(vtu, large_arrays_are_written_in_pieces_that_do_not_depend_on_threads) {
    Mesh mesh;
    constexpr Index squares = 40000;  // Several pieces of each array.
    mesh.elements = {{CellShape::quadrilateral, {}}};
    for (Index k = 0; k <= squares; ++k) {
        mesh.points.insert(mesh.points.end(), {double(k), 0, double(k), 1});
        if (k == squares) break;
        mesh.elements[0].nodes.insert(mesh.elements[0].nodes.end(),
                                      {2 * k, 2 * k + 2, 2 * k + 3, 2 * k + 1});
    }
    write_vtu(test::host(1), path("a.vtu"), mesh);
    write_vtu(test::host(3), path("b.vtu"), mesh);
    const std::string bytes = read_text(path("a.vtu"));
    EXPECT_TRUE(bytes == read_text(path("b.vtu")));
    const std::size_t data = bytes.find("<AppendedData encoding=\"raw\">\n_") + 31;
    const std::size_t points = 8 + std::size_t(mesh.node_count()) * 24;
    const std::string nodes = raw(mesh.elements[0].nodes);
    EXPECT_TRUE(bytes.substr(data + points + 8, nodes.size()) == nodes);
    const std::string last_point = raw(std::vector<double>{squares, 1, 0});
    EXPECT_TRUE(bytes.substr(data + points - 24, 24) == last_point);
}

TEST_F(vtu, rejects_what_does_not_fit) {
    const std::vector<double> five(5);
    const Mesh mesh = plate();
    EXPECT_EQ(error_message(mesh, {{"", 1, five}}), "write_vtu: a field has no name");
    EXPECT_EQ(error_message(mesh, {{"a\nb", 1, five}}),
              "write_vtu: the name of the field 'a?b' holds a control character");
    EXPECT_EQ(error_message(mesh, {{"u", 0, five}}), "write_vtu: the field 'u' has no components");
    EXPECT_EQ(error_message(mesh, {{"u", 2, five}}),
              "write_vtu: the field 'u' has 5 values, not 2 for each of 5 nodes");
    EXPECT_EQ(error_message(mesh, {{"u", 1, five, {"x", "y"}}}),
              "write_vtu: the field 'u' has 2 names for 1 components");
    EXPECT_EQ(error_message(mesh, {{"u", 1, five, {"x\n"}}}),
              "write_vtu: the field 'u' has a component whose name holds a control character");
    EXPECT_EQ(error_message(mesh, {}, {{"u", 1, five}}),
              "write_vtu: the field 'u' has 5 values, not 1 for each of 2 elements");
    EXPECT_EQ(error_message(mesh, {{"u", 1, five}, {"u", 1, five}}),
              "write_vtu: two fields have the name 'u'");
    EXPECT_EQ(error_message(mesh, {}, {{"region", 1, std::span(five).first(2)}}),
              "write_vtu: two fields have the name 'region'");
    Mesh broken = mesh;
    broken.elements[0].nodes[1] = 5;
    EXPECT_EQ(error_message(broken),
              "element 0 (triangle) names node 5; the mesh has 5 nodes, counted from 0");
    broken = mesh;
    broken.elements[0].nodes.pop_back();
    EXPECT_EQ(error_message(broken),
              "elements of shape triangle name 2 nodes, not a multiple of 3");
    broken = mesh;
    broken.regions.pop_back();
    EXPECT_EQ(error_message(broken), "the mesh gives regions for 1 elements and has 2");
    broken = mesh;
    broken.points.pop_back();
    EXPECT_EQ(error_message(broken), "the mesh has 9 coordinates, not a multiple of 2");
    const std::string nowhere = path("none") + "/a.vtu";
    EXPECT_EQ(outcome([&] {
                  write_vtu(test::host(), nowhere, mesh);
                  return std::string();
              }),
              nowhere + ": cannot be written: No such file or directory");
}

}  // namespace
}  // namespace tessera::io
