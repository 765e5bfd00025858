#include "io/gmsh/gmsh.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera::io {

namespace {

using Vector = std::array<double, 3>;

/// The nodes of a file in the order of their tags.
class NodeTable {
  public:
    explicit NodeTable(const GmshFile& file) : file_(file), order_(file.nodes.tags.size()) {
        std::iota(order_.begin(), order_.end(), std::size_t(0));
        const auto tag_of = [&](std::size_t node) { return file.nodes.tags[node]; };
        if (!std::ranges::is_sorted(file.nodes.tags)) {
            std::ranges::stable_sort(order_, {}, tag_of);
        }
        const auto twice = std::ranges::adjacent_find(order_, {}, tag_of);
        if (twice != order_.end()) {
            file.fail(file.nodes.locations[twice[1]], "node ", tag_of(*twice), " is listed twice");
        }
        consecutive_tags_ = !order_.empty() && tag(size() - 1) - tag(0) == Offset(size()) - 1;
    }

    std::size_t size() const { return order_.size(); }
    /// x, y, z of the node number k in this order.
    const double* point(std::size_t k) const { return &file_.nodes.points[3 * order_[k]]; }

    /// The number of corner c of an element in this order.
    std::size_t corner(const GmshElements& elements, CellShape shape, std::size_t e, int c) const {
        const Offset node = elements.nodes[e * std::size_t(corners(shape)) + std::size_t(c)];
        const auto tag_of = [&](std::size_t k) { return file_.nodes.tags[k]; };
        const auto k =
            std::size_t(consecutive_tags_
                            ? std::clamp(node - tag(0), Offset(0), Offset(size()) - 1)
                            : std::ranges::lower_bound(order_, node, {}, tag_of) - order_.begin());
        if (k < size() && tag(k) == node) return k;
        file_.fail(elements.locations[e], "element ", elements.tags[e], " has the node ", node,
                   ", which $Nodes does not list");
    }

  private:
    Offset tag(std::size_t k) const { return file_.nodes.tags[order_[k]]; }

