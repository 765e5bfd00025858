#include <algorithm>
#include <bit>
#include <functional>

#include "io/output_file.hpp"
#include "io/text.hpp"
#include "tessera/error.hpp"

namespace tessera::io {

namespace {

static_assert(std::endian::native == std::endian::little);

constexpr Offset piece_numbers = 1 << 16;

/// One <DataArray>: `count` numbers, of which append(k, bytes) writes the one at k.
struct VtuArray {
    std::string name;
    const char* type;
    int bytes_each;
    int components;
    Offset count;
    std::function<void(Offset, std::string&)> append;

    Offset bytes() const { return bytes_each * count; }
};

template <class Number>
void append_number(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof(Number));
}

std::string escaped(std::string_view text) {
    std::string xml;
    for (const char c : text) {
        switch (c) {
            case '&':
                xml += "&amp;";
                break;
            case '<':
                xml += "&lt;";
                break;
            case '>':
                xml += "&gt;";
                break;
            case '"':
                xml += "&quot;";
                break;
            default:
                xml += c;
        }
    }
    return xml;
}

unsigned char vtk_type(CellShape shape) {
    switch (shape) {
        case CellShape::point:
            return 1;
        case CellShape::segment:
            return 3;
        case CellShape::triangle:
            return 5;
        case CellShape::quadrilateral:
            return 9;
        case CellShape::tetrahedron:
            return 10;
        case CellShape::hexahedron:
            return 12;
    }
    return 0;
}

[[noreturn]] void refuse(const std::string& reason) {
    throw InvalidArgument("write_vtu: " + reason);
}

void check_mesh(const Mesh& mesh) {
    if (mesh.dimensions != 2 && mesh.dimensions != 3) refuse("a mesh has 2 or 3 dimensions");
    if (mesh.points.size() % std::size_t(mesh.dimensions) != 0) {
        refuse("the points of the mesh do not have " + std::to_string(mesh.dimensions) +
               " coordinates each");
    }
    const Index nodes = mesh.node_count();
    for (const Cells& cells : mesh.elements) {
        if (cells.nodes.size() % std::size_t(corners(cells.shape)) != 0) {
            refuse(std::string("an element lacks corners of a ") + to_string(cells.shape));
        }
        for (const Index node : cells.nodes) {
            if (node >= 0 && node < nodes) continue;
            refuse("an element has the node " + std::to_string(node) + " of a mesh of " +
                   std::to_string(nodes) + " nodes");
        }
    }
    if (!mesh.regions.empty() && mesh.regions.size() != std::size_t(mesh.element_count())) {
        refuse("the mesh has " + std::to_string(mesh.element_count()) + " elements and " +
               std::to_string(mesh.regions.size()) + " regions of elements");
    }
}

void check_fields(const std::vector<MeshField>& fields, Index count, const char* places,
                  std::vector<std::string> names) {
    for (const MeshField& field : fields) {
        if (field.name.empty()) refuse("a field has no name");
        for (const char c : field.name) {
            if (static_cast<unsigned char>(c) < ' ') {
                refuse("the name of the field " + shown(field.name) + " holds a control character");
            }
        }
        if (field.components < 1) refuse("the field " + shown(field.name) + " has no components");
        if (Offset(field.values.size()) != Offset(count) * field.components) {
            refuse("the field " + shown(field.name) + " has " +
                   std::to_string(field.values.size()) + " values, not " +
                   std::to_string(field.components) + " for each of " + std::to_string(count) +
                   " " + places);
        }
        names.push_back(field.name);
    }
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) refuse("two fields have the name " + shown(*twice));
}

/// Numbers of `components` each, as three where they are two.
VtuArray reals(const std::string& name, int components, std::span<const double> values) {
    const Offset count = Offset(values.size());
    if (components != 2) {
        return {name,
                "Float64",
                8,
                components,
                count,
                [values](Offset k, std::string& bytes) {
                    append_number(bytes, values[std::size_t(k)]); }};
    }
    return {name, "Float64", 8, 3, count / 2 * 3, [values](Offset k, std::string& bytes) {
                append_number(bytes, k % 3 == 2 ? 0 : values[std::size_t(k / 3 * 2 + k % 3)]);
            }};
}

/// Cells of one shape among the arrays of all of them.
struct VtuCells {
    const Cells* cells;
    Offset first_element;
    Offset first_corner;
};

/// The last of `all` that does not begin behind k.
const VtuCells& found(const std::vector<VtuCells>& all, Offset VtuCells::*first, Offset k) {
    const auto behind =
        std::upper_bound(all.begin(), all.end(), k,
                         [first](Offset at, const VtuCells& cells) { return at < cells.*first; });
    return *(behind - 1);
}

struct VtuArrays {
    std::vector<VtuArray> node_data, element_data, points, cells;
};

