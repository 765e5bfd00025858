#include <algorithm>

#include "io/file_sections.hpp"
#include "io/text.hpp"
#include "tessera/types.hpp"

namespace tessera::io {

namespace {

/// One <DataArray>: its size in bytes, and its sections of numbers.
struct VtuArray {
    std::string name;
    const char* type;
    int components;
    Offset bytes;
    std::vector<FileSection> sections;
    std::vector<std::string> component_names = {};
};

/// An array with number(k) for k in 0..count.
template <class Number>
VtuArray number_array(const std::string& name, const char* type, int components, Offset count,
                      Number number) {
    return {
        name, type, components, Offset(sizeof(number(0))) * count, {number_section(count, number)}};
}

/// An array of vectors; two components are padded to three by 0.
VtuArray reals(const std::string& name, int components, std::span<const double> values) {
    const Offset count = Offset(values.size());
    if (components != 2) {
        return number_array(name, "Float64", components, count,
                            [values](Offset k) { return values[std::size_t(k)]; });
    }
    return number_array(name, "Float64", 3, count / 2 * 3, [values](Offset k) {
        return k % 3 == 2 ? 0 : values[std::size_t(k / 3 * 2 + k % 3)];
    });
}

VtuArray field_array(const MeshField& field) {
    VtuArray array = reals(field.name, field.components, field.values);
    array.component_names = field.component_names;
    return array;
}

std::string escaped(std::string_view text) {
    constexpr std::string_view special = "&<>\"";
    constexpr const char* entities[] = {"&amp;", "&lt;", "&gt;", "&quot;"};
    std::string xml;
    for (const char c : text) {
        const std::size_t index = special.find(c);
        xml += index == std::string_view::npos ? std::string(1, c) : entities[index];
    }
    return xml;
}

/// VTK's number of a CellShape.
constexpr unsigned char vtk_types[cell_shape_count] = {1,  3,  5,  9,  10, 12, 13, 14,
                                                       21, 22, 23, 28, 24, 26, 25, 29};

void check_fields(const std::vector<MeshField>& fields, Index count, const char* places,
                  std::vector<std::string> names) {
    for (const MeshField& field : fields) {
        const auto require_field = [&](bool condition, const auto&... problem) {
            require(condition, "write_vtu: the field ", Quoted{field.name}, problem...);
        };
        require(!field.name.empty(), "write_vtu: a field has no name");
        const auto has_control = [](const std::string& name) {
            return std::ranges::any_of(name, [](unsigned char c) { return c < ' '; });
        };
        require(!has_control(field.name), "write_vtu: the name of the field ", Quoted{field.name},
                " holds a control character");
        require_field(field.components >= 1, " has no components");
        require_field(field.component_names.empty() ||
                          field.component_names.size() == std::size_t(field.components),
                      " has ", field.component_names.size(), " names for ", field.components,
                      " components");
        require_field(std::ranges::none_of(field.component_names, has_control),
                      " has a component whose name holds a control character");
        require_field(Offset(field.values.size()) == Offset(count) * field.components, " has ",
                      field.values.size(), " values, not ", field.components, " for each of ",
                      count, " ", places);
        require_field(field.values.data() != nullptr || field.values.empty(), " is null");
        names.push_back(field.name);
    }
    std::ranges::sort(names);
    const auto twice = std::ranges::adjacent_find(names);
    if (twice == names.end()) return;
    throw InvalidArgument(concat("write_vtu: two fields have the name ", Quoted{*twice}));
}

/// The connectivity, the end of each element in it, and the types.
std::vector<VtuArray> cell_arrays(const Mesh& mesh) {
    VtuArray nodes{"connectivity", "Int32", 1, 0, {}};
    VtuArray ends{"offsets", "Int64", 1, 0, {}};
    VtuArray types{"types", "UInt8", 1, 0, {}};
    const auto append = [](VtuArray& array, Offset count, auto number) {
        array.bytes += Offset(sizeof(number(0))) * count;
        array.sections.push_back(number_section(count, number));
    };
    Offset before = 0;
    for (const Cells& cells : mesh.elements) {
        const Offset size = Offset(cells.nodes.size()), step = node_count(cells.shape);
        const unsigned char type = vtk_types[int(cells.shape)];
        append(nodes, size, [&cells](Offset k) { return cells.nodes[std::size_t(k)]; });
        append(ends, size / step, [=](Offset k) { return before + (k + 1) * step; });
        append(types, size / step, [type](Offset) { return type; });
        before += size;
    }
    return {nodes, ends, types};
}

/// Arrays by the XML element that contains them.
using VtuArrays = std::vector<std::pair<std::string, std::vector<VtuArray>>>;

VtuArrays arrays_of(const Mesh& mesh, std::span<const MeshField> node_fields,
                    std::span<const MeshField> element_fields) {
    std::vector<VtuArray> node_data, element_data;
    for (const MeshField& field : node_fields) {
        node_data.push_back(field_array(field));
    }
    if (!mesh.regions.empty()) {
        const auto region = [&mesh](Offset k) { return mesh.regions[std::size_t(k)]; };
        element_data.push_back(
            number_array("region", "Int32", 1, Offset(mesh.regions.size()), region));
    }
    for (const MeshField& field : element_fields) {
        element_data.push_back(field_array(field));
    }
    return {{"PointData", node_data},
            {"CellData", element_data},
            {"Points", {reals("Points", mesh.dimensions, mesh.points)}},
            {"Cells", cell_arrays(mesh)}};
}

/// The XML before the appended data.
std::string heading(const Mesh& mesh, const VtuArrays& arrays) {
    std::string xml = concat(
        "<?xml version=\"1.0\"?>\n"
        "<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" "
        "header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece NumberOfPoints=\"",
        mesh.node_count(), "\" NumberOfCells=\"", mesh.element_count(), "\">\n");
    Offset offset = 0;
    for (const auto& [name, list] : arrays) {
        xml += concat("<", name, ">\n");
        for (const VtuArray& array : list) {
            xml += concat("<DataArray type=\"", array.type, "\" Name=\"", escaped(array.name),
                          "\" NumberOfComponents=\"", array.components, "\"");
            for (std::size_t k = 0; k < array.component_names.size(); ++k) {
                xml += concat(" ComponentName", k, "=\"", escaped(array.component_names[k]), "\"");
            }
            xml += concat(" format=\"appended\" offset=\"", offset, "\"/>\n");
            offset += Offset(sizeof(std::uint64_t)) + array.bytes;
        }
        xml += concat("</", name, ">\n");
    }
    return xml + "</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
}

}  // namespace

void write_vtu(const Context& cpu, const std::string& path, const Mesh& mesh,
               const std::vector<MeshField>& node_fields,
               const std::vector<MeshField>& element_fields) {
    require_cpu(cpu, "write_vtu");
    validate(mesh);
    check_fields(node_fields, mesh.node_count(), "nodes", {});
    std::vector<std::string> taken;
    if (!mesh.regions.empty()) taken.push_back("region");
    check_fields(element_fields, mesh.element_count(), "elements", taken);
    const VtuArrays arrays = arrays_of(mesh, node_fields, element_fields);
    std::vector<FileSection> sections{text_section(heading(mesh, arrays))};
    for (const auto& [name, list] : arrays) {
        for (const VtuArray& array : list) {
            std::string size;
            append_number(size, std::uint64_t(array.bytes));
            sections.push_back(text_section(size));
            sections.insert(sections.end(), array.sections.begin(), array.sections.end());
        }
    }
    sections.push_back(text_section("\n</AppendedData>\n</VTKFile>\n"));
    write_sections(cpu, path, false, sections);
}

}  // namespace tessera::io
