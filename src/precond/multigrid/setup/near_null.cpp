#include "base/checks.hpp"
#include "base/dispatch.hpp"
#include "precond/multigrid/setup/near_null_rows.hpp"
#include "precond/multigrid/setup/prolongator.hpp"

namespace tessera {

namespace multigrid {

namespace {

/// Without the positions in the memory of a Context.
RigidBodyRows rigid_body_rows(const NodeCoordinates& coordinates, const Context* context = nullptr,
                              const Communicator* communicator = nullptr) {
    const int dimensions = coordinates.dimensions;
    require(dimensions == 2 || dimensions == 3, "rigid_body_modes: dimensions must be 2 or 3");
    const auto d = std::size_t(dimensions);
    const SharedNumbers& x = coordinates.values;
    require(x.size() % d == 0, "rigid_body_modes: ", x.size(), " coordinates are not ", dimensions,
            " per node");
    RigidBodyRows rows{dimensions, x.data(), {0, 0, 0}, nullptr};
    // The centre need only be near the nodes: the mean of some of them.
    constexpr std::size_t max_samples = 1024;
    const std::size_t step = x.size() / d / max_samples + 1;
    double count = 0;
    for (std::size_t i = 0; i < x.size(); i += step * d, ++count) {
        for (std::size_t axis = 0; axis < d; ++axis) rows.centre[axis] += x[i + axis];
    }
    if (communicator != nullptr) {
        const double mine[] = {rows.centre[0], rows.centre[1], rows.centre[2], count};
        const std::vector<double> all = gather_to_host<double>(*communicator, *context, mine);
        for (std::size_t k = 0; k < 4; ++k) {
            double sum = 0;
            for (std::size_t at = k; at < all.size(); at += 4) sum += all[at];
            (k < 3 ? rows.centre[k] : count) = sum;
        }
    }
    for (double& mean : rows.centre) mean /= std::max(count, 1.0);
    return rows;
}

}  // namespace

DeviceVectors rigid_body_vectors(const Context& context, const NodeCoordinates& coordinates,
                                 const DeviceCoordinates& positions,
                                 const Communicator* communicator) {
    RigidBodyRows rows = rigid_body_rows(coordinates, &context, communicator);
    const int columns = coordinates.dimensions == 2 ? 3 : 6;
    DeviceVectors modes{columns,
                        Buffer<double>(context, Offset(coordinates.values.size()) * columns)};
    rows.positions = positions.values.data();
    rows.values = modes.values.data();
    for_each_index(context, modes.values.size(), rows);
    return modes;
}

DeviceVectors translation_vectors(const Context& context, Index rows, int block) {
    DeviceVectors vectors{block, Buffer<double>(context, Offset(rows) * block)};
    for_each_index(context, rows, TranslationRow{block, vectors.values.data()});
    return vectors;
}

}  // namespace multigrid

NearNullSpace rigid_body_modes(const NodeCoordinates& coordinates) {
    multigrid::RigidBodyRows rows = multigrid::rigid_body_rows(coordinates);
    NearNullSpace modes{coordinates.dimensions == 2 ? 3 : 6, {}};
    modes.values.resize(coordinates.values.size() * std::size_t(modes.columns));
    rows.values = modes.values.data();
    for (Offset place = 0; place < Offset(modes.values.size()); ++place) rows(place);
    return modes;
}

NearNullSpace translations(Index nodes, int block) {
    NearNullSpace space{block, {}};
    space.values.resize(std::size_t(nodes) * std::size_t(block) * std::size_t(block));
    const multigrid::TranslationRow row{block, space.values.data()};
    for (Offset i = 0; i < Offset(nodes) * block; ++i) row(i);
    return space;
}

}  // namespace tessera
