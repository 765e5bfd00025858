#include <set>

#include "base/host_memory/host_memory.hpp"
#include "io/gmsh/gmsh.hpp"
#include "io/gmsh/gmsh_input.hpp"
#include "tessera/detail/cells.hpp"
#include "tessera/spec.hpp"

namespace tessera::io {

namespace {

/// Gmsh's number of a CellShape.
constexpr int gmsh_types[cell_shape_count] = {15, 1, 2,  3,  4,  5,  6,  7,
                                              8,  9, 16, 10, 11, 18, 17, 12};

/// The position in Gmsh's order of each node of cells whose order differs from that of CellShape.
constexpr int gmsh_tetrahedron10[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 8};
constexpr int gmsh_prism15[] = {0, 1, 2, 3, 4, 5, 6, 9, 7, 12, 14, 13, 8, 10, 11};
constexpr int gmsh_hexahedron[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 13, 9,  16, 18,
                                   19, 17, 10, 12, 14, 15, 22, 23, 21, 24, 20, 25, 26};

int gmsh_position(CellShape shape, int node) {
    switch (shape) {
        case CellShape::tetrahedron10:
            return gmsh_tetrahedron10[node];
        case CellShape::prism15:
            return gmsh_prism15[node];
        case CellShape::hexahedron20:
        case CellShape::hexahedron27:
            return gmsh_hexahedron[node];
        default:
            return node;
    }
}

class GmshReader : GmshInput {
  public:
    explicit GmshReader(InputFile& file) : GmshInput(file.stream) { file_.name = file.name; }

    GmshFile read() {
        try {
            read_format();
            while (more()) read_section();
        } catch (const InputError& error) {
            file_.fail(location(), error.message);
        }
        return std::move(file_);
    }

  private:
    /// Counts memory that is taken. As much again is needed for the mesh, and while arrays grow.
    void count_memory(std::size_t bytes) {
        constexpr Offset bytes_between_checks = Offset(1) << 26;
        memory_ += Offset(bytes);
        if (memory_ < next_check_) return;
        next_check_ = memory_ + bytes_between_checks;
        require_host_memory("reading " + file_.name, double(memory_));
    }

    int dimension() {
        const int dimensions = integer("the dimension of an entity");
        expect(unsigned(dimensions) <= 3, "the dimension ", dimensions, " is not within 0..3");
        return dimensions;
    }

    CellShape shape() {
        const int type = integer("the type of an element");
        const auto found = std::ranges::find(gmsh_types, type);
        if (found != std::end(gmsh_types)) return CellShape(found - gmsh_types);
        const bool pyramid = type == 14 || type == 19;
        reject("element type ", type, pyramid ? " (pyramid of second order)" : "",
               " is not supported; only elements of first and second order are, pyramids of first ",
               "(Mesh.ElementOrder = ", pyramid ? 1 : 2, ", or gmsh -order ", pyramid ? 1 : 2,
               type == 13 ? ", with Mesh.SecondOrderIncomplete = 1 for prisms)" : ")");
    }

    /// The index of an entity; a new one is added.
    Index entity(int dimensions, int tag) {
        const auto [entry, is_new] =
            entity_numbers_.try_emplace(std::pair(dimensions, tag), Index(file_.entities.size()));
        if (!is_new) return entry->second;
        file_.entities.push_back({dimensions, tag, {}, {}, false});
        count_memory(sizeof(GmshEntity) + sizeof(*entry) + 4 * sizeof(void*));
        return entry->second;
    }

    void read_format() {
        while (true) {  // Comments may stand before it.
            const std::string marker(word("$MeshFormat"));
            if (marker == "$MeshFormat") break;
            expect(marker == "$Comments", "expected $MeshFormat");
            end_line();
            skip_section("Comments");
            expect_end("Comments");
        }
        const std::string_view version = word("the version");
        double number = 0;  // Versions 2.0 to 2.2 are one format, in many spellings.
        const bool is_number = parse_real(std::string(version), number).empty();
        is_version_4 = is_number && number == 4.1;
        expect(is_version_4 || (is_number && number >= 2 && number <= 2.2), "version ",
               Quoted{version},
               " of Gmsh's format is not supported; write 4.1 or 2.2 (gmsh OLD.msh -save -format "
               "msh41 -o NEW.msh)");
        const Offset kind = text_integer("the file type", 0, 1);
        const Offset bytes = text_integer("the data size", 1, 64);
        if (kind == 1) {
            expect(bytes == 8, "binary numbers of ", bytes, " bytes are not supported, only of 8");
            file_.binary = binary = true;
            end_line();
            const auto one = binary_number<std::int32_t>("the number that gives the byte order");
            swapped = one == 1 << 24;
            expect(one == 1 || swapped, "expected the number 1, which gives the byte order");
        }
        expect_end("MeshFormat");
    }