std::vector<VtuArray> cell_arrays(const Mesh& mesh) {
    std::vector<VtuCells> all;
    Offset elements = 0;
    Offset all_corners = 0;
    for (const Cells& cells : mesh.elements) {
        if (cells.nodes.empty()) continue;
        all.push_back({&cells, elements, all_corners});
        all_corners += Offset(cells.nodes.size());
        elements += Offset(cells.nodes.size()) / corners(cells.shape);
    }
    return {
        {"connectivity", "Int32", 4, 1, all_corners,
         [all](Offset k, std::string& bytes) {
             const VtuCells& cells = found(all, &VtuCells::first_corner, k);
             append_number(bytes, cells.cells->nodes[std::size_t(k - cells.first_corner)]);
         }},
        {"offsets", "Int64", 8, 1, elements,
         [all](Offset k, std::string& bytes) {
             const VtuCells& cells = found(all, &VtuCells::first_element, k);
             append_number(bytes, cells.first_corner +
                                      (k - cells.first_element + 1) * corners(cells.cells->shape));
         }},
        {"types", "UInt8", 1, 1, elements, [all](Offset k, std::string& bytes) {
             append_number(bytes, vtk_type(found(all, &VtuCells::first_element, k).cells->shape));
         }}};
}

VtuArrays arrays_of(const Mesh& mesh, const MeshFields& fields) {
    VtuArrays arrays;
    for (const MeshField& field : fields.nodes) {
        arrays.node_data.push_back(reals(field.name, field.components, field.values));
    }
    if (!mesh.regions.empty()) {
        const std::vector<int>& regions = mesh.regions;
        arrays.element_data.push_back({"region", "Int32", 4, 1, Offset(regions.size()),
                                       [&regions](Offset k, std::string& bytes) {
                                           append_number(bytes, regions[std::size_t(k)]);
                                       }});
    }
    for (const MeshField& field : fields.elements) {
        arrays.element_data.push_back(reals(field.name, field.components, field.values));
    }
    arrays.points = {reals("Points", mesh.dimensions, mesh.points)};
    arrays.cells = cell_arrays(mesh);
    return arrays;
}

/// The XML in front of the appended data.
std::string heading(const Mesh& mesh, const VtuArrays& arrays) {
    std::string xml =
        "<?xml version=\"1.0\"?>\n"
        "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
        "header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"" +
        std::to_string(mesh.node_count()) + "\" NumberOfCells=\"" +
        std::to_string(mesh.element_count()) + "\">\n";
    Offset at = 0;
    const auto section = [&](const std::string& name, const std::vector<VtuArray>& list) {
        xml += "<" + name + ">\n";
        for (const VtuArray& array : list) {
            xml += std::string("<DataArray type=\"") + array.type + "\" Name=\"" +
                   escaped(array.name) + "\" NumberOfComponents=\"" +
                   std::to_string(array.components) + "\" format=\"appended\" offset=\"" +
                   std::to_string(at) + "\"/>\n";
            at += Offset(sizeof(std::uint64_t)) + array.bytes();
        }
        xml += "</" + name + ">\n";
    };
    section("PointData", arrays.node_data);
    section("CellData", arrays.element_data);
    section("Points", arrays.points);
    section("Cells", arrays.cells);
    return xml + "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
}

/// Part of the appended data: numbers of one array, in front of the first of them their bytes.
struct VtuPiece {
    const VtuArray* array;
    Offset first;

    std::string make() const {
        std::string bytes;
        if (first == 0) append_number(bytes, std::uint64_t(array->bytes()));
        const Offset end = std::min(array->count, first + piece_numbers);
        for (Offset k = first; k < end; ++k) array->append(k, bytes);
        return bytes;
    }
};

}  // namespace

void write_vtu(const Context& cpu, const std::string& path, const Mesh& mesh,
               const MeshFields& fields) {
    require_cpu(cpu, "write_vtu");
    check_mesh(mesh);
    check_fields(fields.nodes, mesh.node_count(), "nodes", {});
    std::vector<std::string> taken;
    if (!mesh.regions.empty()) taken.push_back("region");
    check_fields(fields.elements, mesh.element_count(), "elements", taken);
    const VtuArrays arrays = arrays_of(mesh, fields);
    std::vector<VtuPiece> pieces;
    for (const auto* list :
         {&arrays.node_data, &arrays.element_data, &arrays.points, &arrays.cells}) {
        for (const VtuArray& array : *list) {
            pieces.push_back({&array, 0});
            for (Offset k = piece_numbers; k < array.count; k += piece_numbers) {
                pieces.push_back({&array, k});
            }
        }
    }
    const Offset last = Offset(pieces.size()) + 1;
    write_pieces(cpu, path, false, last + 1, [&](Offset k) {
        if (k == 0) return heading(mesh, arrays);
        if (k == last) return std::string("\n</AppendedData>\n</VTKFile>\n");
        return pieces[std::size_t(k - 1)].make();
    });
}

}  // namespace tessera::io
