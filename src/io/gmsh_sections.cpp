#include <limits>

#include "io/gmsh_input.hpp"
#include "tessera/error.hpp"

namespace tessera::io {

namespace {

constexpr Offset most_int = std::numeric_limits<int>::max();

/// The shape of a Gmsh element type.
CellShape shape_of(const GmshInput& input, int type) {
    switch (type) {
        case 1:
            return CellShape::segment;
        case 2:
            return CellShape::triangle;
        case 3:
            return CellShape::quadrilateral;
        case 4:
            return CellShape::tetrahedron;
        case 5:
            return CellShape::hexahedron;
        case 15:
            return CellShape::point;
        case 6:
        case 7:
            input.fail("element type " + std::to_string(type) +
                       (type == 6 ? " (prism)" : " (pyramid)") +
                       " is not supported; mesh with tetrahedra or hexahedra alone");
        default:
            input.fail("element type " + std::to_string(type) +
                       " is not supported; only elements of first order are (Mesh.ElementOrder = "
                       "1, or gmsh -order 1)");
    }
}

int dimension(GmshInput& input) {
    const int dimensions = input.integer("the dimension of an entity");
    if (dimensions < 0 || dimensions > 3) {
        input.fail("the dimension " + std::to_string(dimensions) + " is not within 0..3");
    }
    return dimensions;
}

/// Returns whether the file is of version 4.1.
bool read_format(GmshInput& input, GmshFile& file) {
    const std::string_view version = input.word("the version");
    if (version != "4.1" && version != "2.2") {
        input.fail("version " + shown(version) +
                   " of Gmsh's format is not supported; write 4.1 or 2.2 (gmsh -format msh41)");
    }
    const Offset kind = input.text_integer("the file type", 0, 1);
    const Offset bytes = input.text_integer("the data size", 1, 64);
    if (kind == 1) {
        if (bytes != 8) {
            input.fail("binary numbers of " + std::to_string(bytes) +
                       " bytes are not supported, only of 8");
        }
        file.binary = true;
        input.take_byte_order();
    }
    input.expect_end("MeshFormat");
    return version == "4.1";
}

/// Text also in binary files.
void read_names(GmshInput& input, GmshFile& file) {
    const Offset count = input.text_integer("the number of names", 0, most_int);
    for (Offset k = 0; k < count; ++k) {
        const int dimensions = int(input.text_integer("the dimension of a group", 0, 3));
        const int tag = int(input.text_integer("the tag of a group", 0, most_int));
        const GmshPlace place = input.place();
        const std::string_view quoted = input.rest_of_line();
        if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') {
            input.fail("expected a name in quotes, found " + shown(quoted));
        }
        const GmshGroupName named{std::string(quoted.substr(1, quoted.size() - 2)), place};
        if (!file.group_names.emplace(std::pair(dimensions, tag), named).second) {
            input.fail("the group of dimension " + std::to_string(dimensions) + " with the tag " +
                       std::to_string(tag) + " has two names");
        }
    }
}

/// The geometry of version 4.1, for its physical groups.
void read_entities(GmshInput& input, GmshFile& file) {
    file.has_entities = true;
    Offset counts[4];
    for (Offset& count : counts) count = input.size("the number of entities");
    for (int dimensions = 0; dimensions < 4; ++dimensions) {
        for (Offset k = 0; k < counts[dimensions]; ++k) {
            const int tag = input.integer("the tag of an entity");
            GmshPart& part = file.parts[std::size_t(file.part(dimensions, tag))];
            if (part.listed) {
                input.fail("the entity of dimension " + std::to_string(dimensions) +
                           " with the tag " + std::to_string(tag) + " is listed twice");
            }
            part.listed = true;
            const int coordinates = dimensions == 0 ? 3 : 6;
            for (int c = 0; c < coordinates; ++c) input.real("a bound of an entity");
            const Offset groups = input.size("the number of physical groups");
            input.check_count(groups, "physical groups", 1, 0);
            for (Offset g = 0; g < groups; ++g) {
                const int group = input.integer("the tag of a group");
                if (group == 0 || group == std::numeric_limits<int>::min()) {
                    input.fail("a physical group cannot have the tag " + std::to_string(group));
                }
                part.groups.push_back(group);
            }
            if (dimensions == 0) continue;
            const Offset bounding = input.size("the number of bounding entities");
            input.check_count(bounding, "bounding entities", 1, 0);
            for (Offset b = 0; b < bounding; ++b) input.integer("the tag of a bounding entity");
        }
    }
}

void read_point(GmshInput& input, GmshNodes& nodes) {
    nodes.points.push_back(input.real("x"));
    nodes.points.push_back(input.real("y"));
    nodes.points.push_back(input.real("z"));
}

void read_nodes_41(GmshInput& input, GmshFile& file) {
    GmshNodes& nodes = file.nodes;
    const Offset blocks = input.size("the number of blocks");
    const Offset claimed = input.size("the number of nodes");
    input.size("the least node");
    input.size("the greatest node");
    const std::size_t before = nodes.tags.size();
    for (Offset block = 0; block < blocks; ++block) {
        const int dimensions = dimension(input);
        input.integer("the tag of an entity");
        const int parametric = input.integer("the word that tells parametric nodes");
        if (parametric != 0 && parametric != 1) {
            input.fail("expected 0 or 1 (parametric), found " + std::to_string(parametric));
        }
        const int parameters = parametric == 1 ? dimensions : 0;
        const Offset count = input.size("the number of nodes");
        input.check_count(count, "nodes", 0, 4 + parameters);
        for (Offset k = 0; k < count; ++k) {
            nodes.tags.push_back(input.size("the tag of a node"));
            nodes.places.push_back(input.place());
        }
        for (Offset k = 0; k < count; ++k) {
            read_point(input, nodes);
            for (int p = 0; p < parameters; ++p) input.real("a parameter of a node");
        }
    }
    const Offset found = Offset(nodes.tags.size() - before);
    if (found != claimed) {
        input.fail("the blocks hold " + std::to_string(found) + " nodes, the section claims " +
                   std::to_string(claimed));
    }
}

void read_elements_41(GmshInput& input, GmshFile& file) {
    const Offset blocks = input.size("the number of blocks");
    const Offset claimed = input.size("the number of elements");
    input.size("the least element");
    input.size("the greatest element");
    Offset found = 0;
    for (Offset block = 0; block < blocks; ++block) {
        const int dimensions = dimension(input);
        const Index part = file.part(dimensions, input.integer("the tag of an entity"));
        const CellShape shape = shape_of(input, input.integer("the type of an element"));
        if (tessera::dimensions(shape) != dimensions) {
            input.fail(std::string("a ") + to_string(shape) + " in an entity of dimension " +
                       std::to_string(dimensions));
        }
        const Offset count = input.size("the number of elements");
        input.check_count(count, "elements", 0, 1 + corners(shape));
        GmshElements& elements = file.elements[int(shape)];
        for (Offset k = 0; k < count; ++k) {
            elements.tags.push_back(input.size("the tag of an element"));
            elements.places.push_back(input.place());
            elements.parts.push_back(part);
            for (int c = 0; c < corners(shape); ++c) {
                elements.nodes.push_back(input.size("the tag of a node"));
            }
        }
        found += count;
    }
    if (found != claimed) {
        input.fail("the blocks hold " + std::to_string(found) + " elements, the section claims " +
                   std::to_string(claimed));
    }
}

/// The counts of version 2.2 are lines of text, also in front of binary numbers.
Offset text_count(GmshInput& input, const char* what) {
    const Offset count = input.text_integer(what, 0, most_int);
    if (!input.rest_of_line().empty()) input.fail("expected nothing else in this line");
    input.skip_line_end();
    return count;
}

/// A tag of version 2.2, an int.
Offset tag_22(GmshInput& input, const char* what) {
    const int tag = input.integer(what);
    if (tag < 0) input.fail(std::string(what) + " " + std::to_string(tag) + " is negative");
    return tag;
}

void read_nodes_22(GmshInput& input, GmshFile& file, bool parametric) {
    const Offset count = text_count(input, "the number of nodes");
    input.check_count(count, "nodes", parametric ? 3 : 1, 3);
    for (Offset k = 0; k < count; ++k) {
        file.nodes.tags.push_back(tag_22(input, "the tag of a node"));
        file.nodes.places.push_back(input.place());
        read_point(input, file.nodes);
        if (!parametric) continue;
        const int dimensions = dimension(input);
        input.integer("the tag of an entity");
        const int parameters = dimensions == 3 ? 0 : dimensions;
        for (int p = 0; p < parameters; ++p) input.real("a parameter of a node");
    }
}

/// Tags and corners of one element; the first tag is that of its physical group, 0 for none.
void read_element_22(GmshInput& input, GmshFile& file, CellShape shape, Offset tag, int tags) {
    GmshElements& elements = file.elements[int(shape)];
    elements.tags.push_back(tag);
    elements.places.push_back(input.place());
    int group = 0;
    for (int t = 0; t < tags; ++t) {
        const int number = input.integer("a tag of an element");
        if (t == 0) group = number;
    }
    if (group == std::numeric_limits<int>::min()) input.fail("the tag of a group is too small");
    const Index part = file.part(dimensions(shape), group);
    if (group != 0) file.parts[std::size_t(part)].groups = {group};
    elements.parts.push_back(part);
    for (int c = 0; c < corners(shape); ++c) {
        elements.nodes.push_back(tag_22(input, "the tag of a node"));
    }
}

int tag_count(GmshInput& input) {
    const int tags = input.integer("the number of tags");
    input.check_count(tags, "tags", 1, 0);
    return tags;
}

void read_elements_22(GmshInput& input, GmshFile& file) {
    const Offset count = text_count(input, "the number of elements");
    input.check_count(count, "elements", 4, 0);
    for (Offset k = 0; k < count;) {
        if (!file.binary) {
            const Offset tag = tag_22(input, "the tag of an element");
            const CellShape shape = shape_of(input, input.integer("the type of an element"));
            read_element_22(input, file, shape, tag, tag_count(input));
            ++k;
            continue;
        }
        const CellShape shape = shape_of(input, input.integer("the type of an element"));
        const int together = input.integer("the number of elements");
        if (together < 1 || together > count - k) {
            input.fail("a block of " + std::to_string(together) + " elements where " +
                       std::to_string(count - k) + " are left of " + std::to_string(count));
        }
        const int tags = tag_count(input);
        for (int e = 0; e < together; ++e, ++k) {
            const Offset tag = tag_22(input, "the tag of an element");
            read_element_22(input, file, shape, tag, tags);
        }
    }
}

}  // namespace