    void read_section() {
        const std::string marker(word("a section"));
        expect(marker.starts_with('$') && !marker.starts_with("$End"),
               "expected a section such as $Nodes, found ", Quoted{marker});
        const std::string section = marker.substr(1);
        end_line();
        if (section == "PhysicalNames") {
            read_names();
        } else if (section == "Entities" && is_version_4) {
            read_entities();
        } else if (section == "PartitionedEntities" && is_version_4) {
            read_partitioned_entities();
        } else if (section == "Nodes" || (section == "ParametricNodes" && !is_version_4)) {
            read_nodes(section == "ParametricNodes");
        } else if (section == "Elements") {
            read_elements();
        } else {
            skip_section(section);
        }
        expect_end(section);
    }

    /// Reads the group names, which are text in binary files, too.
    void read_names() {
        const Offset count = text_integer("the number of names", 0, max_int);
        for (Offset k = 0; k < count; ++k) {
            const int dimensions = int(text_integer("the dimension of a group", 0, 3));
            const int tag = int(text_integer("the tag of a group", 0, max_int));
            const GmshLocation start = location();
            const std::string_view quoted = rest_of_line();
            const bool in_quotes =
                quoted.size() >= 2 && quoted.front() == '"' && quoted.back() == '"';
            const bool is_plain = !quoted.empty() && quoted.find('"') == std::string_view::npos;
            expect(in_quotes || is_plain, "expected a name in quotes, found ", Quoted{quoted});
            count_memory(quoted.size() + sizeof(GmshGroupName) + 8 * sizeof(void*));
            const std::string_view text = in_quotes ? quoted.substr(1, quoted.size() - 2) : quoted;
            GmshGroupName name{std::string(text), start};
            expect(file_.group_names.emplace(std::pair(dimensions, tag), std::move(name)).second,
                   "the group of dimension ", dimensions, " with the tag ", tag, " has two names");
        }
    }

    /// The geometry of version 4.1, for its physical groups.
    void read_entities(bool partitioned = false) {
        file_.has_entities = true;
        Offset counts[4];
        for (Offset& count : counts) count = size("the number of entities");
        for (int dimensions = 0; dimensions < 4; ++dimensions) {
            for (Offset k = 0; k < counts[dimensions]; ++k) read_entity(dimensions, partitioned);
        }
    }

    /// The parts of the geometry in the partitions of version 4.1. Elements of a ghost entity are
    /// copies of those of other partitions.
    void read_partitioned_entities() {
        file_.partitions = size("the number of partitions");
        for (Offset left = item_count("ghost entities", 2, 0); left > 0; --left) {
            ghosts_.insert(integer("the tag of a ghost entity"));
            integer("the partition of a ghost entity");
        }
        read_entities(true);
    }

    void read_entity(int dimensions, bool partitioned) {
        const int tag = integer("the tag of an entity");
        const Index number = entity(dimensions, tag);
        Index parent = number;
        if (partitioned) {
            const int parent_dimensions = integer("the dimension of a parent entity");
            const int parent_tag = integer("the tag of a parent entity");
            if (unsigned(parent_dimensions) <= 3) parent = entity(parent_dimensions, parent_tag);
        }
        GmshEntity& read = file_.entities[std::size_t(number)];
        expect(!read.listed, "the entity of dimension ", dimensions, " with the tag ", tag,
               " is listed twice");
        read.listed = true;
        for (Offset left = partitioned ? item_count("partitions", 1, 0) : 0; left > 0; --left) {
            read.partitions.push_back(integer("the number of a partition"));
            count_memory(sizeof(int));
        }
        skip_reals(dimensions == 0 ? 3 : 6, "a bound of an entity");
        for (Offset left = item_count("physical groups", 1, 0); left > 0; --left) {
            const int group = integer("the tag of a group");
            expect(group != 0 && group != min_int, "a physical group cannot have the tag ", group);
            read.groups.push_back(group);
            count_memory(sizeof(int));
        }
        // A boundary between partitions is in no group of its parent, which has more dimensions.
        const GmshEntity& whole = file_.entities[std::size_t(parent)];
        if (read.groups.empty() && whole.dimensions == dimensions) read.groups = whole.groups;
        if (dimensions == 0) return;
        Offset bounding = item_count("bounding entities", 1, 0);
        while (bounding-- > 0) integer("the tag of a bounding entity");
    }

    void add_node_tag() {
        file_.nodes.tags.push_back(tag("the tag of a node"));
        file_.nodes.locations.push_back(location());
        count_memory(3 * sizeof(double) + sizeof(Offset) + sizeof(GmshLocation));
    }

    void add_point() {
        for (const char* axis : {"x", "y", "z"}) file_.nodes.points.push_back(real(axis));
    }

    void skip_reals(int count, const char* what) {
        for (int k = 0; k < count; ++k) real(what);
    }

    /// Version 4.1: reads each block of a section by a function that returns the number of items.
    void read_blocks(const std::string& what, Offset (GmshReader::*read_block)()) {
        const Offset blocks = size("the number of blocks");
        const Offset claimed = size(("the number of " + what).c_str());
        size("the least tag");
        size("the greatest tag");
        Offset found = 0;
        for (Offset block = 0; block < blocks; ++block) found += (this->*read_block)();
        expect(found == claimed, "the blocks hold ", found, " ", what, ", the section claims ",
               claimed);
    }

