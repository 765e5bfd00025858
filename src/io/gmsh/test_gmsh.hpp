#pragma once

#include "io/file_sections.hpp"
#include "io/gmsh/gmsh.hpp"
#include "io/io_test.hpp"
#include "support/test.hpp"

// Meshes of a few elements as text, in both versions of the format.

namespace tessera::io {

inline std::string cells_text(const std::vector<Cells>& list) {
    std::string text;
    for (const Cells& cells : list) {
        text += std::string(" ") + to_string(cells.shape);
        for (std::size_t k = 0; k < cells.nodes.size(); ++k) {
            text += k % std::size_t(node_count(cells.shape)) == 0 ? " " : "-";
            text += std::to_string(cells.nodes[k]);
        }
    }
    return text;
}

/// "2d 0,0 1,0 0,1; triangle 0-1-2; regions 0: 'steel'; 'left'(1) segment 0-2".
inline std::string described(const Mesh& mesh) {
    std::string text = std::to_string(mesh.dimensions) + "d";
    for (std::size_t k = 0; k < mesh.points.size(); ++k) {
        text += (k % std::size_t(mesh.dimensions) == 0 ? " " : ",") + shortest(mesh.points[k]);
    }
    text += ";" + cells_text(mesh.elements);
    if (!mesh.regions.empty()) {
        text += "; regions ";
        for (const int region : mesh.regions) text += std::to_string(region);
        text += ":";
        for (const std::string& name : mesh.region_names) text += " '" + name + "'";
    }
    for (const MeshGroup& group : mesh.groups) {
        text += "; '" + group.name + "'(" + std::to_string(group.dimensions) + ")" +
                cells_text(group.cells);
    }
    return text;
}

/// The mesh in these bytes, or the error.
inline std::string read(const std::string& bytes) {
    return outcome([&] { return described(parse_gmsh({test::host(), bytes, "f"})); });
}

inline std::string section(const std::string& name, const std::string& text) {
    return "$" + name + "\n" + text + "\n$End" + name + "\n";
}

inline const std::string format_22 = section("MeshFormat", "2.2 0 8");
inline const std::string format_41 = section("MeshFormat", "4.1 0 8");
inline const std::string nodes_22 = section("Nodes", "4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0");
inline const std::string nodes_41 =
    section("Nodes", "1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n1 1 0\n0 1 0");
inline const std::string square = "2d 0,0 1,0 1,1 0,1;";

inline std::string read_22(const std::string& elements, const std::string& nodes = nodes_22) {
    return read(format_22 + nodes + section("Elements", elements));
}

inline std::string read_41(const std::string& elements, const std::string& sections = nodes_41) {
    return read(format_41 + sections + section("Elements", elements));
}

/// Reads one element, number 7, with these corners "x y z"; returns its description.
inline std::string read_points(const std::string& type, const std::vector<std::string>& points) {
    std::string nodes = std::to_string(points.size());
    std::string element = "1\n7 " + type + " 0";
    for (std::size_t k = 1; k <= points.size(); ++k) {
        nodes += "\n" + std::to_string(k) + " " + points[k - 1];
        element += " " + std::to_string(k);
    }
    return read_22(element, section("Nodes", nodes));
}

/// Binary numbers in this machine's byte order, or in the other one.
class Bytes {
  public:
    explicit Bytes(bool swapped) : swapped_(swapped) {}
    Bytes& text(const std::string& more) {
        bytes_ += more;
        return *this;
    }
    Bytes& ints(const std::vector<std::int32_t>& numbers) { return append(numbers); }
    Bytes& sizes(const std::vector<std::int64_t>& numbers) { return append(numbers); }
    Bytes& reals(const std::vector<double>& numbers) { return append(numbers); }
    const std::string& all() const { return bytes_; }

  private:
    template <class Number>
    Bytes& append(const std::vector<Number>& numbers) {
        for (const Number number : numbers) {
            std::string word(reinterpret_cast<const char*>(&number), sizeof(Number));
            bytes_ += swapped_ ? std::string(word.rbegin(), word.rend()) : word;
        }
        return *this;
    }
    bool swapped_;
    std::string bytes_;
};

}  // namespace tessera::io
