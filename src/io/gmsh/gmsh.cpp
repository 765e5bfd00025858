#include "io/gmsh/gmsh.hpp"

#include <array>
#include <limits>
#include <set>
#include <unordered_map>

#include "io/gmsh/node_table.hpp"
#include "tessera/detail/orientation.hpp"

namespace tessera::io {

namespace {

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
        check_partitions();
        find_repeated_elements();
        find_group_sets();
        add_regions();
        add_groups();
        add_groups_of_elements();
        drop_repeated_elements();
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

    /// The nodes of the elements, by numbers in the table.
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
                for (int c = 0; c < node_count(shape); ++c) {
                    nodes.push_back(Index(table_.node(elements, shape, e, c)));
                }
            }
        });
    }

    /// A mesh of two dimensions lies in a plane z = constant.
    void check_plane() const {
        if (mesh_.dimensions == 3) return;
        constexpr double infinity = std::numeric_limits<double>::infinity();
        std::array<double, 3> low{infinity, infinity, infinity},
            high{-infinity, -infinity, -infinity};
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
                   "the mesh has no solid elements, and its elements do not lie in a "
                   "plane z = constant: z ranges from ",
                   low[2], " to ", high[2],
                   "; rotate a plane mesh, or, of a solid, give the volume a physical group too, "
                   "so that Gmsh saves its elements (or set Mesh.SaveAll = 1)");
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

    /// Reverses elements whose orientation is wrong. Those of second order may be sound although
    /// their corners alone would fold over.
    void orient() {
        each_cells([&](CellShape shape, const GmshElements& elements, std::vector<Index>& nodes) {
            for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                Index* const cell = &nodes[e * std::size_t(node_count(shape))];
                const int sign = detail::orientation(mesh_, shape, cell);
                if (sign < 0) detail::reverse_orientation(shape, cell);
                if (sign == 0 && is_first_order(shape)) {
                    fail(elements, e, ", a ", to_string(shape), ", is degenerate or folds over");
                }
            }
        });
    }

    /// Throws if a partition has no elements: the file of one partition is not the whole mesh.
    void check_partitions() const {
        std::set<int> missing;
        for (const GmshEntity& entity : file_.entities) {
            if (entity.dimensions != mesh_.dimensions) continue;
            missing.insert(entity.partitions.begin(), entity.partitions.end());
        }
        each_shape(file_, mesh_.dimensions, [&](CellShape, const GmshElements& elements) {
            for (const Index entity : elements.entities) {
                if (missing.empty()) return;
                for (const int partition : file_.entities[std::size_t(entity)].partitions) {
                    missing.erase(partition);
                }
            }
        });
        if (missing.empty()) return;
        file_.fail(0, "the file has no elements of partition ", *missing.begin(), " of ",
                   file_.partitions,
                   "; a mesh is read as a whole: save it in one file (Gmsh's option "
                   "Mesh.PartitionSplitMeshFiles = 0), or without partitions");
    }

    /// Finds elements with the same nodes: version 2.2 writes an element once for each physical
    /// group that it is in. Throws if the groups of such elements do not differ.
    void find_repeated_elements() {
        std::size_t before = 0;  // Elements of other shapes.
        each_cells([&](CellShape shape, const GmshElements& elements, std::vector<Index>& nodes) {
            each_repetition(shape, elements, nodes, [&](std::size_t first, std::size_t later) {
                repeated_[before + later] = before + first;
            });
            before += elements.tags.size();
        });
        for (int dimensions = 0; dimensions < mesh_.dimensions; ++dimensions) {
            each_shape(file_, dimensions, [&](CellShape shape, const GmshElements& elements) {
                each_repetition(shape, elements, elements.nodes, [](std::size_t, std::size_t) {});
            });
        }
    }

    /// visit(first element, later element with the same nodes).
    template <class Node, class Visit>
    void each_repetition(CellShape shape, const GmshElements& elements,
                         const std::vector<Node>& nodes, Visit&& visit) const {
        const auto count = std::size_t(node_count(shape));
        std::vector<std::pair<CellKey<Node>, std::size_t>> keys(elements.tags.size());
        for (std::size_t e = 0; e < keys.size(); ++e) {
            keys[e] = {cell_key(shape, std::span(nodes).subspan(e * count, count)), e};
        }
        std::ranges::sort(keys);
        std::size_t first = 0;
        for (std::size_t k = 1; k < keys.size(); ++k) {
            if (keys[k].first != keys[first].first) {
                first = k;
                continue;
            }
            for (std::size_t other = first; other < k; ++other) {
                check_groups_differ(shape, elements, keys[other].second, keys[k].second);
            }
            visit(keys[first].second, keys[k].second);
        }
    }

    /// Throws if two elements with the same nodes share a physical group, or if none has one and
    /// they are elements of the mesh.
    void check_groups_differ(CellShape shape, const GmshElements& elements, std::size_t one,
                             std::size_t other) const {
        const std::vector<int>&a = groups_of(elements, one), &b = groups_of(elements, other);
        const auto is_in_b = [&](int group) {
            return std::ranges::any_of(b, [&](int k) { return std::abs(k) == std::abs(group); });
        };
        const auto shared = std::ranges::find_if(a, is_in_b);
        const bool counts = dimensions(shape) == mesh_.dimensions;
        if (shared == a.end() && !(a.empty() && b.empty() && counts)) return;
        const std::string name = a.empty() ? "" : name_of(dimensions(shape), std::abs(*shared));
        const std::string where = a.empty()
                                      ? "neither is in a physical group"
                                      : concat("both are in the physical group ", Quoted{name});
        fail(elements, other, " has the nodes of element ", elements.tags[one], ", and ", where,
             ": it would count twice; remove such copies (in Gmsh's Python interface "
             "gmsh.model.mesh.removeDuplicateElements())");
    }

    /// Finds the groups of each element, by increasing tag.
    void find_group_sets() {
        std::map<std::vector<int>, int> numbers;
        const auto number_of = [&](std::vector<int> groups) {
            for (int& group : groups) group = std::abs(group);
            std::ranges::sort(groups);
            groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
            const auto [entry, is_new] = numbers.try_emplace(groups, int(group_sets_.size()));
            if (is_new) group_sets_.push_back(std::move(groups));
            return entry->second;
        };
        std::vector<int> set_of_entity(file_.entities.size(), -1);
        each_shape(file_, mesh_.dimensions, [&](CellShape, const GmshElements& elements) {
            for (std::size_t e = 0; e < elements.tags.size(); ++e) {
                int& set = set_of_entity[std::size_t(elements.entities[e])];
                if (set < 0) set = number_of(groups_of(elements, e));
                set_of_element_.push_back(set);
            }
        });
        for (const auto& [later, first] : repeated_) {
            std::vector<int> both = group_sets_[std::size_t(set_of_element_[first])];
            const std::vector<int>& more = group_sets_[std::size_t(set_of_element_[later])];
            both.insert(both.end(), more.begin(), more.end());
            set_of_element_[first] = number_of(std::move(both));
        }
    }

    const std::vector<int>& groups_of(std::size_t element) const {
        return group_sets_[std::size_t(set_of_element_[element])];
    }

    /// The region of an element is its group of the smallest tag.
    void add_regions() {
        std::vector<int> tags;       // Region tag of each element; 0: none.
        std::map<int, int> regions;  // Index of each region by its tag.
        for (std::size_t e = 0; e < set_of_element_.size(); ++e) {
            if (repeated_.contains(e)) continue;
            tags.push_back(groups_of(e).empty() ? 0 : groups_of(e)[0]);
            regions[tags.back()];
        }
        if (regions.size() == 1 && regions.begin()->first == 0) return;
        for (auto& [tag, region] : regions) {
            region = int(mesh_.region_names.size());
            mesh_.region_names.push_back(tag == 0 ? "" : name_of(mesh_.dimensions, tag));
        }
        for (int& tag : tags) tag = regions[tag];
        mesh_.regions = std::move(tags);
    }

    /// Adds the groups of the mesh's dimension that have elements of other regions, too.
    void add_groups_of_elements() {
        std::map<int, MeshGroup> groups;  // Groups by tag.
        for (std::size_t e = 0; e < set_of_element_.size(); ++e) {
            if (repeated_.contains(e)) continue;
            for (std::size_t k = 1; k < groups_of(e).size(); ++k) groups[groups_of(e)[k]];
        }
        if (groups.empty()) return;
        std::size_t element = 0;
        for (const Cells& cells : mesh_.elements) {
            const std::size_t count = std::size_t(node_count(cells.shape));
            for (std::size_t at = 0; at < cells.nodes.size(); at += count, ++element) {
                if (repeated_.contains(element)) continue;
                for (const int tag : groups_of(element)) {
                    const auto group = groups.find(tag);
                    if (group == groups.end()) continue;
                    std::vector<Cells>& own = group->second.cells;
                    if (own.empty() || own.back().shape != cells.shape) {
                        own.push_back({cells.shape, {}});
                    }
                    const auto first = cells.nodes.begin() + std::ptrdiff_t(at);
                    own.back().nodes.insert(own.back().nodes.end(), first,
                                            first + std::ptrdiff_t(count));
                }
            }
        }
        for (auto& [tag, group] : groups) {
            mesh_.groups.push_back(
                {name_of(mesh_.dimensions, tag), mesh_.dimensions, std::move(group.cells)});
        }
    }

    void drop_repeated_elements() {
        if (repeated_.empty()) return;
        std::size_t element = 0;
        for (Cells& cells : mesh_.elements) {
            const std::size_t count = std::size_t(node_count(cells.shape));
            std::size_t kept = 0;
            for (std::size_t at = 0; at < cells.nodes.size(); at += count) {
                if (repeated_.contains(element++)) continue;
                std::copy_n(&cells.nodes[at], count, &cells.nodes[kept]);
                kept += count;
            }
            cells.nodes.resize(kept);
        }
    }

    /// Adds the cell to `cells`, reversed if the tag of its group is negative.
    void add_cell(const GmshElements& elements, CellShape shape, std::size_t e, int group,
                  std::vector<Cells>& cells) {
        if (cells.empty() || cells.back().shape != shape) cells.push_back({shape, {}});
        std::vector<Index>& nodes = cells.back().nodes;
        for (int c = 0; c < node_count(shape); ++c) {
            nodes.push_back(numbers_[table_.node(elements, shape, e, c)]);
            if (nodes.back() >= 0) continue;
            const std::string name = name_of(dimensions(shape), std::abs(group));
            fail(elements, e, " of the physical group ", Quoted{name},
                 " has a node that no element of the mesh's dimension has");
        }
        if (group < 0) detail::reverse_orientation(shape, &*(nodes.end() - node_count(shape)));
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
        for (const auto& entry : file_.group_names) {
            const auto& group = entry.second;
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
    std::unordered_map<std::size_t, std::size_t>
        repeated_;                              ///< Elements to earlier ones that have their nodes.
    std::vector<std::vector<int>> group_sets_;  ///< Distinct sets of groups of elements.
    std::vector<int> set_of_element_;
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
