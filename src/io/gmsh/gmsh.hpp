#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/formats.hpp"

/// Gmsh's .msh files, first as they are written, then as a Mesh.
namespace tessera::io {

/// Where something stands in a file, for messages: a line of a text file, a byte of a binary one.
using GmshPlace = Offset;

struct GmshNodes {
    std::vector<Offset> tags;
    std::vector<double> points;  ///< x, y, z of each.
    std::vector<GmshPlace> places;
};

/// Elements of one shape.
struct GmshElements {
    std::vector<Offset> tags;
    std::vector<Offset> nodes;  ///< Tags of corners(shape) nodes each.
    std::vector<Index> parts;   ///< Of each element, a number in GmshFile::parts.
    std::vector<GmshPlace> places;
};

/// A part of the geometry with the tags of its physical groups; a negative tag belongs to the same
/// group and says that the elements are reversed in it. Version 2.2 has physical groups only.
struct GmshPart {
    int dimensions = 0;
    int tag = 0;
    std::vector<int> groups;
    bool listed = false;  ///< By $Entities.
};

struct GmshGroupName {
    std::string name;
    GmshPlace place = 0;
};

inline constexpr int shape_count = 6;

/// The sections of a file.
struct GmshFile {
    std::string name;
    bool binary = false;
    GmshNodes nodes;
    GmshElements elements[shape_count];  ///< By CellShape.
    std::vector<GmshPart> parts;
    bool has_entities = false;
    std::map<std::pair<int, int>, GmshGroupName> group_names;  ///< By dimensions and tag.

    /// Throws ParseError; place 0 stands for the whole file.
    [[noreturn]] void fail(GmshPlace place, const std::string& message) const;
};

/// Reads the sections; `name` stands in messages. Throws ParseError. What it allocates is at most a
/// small multiple of `bytes`.
GmshFile parse_gmsh_sections(std::string_view bytes, const std::string& name);

}  // namespace tessera::io
