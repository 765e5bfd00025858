#include "system/null_space.hpp"

#include "system/system.hpp"
#include "tessera/io.hpp"
#include "tessera/spec.hpp"

namespace tessera::cli {

namespace {

NearNullSpace read_null_space(const std::string& path, Index rows) {
    const auto by_columns = io::read_vectors<double>(Context::cpu(1), path, rows);
    const std::size_t n = std::size_t(rows), columns = by_columns.size() / n;
    NearNullSpace vectors{int(columns), std::vector<double>(by_columns.size())};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < columns; ++c) {
            vectors.values[i * columns + c] = by_columns[c * n + i];
        }
    }
    return vectors;
}

}  // namespace

NearNullSpace parse_null_space(const std::string& text, Index rows,
                               const NodeCoordinates& coordinates) {
    if (text.empty() || rows == 0) return {};
    if (text == "constant") return translations(rows, 1);
    if (text != "rigid_body") {
        if (!is_file_name(text)) {
            throw InvalidArgument(
                "--nullspace: " +
                unknown_word_message("word (and no such file)", text, {"constant", "rigid_body"}) +
                ", or a file");
        }
        return read_null_space(text, rows);
    }
    const auto unknowns = Offset(coordinates.values.size());
    if (unknowns != rows || !coordinates.unknowns.empty()) {
        throw InvalidArgument(
            "--nullspace: rigid_body needs the coordinates of all nodes of a body without "
            "supports, as a mesh or the problem elasticity3d:N,free has them");
    }
    return rigid_body_modes(coordinates);
}

}  // namespace tessera::cli