    Offset read_node_block() {
        const int dimensions = dimension();
        integer("the tag of an entity");
        const int parametric = integer("the parametric flag");
        expect(unsigned(parametric) <= 1, "expected 0 or 1 (parametric), found ", parametric);
        const int parameters = parametric == 1 ? dimensions : 0;
        const Offset nodes = item_count("nodes", 0, 4 + parameters);
        for (Offset k = 0; k < nodes; ++k) add_node_tag();
        for (Offset k = 0; k < nodes; ++k) {
            add_point();
            skip_reals(parameters, "a parameter of a node");
        }
        return nodes;
    }

    /// The counts of version 2.2 are lines of text, also before binary numbers.
    Offset line_count(const char* what, Offset ints, Offset others) {
        const Offset count = text_integer(concat("the number of ", what).c_str(), 0, max_int);
        end_line();
        return checked(count, what, ints, others);
    }

    void read_nodes(bool parametric) {
        if (is_version_4) return read_blocks("nodes", &GmshReader::read_node_block);
        const Offset count = line_count("nodes", parametric ? 3 : 1, 3);
        for (Offset k = 0; k < count; ++k) {
            add_node_tag();
            add_point();
            if (!parametric) continue;
            const int dimensions = dimension();
            integer("the tag of an entity");
            skip_reals(dimensions == 3 ? 0 : dimensions, "a parameter of a node");
        }
    }

    void add_element(CellShape shape, Offset tag, GmshLocation start, Index entity) {
        GmshElements& elements = file_.elements[int(shape)];
        elements.tags.push_back(tag);
        elements.locations.push_back(start);
        elements.entities.push_back(entity);
        const int count = node_count(shape);
        count_memory(sizeof(Offset) * std::size_t(1 + count) + sizeof(GmshLocation) +
                     sizeof(Index));
        Offset nodes[max_cell_nodes];
        for (int k = 0; k < count; ++k) nodes[k] = this->tag("the tag of a node");
        for (int k = 0; k < count; ++k) {
            elements.nodes.push_back(nodes[gmsh_position(shape, k)]);
        }
    }

    Offset read_element_block() {
        const int dimensions = dimension();
        const Index owner = entity(dimensions, integer("the tag of an entity"));
        const CellShape kind = shape();
        expect(tessera::dimensions(kind) == dimensions, "a ", to_string(kind),
               " in an entity of dimension ", dimensions);
        const Offset elements = item_count("elements", 0, 1 + node_count(kind));
        const GmshEntity& read = file_.entities[std::size_t(owner)];
        if (!read.listed && ghosts_.contains(read.tag)) {
            for (Offset k = 0; k < elements; ++k) {
                for (int n = 0; n <= node_count(kind); ++n)
                    tag("the tag of a ghost element or node");
            }
            return elements;
        }
        for (Offset k = 0; k < elements; ++k) {
            const Offset number = tag("the tag of an element");
            add_element(kind, number, location(), owner);
        }
        return elements;
    }

    /// The first tag of an element is that of its physical group, 0 for none.
    void read_element_22(CellShape shape, Offset tag, Offset tags) {
        const GmshLocation start = location();
        const int group = tags > 0 ? integer("a tag of an element") : 0;
        for (Offset t = 1; t < tags; ++t) integer("a tag of an element");
        expect(group != min_int, "the tag of a group is too small");
        const Index owner = entity(dimensions(shape), group);
        if (group != 0) file_.entities[std::size_t(owner)].groups = {group};
        add_element(shape, tag, start, owner);
    }

    void read_elements() {
        if (is_version_4) return read_blocks("elements", &GmshReader::read_element_block);
        const Offset count = line_count("elements", 4, 0);
        const auto read_tag = [&] { return tag("the tag of an element"); };
        for (Offset k = 0; k < count;) {
            // In text each element is a block of its own, and its tag comes first.
            const Offset first = binary ? 0 : read_tag();
            const CellShape kind = shape();
            const int together = binary ? integer("the number of elements") : 1;
            expect(together >= 1 && together <= count - k, "a block of ", together,
                   " elements where ", count - k, " are left of ", count);
            const Offset tags = checked(integer("the number of tags"), "tags", 1, 0);
            for (int e = 0; e < together; ++e, ++k) {
                read_element_22(kind, binary ? read_tag() : first, tags);
            }
        }
    }

    GmshFile file_;
    Offset memory_ = 0;
    Offset next_check_ = 0;
    std::map<std::pair<int, int>, Index> entity_numbers_;  ///< Indices by dimensions and tag.
    std::set<int> ghosts_;                                 ///< Tags of ghost entities.
};

}  // namespace

GmshFile parse_gmsh_sections(InputFile& file) { return GmshReader(file).read(); }

}  // namespace tessera::io
