#include "io/gmsh/gmsh_input.hpp"

namespace tessera::io {

namespace {

constexpr int min_int = std::numeric_limits<int>::min();
constexpr int max_int = std::numeric_limits<int>::max();

/// Gmsh's number of a CellShape.
constexpr int gmsh_types[shape_count] = {15, 1, 2, 3, 4, 5};

class GmshReader : GmshInput {
  public:
    GmshReader(std::string_view bytes, const std::string& name) : GmshInput(bytes) {
        file_.name = name;
    }

    GmshFile read() {
        try {
            read_format();
            while (more()) read_section();
        } catch (const InputError& error) {
            file_.fail(place(), error.message);
        }
        return std::move(file_);
    }

  private:
    int dimension() {
        const int dimensions = integer("the dimension of an entity");
        if (dimensions >= 0 && dimensions <= 3) return dimensions;
        reject("the dimension " + std::to_string(dimensions) + " is not within 0..3");
    }

    CellShape shape() {
        const int type = integer("the type of an element");
        const auto found = std::find(gmsh_types, gmsh_types + shape_count, type);
        if (found < gmsh_types + shape_count) return CellShape(found - gmsh_types);
        const std::string wrong = "element type " + std::to_string(type);
        if (type == 6 || type == 7) {
            reject(wrong + (type == 6 ? " (prism)" : " (pyramid)") +
                   " is not supported; mesh with tetrahedra or hexahedra alone");
        }
        reject(wrong +
               " is not supported; only elements of first order are (Mesh.ElementOrder = 1, or "
               "gmsh -order 1)");
    }

    /// The number of a part, which is added where it is new.
    Index part(int dimensions, int tag) {
        const auto [found, is_new] =
            part_numbers_.try_emplace(std::pair(dimensions, tag), Index(file_.parts.size()));
        if (is_new) file_.parts.push_back({dimensions, tag, {}, false});
        return found->second;
    }

    void read_format() {
        if (word("$MeshFormat") != "$MeshFormat") reject("expected $MeshFormat");
        const std::string_view version = word("the version");
        if (version != "4.1" && version != "2.2") {
            reject("version " + shown(version) +
                   " of Gmsh's format is not supported; write 4.1 or 2.2 (gmsh -format msh41)");
        }
        newer = version == "4.1";
        const Offset kind = text_integer("the file type", 0, 1);
        const Offset bytes = text_integer("the data size", 1, 64);
        if (kind == 1) {
            if (bytes != 8) {
                reject("binary numbers of " + std::to_string(bytes) +
                       " bytes are not supported, only of 8");
            }
            file_.binary = binary = true;
            end_line();
            const auto one = binary_number<std::int32_t>("the number that gives the byte order");
            swapped = one == 1 << 24;
            if (one != 1 && !swapped) {
                reject("expected the number 1, which gives the byte order");
            }
        }
        expect_end("MeshFormat");
    }

    void read_section() {
        const std::string_view marker = word("a section");
        if (!marker.starts_with('$') || marker.starts_with("$End")) {
            reject("expected a section such as $Nodes, found " + shown(marker));
        }
        const std::string_view section = marker.substr(1);
        end_line();
        if (section == "PhysicalNames") {
            read_names();
        } else if (section == "Entities" && newer) {
            read_entities();
        } else if (section == "Nodes") {
            if (newer) {
                each_block("the number of nodes", "nodes", [&] { return read_node_block(); });
            } else {
                read_nodes_22(false);
            }
        } else if (section == "ParametricNodes" && !newer) {
            read_nodes_22(true);
        } else if (section == "Elements") {
            if (newer) {
                each_block("the number of elements", "elements",
                           [&] { return read_element_block(); });
            } else {
                read_elements_22();
            }
        } else {
            skip_section(section);
        }
        expect_end(section);
    }

    /// Text also in binary files.
    void read_names() {
        const Offset count = text_integer("the number of names", 0, max_int);
        for (Offset k = 0; k < count; ++k) {
            const int dimensions = int(text_integer("the dimension of a group", 0, 3));
            const int tag = int(text_integer("the tag of a group", 0, max_int));
            const GmshPlace named = place();
            const std::string_view quoted = rest_of_line();
            if (quoted.size() < 2 || quoted.front() != '"' || quoted.back() != '"') {
                reject("expected a name in quotes, found " + shown(quoted));
            }
            const GmshGroupName name{std::string(quoted.substr(1, quoted.size() - 2)), named};
            if (!file_.group_names.emplace(std::pair(dimensions, tag), name).second) {
                reject("the group of dimension " + std::to_string(dimensions) + " with the tag " +
                       std::to_string(tag) + " has two names");
            }
        }
    }

    /// The geometry of version 4.1, for its physical groups.
    void read_entities() {
        file_.has_entities = true;
        Offset counts[4];
        for (Offset& count : counts) count = size("the number of entities");
        for (int dimensions = 0; dimensions < 4; ++dimensions) {
            for (Offset k = 0; k < counts[dimensions]; ++k) read_entity(dimensions);
        }
    }

    void read_entity(int dimensions) {
        const int tag = integer("the tag of an entity");
        GmshPart& entity = file_.parts[std::size_t(part(dimensions, tag))];
        if (entity.listed) {
            reject("the entity of dimension " + std::to_string(dimensions) + " with the tag " +
                   std::to_string(tag) + " is listed twice");
        }
        entity.listed = true;
        const int bounds = dimensions == 0 ? 3 : 6;
        for (int c = 0; c < bounds; ++c) real("a bound of an entity");
        const Offset groups =
            checked(size("the number of physical groups"), "physical groups", 1, 0);
        for (Offset g = 0; g < groups; ++g) {
            const int group = integer("the tag of a group");
            if (group == 0 || group == min_int) {
                reject("a physical group cannot have the tag " + std::to_string(group));
            }
            entity.groups.push_back(group);
        }
        if (dimensions == 0) return;
        const Offset bounding =
            checked(size("the number of bounding entities"), "bounding entities", 1, 0);
        for (Offset b = 0; b < bounding; ++b) integer("the tag of a bounding entity");
    }

