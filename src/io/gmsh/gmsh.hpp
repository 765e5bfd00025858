#pragma once

#include <map>
#include <utility>

#include "io/formats.hpp"
#include "io/text.hpp"

/// Gmsh's .msh files: the sections of a file, and the Mesh made of them.
namespace tessera::io {

/// A position in the file for messages: a line of a text file, a byte of a binary one.
using GmshLocation = Offset;

struct GmshNodes {
    std::vector<Offset> tags;
    std::vector<double> points;  ///< x, y, z of each node.
    std::vector<GmshLocation> locations;
};

/// Elements of one shape.
struct GmshElements {
    std::vector<Offset> tags;
    std::vector<Offset> nodes;    ///< Tags of node_count(shape) nodes per element, as in CellShape.
    std::vector<Index> entities;  ///< Index in GmshFile::entities per element.
    std::vector<GmshLocation> locations;
};

/// A part of the geometry with the tags of its physical groups; a negative tag belongs to the same
/// group with its elements reversed. Version 2.2 has physical groups only.
struct GmshEntity {
    int dimensions = 0;
    int tag = 0;
    std::vector<int> groups;
    std::vector<int> partitions;  ///< Where it is a part of another entity.
    bool listed = false;          ///< Listed in $Entities or $PartitionedEntities.
};

struct GmshGroupName {
    std::string name;
    GmshLocation location = 0;
};

/// The sections of a file.
struct GmshFile {
    std::string name;
    bool binary = false;
    GmshNodes nodes;
    GmshElements elements[cell_shape_count];  ///< Elements by CellShape.
    std::vector<GmshEntity> entities;
    Offset partitions = 0;  ///< The number of partitions; 0: the mesh is not partitioned.
    bool has_entities = false;
    std::map<std::pair<int, int>, GmshGroupName> group_names;  ///< Names by dimensions and tag.

    /// Throws ParseError; location 0 stands for the whole file.
    template <class... Parts>
    [[noreturn]] void fail(GmshLocation location, const Parts&... message) const {
        if (!binary || location == 0) throw ParseError(name, location, concat(message...));
        throw ParseError(name, 0, concat("byte ", location, ": ", message...));
    }
};

/// Reads the sections. Throws ParseError, and OutOfMemory when as much memory as was taken is not
/// free again.
GmshFile parse_gmsh_sections(InputFile& file);

}  // namespace tessera::io
