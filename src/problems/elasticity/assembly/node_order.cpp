#include "problems/elasticity/assembly/node_order.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "problems/elasticity/loads/faces.hpp"

namespace tessera::elasticity {

namespace {

/// Whether the numbers of an element's nodes differ much more, on average, than those of neighbours
/// do where a body is numbered layer by layer.
bool is_scattered(const Elements& elements) {
    constexpr Index min_nodes = 10000;
    constexpr double max_layers = 4;
    const Index nodes = elements.mesh().node_count();
    if (nodes < min_nodes || elements.count() == 0) return false;
    double sum = 0;
    for (Index element = 0; element < elements.count(); ++element) {
        const auto [first, last] = std::ranges::minmax(elements.nodes(element));
        sum += double(last - first);
    }
    const double layer = std::pow(double(nodes), 1 - 1.0 / elements.mesh().dimensions);
    return sum / elements.count() > max_layers * layer;
}

/// The bits of a number of 21 bits, two zeros between each and the next.
std::uint64_t spread_bits(std::uint64_t number) {
    number = (number | number << 32) & 0x1f00000000ffff;
    number = (number | number << 16) & 0x1f0000ff0000ff;
    number = (number | number << 8) & 0x100f00f00f00f00f;
    number = (number | number << 4) & 0x10c30c30c30c30c3;
    return (number | number << 2) & 0x1249249249249249;
}

}  // namespace

std::vector<Index> order_nodes(const Elements& elements) {
    const Mesh& mesh = elements.mesh();
    std::vector<Index> order(std::size_t(mesh.node_count()));
    std::iota(order.begin(), order.end(), Index(0));
    if (!is_scattered(elements)) return order;
    const auto d = std::size_t(mesh.dimensions);
    Vector low = point_of(mesh, 0), high = low;
    for (const Index node : order) {
        const Vector point = point_of(mesh, node);
        for (std::size_t i = 0; i < d; ++i) {
            low[i] = std::min(low[i], point[i]);
            high[i] = std::max(high[i], point[i]);
        }
    }
    double extent = 0;
    for (std::size_t i = 0; i < d; ++i) extent = std::max(extent, high[i] - low[i]);
    constexpr double steps = (1 << 21) - 1;
    std::vector<std::uint64_t> keys;
    keys.reserve(order.size());
    for (const Index node : order) {
        const Vector point = point_of(mesh, node);
        std::uint64_t key = 0;
        for (std::size_t i = 0; i < d; ++i) {
            key |= spread_bits(std::uint64_t((point[i] - low[i]) / extent * steps)) << i;
        }
        keys.push_back(key);
    }
    std::ranges::stable_sort(order, {}, [&](Index node) { return keys[std::size_t(node)]; });
    return order;
}

NodeOrder::NodeOrder(const System& system, int dimensions) {
    const auto d = std::size_t(dimensions);
    std::vector<Index> nodes_of_rows;
    for (std::size_t k = 0; k < system.unknowns.size(); ++k) {
        if (system.unknowns[k] < 0) continue;
        const auto row = std::size_t(system.unknowns[k]);
        if (row >= nodes_of_rows.size()) nodes_of_rows.resize(row + row / 2 + 1, -1);
        nodes_of_rows[row] = Index(k / d);
    }
    places.assign(system.unknowns.size() / d, -1);
    const auto place = [&](Index node) {
        if (node < 0 || places[std::size_t(node)] >= 0) return;
        places[std::size_t(node)] = Index(nodes.size());
        nodes.push_back(node);
    };
    std::ranges::for_each(nodes_of_rows, place);
    with_rows = Index(nodes.size());
    for (Index node = 0; node < Index(places.size()); ++node) place(node);
}

}  // namespace tessera::elasticity