    const GmshFile& file_;
    std::vector<std::size_t> order_;
    bool consecutive_tags_ = false;
};

int mesh_dimensions(const GmshFile& file) {
    const auto has = [&](CellShape shape) { return !file.elements[int(shape)].tags.empty(); };
    if (has(CellShape::tetrahedron) || has(CellShape::hexahedron)) return 3;
    if (has(CellShape::triangle) || has(CellShape::quadrilateral)) return 2;
    file.fail(0,
              "the mesh has no triangles, quadrilaterals, tetrahedra or hexahedra; where there are "
              "physical groups Gmsh saves nothing else, so that the material needs one too (or set "
              "Mesh.SaveAll = 1)");
}

/// visit(shape, elements) for the elements of this dimension.
template <class Visit>
void each_shape(const GmshFile& file, int dimensions, Visit&& visit) {
    for (int s = 0; s < shape_count; ++s) {
        const GmshElements& elements = file.elements[s];
        const bool wanted = tessera::dimensions(CellShape(s)) == dimensions;
        if (wanted && !elements.tags.empty()) visit(CellShape(s), elements);
    }
}

/// The corners of a tetrahedron, then of a hexahedron, each with the three corners at the ends of
/// its edges, which make a right-handed system where the element has the right orientation.
/// Triangles and quadrilaterals are the first face with z as the third edge.
constexpr int corner_edges[9][4] = {{0, 1, 2, 3}, {0, 1, 3, 4}, {1, 2, 0, 5},
                                    {2, 3, 1, 6}, {3, 0, 2, 7}, {4, 7, 5, 0},
                                    {5, 4, 6, 1}, {6, 5, 7, 2}, {7, 6, 4, 3}};

/// The vector times a power of two, so that its largest component is in [1, 2): exact, and products
/// of three stay in range.
Vector scaled(Vector v) {
    const double largest = std::max({std::abs(v[0]), std::abs(v[1]), std::abs(v[2])});
    if (!(largest > 0 && std::isfinite(largest))) return v;
    const int exponent = std::ilogb(largest);
    for (double& component : v) component = std::scalbn(component, -exponent);
    return v;
}

/// The sign of (a x b) . c, 0 within rounding.
int orientation(const Vector& a, const Vector& b, const Vector& c) {
    const auto length = [](const Vector& v) {
        return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    };
    const double volume = (a[1] * b[2] - a[2] * b[1]) * c[0] + (a[2] * b[0] - a[0] * b[2]) * c[1] +
                          (a[0] * b[1] - a[1] * b[0]) * c[2];
    constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();
    if (!(std::abs(volume) > rounding * length(a) * length(b) * length(c))) return 0;
    return volume > 0 ? 1 : -1;
}

/// The sign of the Jacobian of a triangle or quadrilateral (in x and y), a tetrahedron or a
/// hexahedron at its corners: 1 or -1 where all corners agree; 0 where they do not or one is zero
/// within rounding, so that the element has no volume or folds over.
int orientation(CellShape shape, std::span<const Vector> points) {
    const bool plane = dimensions(shape) == 2;
    const bool simplex = shape == CellShape::triangle || shape == CellShape::tetrahedron;
    int sign = 0;
    for (int k = simplex ? 0 : 1; k <= (simplex ? 0 : corners(shape)); ++k) {
        const int(&corner)[4] = corner_edges[k];
        const auto edge = [&](int e) {
            if (plane && e == 3) return Vector{0, 0, 1};
            const Vector &from = points[std::size_t(corner[0])],
                         &to = points[std::size_t(corner[e])];
            return scaled({to[0] - from[0], to[1] - from[1], to[2] - from[2]});
        };
        const int corner_sign = orientation(edge(1), edge(2), edge(3));
        if (corner_sign == 0 || corner_sign == -sign) return 0;
        sign = corner_sign;
    }
    return sign;
}

/// Renumbers the corners of a cell so that its orientation is reversed.
void reverse_orientation(CellShape shape, Index* nodes) {
    if (shape == CellShape::segment) {
        std::swap(nodes[0], nodes[1]);
    } else if (shape == CellShape::triangle || shape == CellShape::tetrahedron) {
        std::swap(nodes[1], nodes[2]);
    } else {
        for (int face = 0; face + 4 <= corners(shape); face += 4) {
            std::swap(nodes[face + 1], nodes[face + 3]);
        }
    }
}

/// Makes a Mesh of the sections of a file, in the order of the functions.
class GmshMeshBuilder {
  public:
    explicit GmshMeshBuilder(const GmshFile& file) : file_(file), table_(file) {
        mesh_.dimensions = mesh_dimensions(file);
    }

    Mesh build() {
        add_elements();
        check_plane();
        number_nodes();
        orient();
        refuse_repeated_elements();
        add_regions();
        add_groups();
        check_names();
        add_empty_groups();
        return std::move(mesh_);
    }

  private:
    template <class... Parts>
    [[noreturn]] void fail(const GmshElements& elements, std::size_t e,
                           const Parts&... message) const {
        file_.fail(elements.locations[e], "element ", elements.tags[e], message...);
    }

    const std::vector<int>& groups_of(const GmshElements& elements, std::size_t e) const {
        const GmshEntity& entity = file_.entities[std::size_t(elements.entities[e])];
        if (!file_.has_entities || entity.listed) return entity.groups;
        fail(elements, e, " lies in the entity of dimension ", entity.dimensions, " with the tag ",
             entity.tag, ", which $Entities does not list");
    }

    std::string name_of(int dimensions, int tag) const {
        constexpr const char* kinds[] = {"point", "curve", "surface", "volume"};
        const auto entry = file_.group_names.find(std::pair(dimensions, tag));
        const bool named = entry != file_.group_names.end() && !entry->second.name.empty();
        return named ? entry->second.name : concat(kinds[dimensions], tag);
    }

    /// visit(shape, elements of the file, their nodes in the mesh).
    template <class Visit>
    void each_cells(Visit&& visit) {
        auto cells = mesh_.elements.begin();
        each_shape(file_, mesh_.dimensions, [&](CellShape shape, const GmshElements& elements) {
            visit(shape, elements, cells++->nodes);
        });
    }