bool is_gmsh(std::string_view bytes) { return bytes.starts_with("$MeshFormat"); }

void GmshFile::fail(GmshPlace place, const std::string& message) const {
    if (!binary) throw ParseError(name, place, message);
    throw ParseError(name, 0, "byte " + std::to_string(place) + ": " + message);
}

Index GmshFile::part(int dimensions, int tag) {
    const auto [found, is_new] =
        part_numbers.try_emplace(std::pair(dimensions, tag), Index(parts.size()));
    if (is_new) parts.push_back({dimensions, tag, {}, false});
    return found->second;
}

GmshFile parse_gmsh_sections(std::string_view bytes, const std::string& name) {
    GmshFile file;
    file.name = name;
    GmshInput input(bytes, file);
    if (input.word("$MeshFormat") != "$MeshFormat") input.fail("expected $MeshFormat");
    const bool newer = read_format(input, file);
    while (input.more()) {
        const std::string_view marker = input.word("a section");
        if (!marker.starts_with('$') || marker.starts_with("$End")) {
            input.fail("expected a section such as $Nodes, found " + shown(marker));
        }
        const std::string_view section = marker.substr(1);
        if (!input.rest_of_line().empty()) input.fail("expected nothing else in this line");
        const bool parametric = section == "ParametricNodes" && !newer;
        const bool known = section == "Nodes" || section == "Elements" || parametric ||
                           section == "PhysicalNames" || (section == "Entities" && newer);
        if (!known) {
            input.skip_section(section);
            continue;
        }
        input.skip_line_end();
        if (section == "PhysicalNames") {
            read_names(input, file);
        } else if (section == "Entities") {
            read_entities(input, file);
        } else if (section == "Elements") {
            newer ? read_elements_41(input, file) : read_elements_22(input, file);
        } else {
            newer ? read_nodes_41(input, file) : read_nodes_22(input, file, parametric);
        }
        input.expect_end(section);
    }
    return file;
}

}  // namespace tessera::io