    void add_tag_of_node() {
        file_.nodes.tags.push_back(tag("the tag of a node"));
        file_.nodes.places.push_back(place());
    }

    void add_point() {
        for (const char* axis : {"x", "y", "z"}) file_.nodes.points.push_back(real(axis));
    }

    void skip_parameters(int count) {
        for (int p = 0; p < count; ++p) real("a parameter of a node");
    }

    /// Version 4.1: read_block() for each block of a section; it returns how many items there were.
    template <class ReadBlock>
    void each_block(const char* number, const char* what, ReadBlock&& read_block) {
        const Offset blocks = size("the number of blocks");
        const Offset claimed = size(number);
        size("the least tag");
        size("the greatest tag");
        Offset found = 0;
        for (Offset block = 0; block < blocks; ++block) found += read_block();
        if (found == claimed) return;
        reject("the blocks hold " + std::to_string(found) + " " + what + ", the section claims " +
               std::to_string(claimed));
    }

    Offset read_node_block() {
        const int dimensions = dimension();
        integer("the tag of an entity");
        const int parametric = integer("the parametric flag");
        if (parametric != 0 && parametric != 1) {
            reject("expected 0 or 1 (parametric), found " + std::to_string(parametric));
        }
        const int parameters = parametric == 1 ? dimensions : 0;
        const Offset count = checked(size("the number of nodes"), "nodes", 0, 4 + parameters);
        for (Offset k = 0; k < count; ++k) add_tag_of_node();
        for (Offset k = 0; k < count; ++k) {
            add_point();
            skip_parameters(parameters);
        }
        return count;
    }

    /// The counts of version 2.2 are lines of text, also before binary numbers.
    Offset line_count(const char* what) {
        const Offset count = text_integer(what, 0, max_int);
        end_line();
        return count;
    }

    void read_nodes_22(bool parametric) {
        const Offset count =
            checked(line_count("the number of nodes"), "nodes", parametric ? 3 : 1, 3);
        for (Offset k = 0; k < count; ++k) {
            add_tag_of_node();
            add_point();
            if (!parametric) continue;
            const int dimensions = dimension();
            integer("the tag of an entity");
            skip_parameters(dimensions == 3 ? 0 : dimensions);
        }
    }

    void add_element(CellShape shape, Offset tag, GmshPlace at, Index part) {
        GmshElements& elements = file_.elements[int(shape)];
        elements.tags.push_back(tag);
        elements.places.push_back(at);
        elements.parts.push_back(part);
        for (int c = 0; c < corners(shape); ++c) {
            elements.nodes.push_back(this->tag("the tag of a node"));
        }
    }

    Offset read_element_block() {
        const int dimensions = dimension();
        const Index entity = part(dimensions, integer("the tag of an entity"));
        const CellShape kind = shape();
        if (tessera::dimensions(kind) != dimensions) {
            reject(std::string("a ") + to_string(kind) + " in an entity of dimension " +
                   std::to_string(dimensions));
        }
        const Offset count =
            checked(size("the number of elements"), "elements", 0, 1 + corners(kind));
        for (Offset k = 0; k < count; ++k) {
            const Offset number = tag("the tag of an element");
            add_element(kind, number, place(), entity);
        }
        return count;
    }

    /// The first tag of an element is that of its physical group, 0 for none.
    void read_element_22(CellShape shape, Offset tag, Offset tags) {
        const GmshPlace at = place();
        int group = 0;
        for (Offset t = 0; t < tags; ++t) {
            const int number = integer("a tag of an element");
            if (t == 0) group = number;
        }
        if (group == min_int) reject("the tag of a group is too small");
        const Index entity = part(dimensions(shape), group);
        if (group != 0) file_.parts[std::size_t(entity)].groups = {group};
        add_element(shape, tag, at, entity);
    }

    void read_elements_22() {
        const Offset count = checked(line_count("the number of elements"), "elements", 4, 0);
        const auto read_tag = [&] { return tag("the tag of an element"); };
        for (Offset k = 0; k < count;) {
            // In text each element is a block of its own, and its tag comes first.
            const Offset first = binary ? 0 : read_tag();
            const CellShape kind = shape();
            const int together = binary ? integer("the number of elements") : 1;
            if (together < 1 || together > count - k) {
                reject("a block of " + std::to_string(together) + " elements where " +
                       std::to_string(count - k) + " are left of " + std::to_string(count));
            }
            const Offset tags = checked(integer("the number of tags"), "tags", 1, 0);
            for (int e = 0; e < together; ++e, ++k) {
                read_element_22(kind, binary ? read_tag() : first, tags);
            }
        }
    }

    GmshFile file_;
    std::map<std::pair<int, int>, Index> part_numbers_;  ///< By dimensions and tag.
};

}  // namespace

bool is_gmsh(std::string_view bytes) { return bytes.starts_with("$MeshFormat"); }

void GmshFile::fail(GmshPlace place, const std::string& message) const {
    if (!binary) throw ParseError(name, place, message);
    throw ParseError(name, 0, "byte " + std::to_string(place) + ": " + message);
}

GmshFile parse_gmsh_sections(std::string_view bytes, const std::string& name) {
    return GmshReader(bytes, name).read();
}

}  // namespace tessera::io