    /// The corners of the elements, by numbers in the table.
    void add_elements() {
        constexpr std::size_t max_count = std::numeric_limits<Index>::max();
        std::size_t count = 0;
        if (table_.size() > max_count) file_.fail(0, "the mesh has more than 2^31 - 1 nodes");
        each_shape(file_, mesh_.dimensions, [&](CellShape shape, const GmshElements& elements) {
            count += elements.tags.size();
            if (count > max_count) file_.fail(0, "the mesh has more than 2^31 - 1 elements");
            std::vector<Index>& nodes = mesh_.elements.emplace_back(Cells{shape, {}}).nodes;
            nodes.reserve(elements.nodes.size());
            for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                for (int c = 0; c < corners(shape); ++c) {
                    nodes.push_back(Index(table_.corner(elements, shape, e, c)));
                }
            }
        });
    }

    /// A mesh of two dimensions lies in a plane z = constant.
    void check_plane() const {
        if (mesh_.dimensions == 3) return;
        constexpr double infinity = std::numeric_limits<double>::infinity();
        Vector low{infinity, infinity, infinity}, high{-infinity, -infinity, -infinity};
        for (const Cells& cells : mesh_.elements) {
            for (const Index node : cells.nodes) {
                const double* const point = table_.point(std::size_t(node));
                for (int d = 0; d < 3; ++d) {
                    low[d] = std::min(low[d], point[d]);
                    high[d] = std::max(high[d], point[d]);
                }
            }
        }
        // Rotated geometry is plane within rounding only.
        constexpr double flatness = 1e-10;
        const double extent = std::max(high[0] - low[0], high[1] - low[1]);
        if (high[2] - low[2] <= flatness * extent) return;
        file_.fail(0,
                   "the mesh has no tetrahedra or hexahedra, and its elements do not lie in a "
                   "plane z = constant: z ranges from ",
                   low[2], " to ", high[2]);
    }

    /// Drops the nodes that no element has; renumbers the rest.
    void number_nodes() {
        numbers_.assign(table_.size(), -1);
        for (const Cells& cells : mesh_.elements) {
            for (const Index node : cells.nodes) numbers_[std::size_t(node)] = 0;
        }
        Index next = 0;
        for (std::size_t k = 0; k < numbers_.size(); ++k) {
            if (numbers_[k] < 0) continue;
            numbers_[k] = next++;
            const double* const point = table_.point(k);
            mesh_.points.insert(mesh_.points.end(), point, point + mesh_.dimensions);
        }
        for (Cells& cells : mesh_.elements) {
            for (Index& node : cells.nodes) node = numbers_[std::size_t(node)];
        }
    }

