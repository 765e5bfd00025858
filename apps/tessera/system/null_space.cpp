#include "system/null_space.hpp"

#include "tessera/io.hpp"

namespace tessera::cli {

namespace {

NearNullSpace read_vectors(const std::string& path) {
    const auto matrix = io::read_matrix<double>(Context::cpu(1), path, nullptr, true);
    NearNullSpace vectors{matrix.columns(), {}};
    const auto width = std::size_t(matrix.columns());
    vectors.values.assign(std::size_t(matrix.rows()) * width, 0.0);
    const CsrView<double> view = matrix.view();
    for (Index i = 0; i < view.rows; ++i) {
        for (Offset k = view.row_offsets[i]; k < view.row_offsets[i + 1]; ++k) {
            vectors.values[std::size_t(i) * width + std::size_t(view.column_indices[k])] =
                view.values[k];
        }
    }
    return vectors;
}

}  // namespace

NearNullSpace parse_null_space(const std::string& text, Index rows,
                               const NodeCoordinates& coordinates) {
    if (text.empty()) return {};
    if (text == "constant") return translations(rows, 1);
    if (text != "rigid_body") return read_vectors(text);
    const auto unknowns = Offset(coordinates.values.size());
    if (unknowns != rows || !coordinates.unknowns.empty()) {
        throw InvalidArgument(
            "--nullspace: rigid_body needs the coordinates of all nodes of a body without "
            "supports, as a mesh or the problem elasticity3d:N,free has them");
    }
    return rigid_body_modes(coordinates);
}

}  // namespace tessera::cli
