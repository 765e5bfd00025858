#include <algorithm>

#include "base/checks.hpp"
#include "tessera/amg.hpp"

namespace tessera {

NearNullSpace rigid_body_modes(const NodeCoordinates& coordinates) {
    const int dimensions = coordinates.dimensions;
    const std::vector<double>& x = coordinates.values;
    require(dimensions == 2 || dimensions == 3, "rigid_body_modes: dimensions must be 2 or 3");
    const auto d = std::size_t(dimensions);
    require(x.size() % d == 0, "rigid_body_modes: ", x.size(), " coordinates are not ", dimensions,
            " per node");
    const std::size_t nodes = x.size() / d;
    // About the centre, so that rotations are no larger than need be.
    std::vector<double> centre(d, 0.0);
    for (std::size_t k = 0; k < x.size(); ++k) centre[k % d] += x[k];
    for (double& mean : centre) mean /= double(std::max<std::size_t>(nodes, 1));
    NearNullSpace modes;
    modes.columns = dimensions == 2 ? 3 : 6;
    const auto width = std::size_t(modes.columns);
    modes.values.assign(nodes * d * width, 0.0);
    for (std::size_t i = 0; i < nodes; ++i) {
        double* const rows = modes.values.data() + i * d * width;
        const auto set = [&](std::size_t row, std::size_t column, double value) {
            rows[row * width + column] = value;
        };
        const auto offset = [&](std::size_t axis) { return x[i * d + axis] - centre[axis]; };
        for (std::size_t axis = 0; axis < d; ++axis) set(axis, axis, 1);
        std::size_t column = d;  // Rotation in the plane of two axes.
        for (std::size_t a = 0; a < d; ++a) {
            for (std::size_t b = a + 1; b < d; ++b, ++column) {
                set(a, column, -offset(b));
                set(b, column, offset(a));
            }
        }
    }
    return modes;
}

NearNullSpace translations(Index nodes, int block) {
    NearNullSpace space{block, {}};
    const auto width = std::size_t(block);
    space.values.assign(std::size_t(nodes) * width * width, 0.0);
    for (std::size_t i = 0; i < std::size_t(nodes) * width; ++i) {
        space.values[i * width + i % width] = 1;
    }
    return space;
}

}  // namespace tessera