    /// Reverses elements whose orientation is wrong.
    void orient() {
        each_cells([&](CellShape shape, const GmshElements& elements, std::vector<Index>& nodes) {
            const int d = mesh_.dimensions;
            std::array<Vector, 8> points{};
            for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                Index* const cell = &nodes[e * std::size_t(corners(shape))];
                for (int c = 0; c < corners(shape); ++c) {
                    std::copy_n(&mesh_.points[std::size_t(cell[c]) * d], d, points[c].begin());
                }
                const int sign = orientation(shape, points);
                if (sign < 0) reverse_orientation(shape, cell);
                if (sign == 0) {
                    fail(elements, e, ", a ", to_string(shape), ", is degenerate or folds over");
                }
            }
        });
    }

    /// Throws if two elements have the same nodes: version 2.2 writes an element once for each
    /// physical group that it is in, and it may be in one only.
    void refuse_repeated_elements() {
        each_cells([&](CellShape shape, const GmshElements& elements, std::vector<Index>& nodes) {
            const std::size_t count = std::size_t(corners(shape));
            std::vector<std::pair<std::array<Index, 8>, std::size_t>> keys(elements.tags.size());
            for (std::size_t e = 0; e < keys.size(); ++e) {
                auto& [sorted, element] = keys[e];
                std::copy_n(&nodes[e * count], count, sorted.begin());
                std::sort(sorted.begin(), sorted.begin() + std::ptrdiff_t(count));
                element = e;
            }
            std::ranges::sort(keys);
            const auto twice =
                std::ranges::adjacent_find(keys, {}, [](const auto& key) { return key.first; });
            if (twice == keys.end()) return;
            fail(elements, twice[1].second, " has the nodes of element ",
                 elements.tags[twice->second],
                 "; an element may be in one physical group of its dimension only");
        });
    }

    void add_regions() {
        std::vector<int> tags;  // Region tag of each element; 0: none.
        each_shape(file_, mesh_.dimensions, [&](CellShape, const GmshElements& elements) {
            for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                const std::vector<int>& groups = groups_of(elements, e);
                tags.push_back(groups.empty() ? 0 : std::abs(groups[0]));
                if (groups.size() <= 1) continue;
                fail(elements, e, " is in the physical groups ", std::abs(groups[0]), " and ",
                     std::abs(groups[1]), "; an element may be in one of its dimension only");
            }
        });
        std::map<int, int> regions;  // Index of each region by its tag.
        for (const int tag : tags) regions[tag];
        if (regions.size() == 1 && regions.begin()->first == 0) return;
        for (auto& [tag, region] : regions) {
            region = int(mesh_.region_names.size());
            mesh_.region_names.push_back(tag == 0 ? "" : name_of(mesh_.dimensions, tag));
        }
        for (int& tag : tags) tag = regions[tag];
        mesh_.regions = std::move(tags);
    }

    /// Adds the cell to `cells`, reversed if the tag of its group is negative.
    void add_cell(const GmshElements& elements, CellShape shape, std::size_t e, int group,
                  std::vector<Cells>& cells) {
        if (cells.empty() || cells.back().shape != shape) cells.push_back({shape, {}});
        std::vector<Index>& nodes = cells.back().nodes;
        for (int c = 0; c < corners(shape); ++c) {
            nodes.push_back(numbers_[table_.corner(elements, shape, e, c)]);
            if (nodes.back() >= 0) continue;
            const std::string name = name_of(dimensions(shape), std::abs(group));
            fail(elements, e, " of the physical group ", Quoted{name},
                 " has a node that no element of the mesh's dimension has");
        }
        if (group < 0) reverse_orientation(shape, &*(nodes.end() - corners(shape)));
    }

    void add_groups() {
        for (int dimensions = 0; dimensions < mesh_.dimensions; ++dimensions) {
            std::map<int, MeshGroup> groups;  // Groups by tag.
            each_shape(file_, dimensions, [&](CellShape shape, const GmshElements& elements) {
                for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                    for (const int group : groups_of(elements, e)) {
                        add_cell(elements, shape, e, group, groups[std::abs(group)].cells);
                    }
                }
            });
            for (auto& [tag, group] : groups) {
                mesh_.groups.push_back(
                    {name_of(dimensions, tag), dimensions, std::move(group.cells)});
            }
        }
    }

    void check_names() const {
        const auto check = [&](std::vector<std::string> names) {
            std::ranges::sort(names);
            const auto twice = std::ranges::adjacent_find(names);
            if (twice == names.end()) return;
            GmshLocation location = 0;
            for (const auto& [key, group] : file_.group_names) {
                if (group.name == *twice) location = std::max(location, group.location);
            }
            file_.fail(location, "two physical groups have the name ", Quoted{*twice});
        };
        std::vector<std::string> names;
        for (const MeshGroup& group : mesh_.groups) names.push_back(group.name);
        check(std::move(names));
        check(mesh_.region_names);
    }

    void add_empty_groups() {
        for (const auto& [key, group] : file_.group_names) {
            const auto is_this = [&](const MeshGroup& one) { return one.name == group.name; };
            const bool is_used =
                std::ranges::any_of(mesh_.groups, is_this) ||
                std::ranges::find(mesh_.region_names, group.name) != mesh_.region_names.end();
            if (!is_used && !group.name.empty()) mesh_.empty_groups.push_back(group.name);
        }
    }

    const GmshFile& file_;
    NodeTable table_;
    std::vector<Index> numbers_;  ///< Mesh numbers of the nodes in the table; -1: unused.
    Mesh mesh_;
};

}  // namespace

bool is_gmsh(std::string_view start) {
    if (start.starts_with(byte_order_mark)) start.remove_prefix(byte_order_mark.size());
    start.remove_prefix(std::min(start.find_first_not_of(" \t\r\n"), start.size()));
    return start.starts_with("$MeshFormat") || start.starts_with("$Comments");
}

Mesh parse_gmsh(InputFile&& file) {
    skip_byte_order_mark(file.stream);
    const GmshFile sections = parse_gmsh_sections(file);
    return GmshMeshBuilder(sections).build();
}

}  // namespace tessera::io
