#include <algorithm>

#include "commands/commands.hpp"
#include "report/text.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "system/matrix_statistics.hpp"
#include "system/system.hpp"

namespace tessera::cli {

namespace {

/// A row for each node.
void write_coordinates(const Context& host, const std::string& path,
                       const NodeCoordinates& points) {
    const SharedNumbers& values = points.values;
    const std::size_t d = std::size_t(points.dimensions), nodes = values.size() / d;
    std::vector<double> columns(values.size());
    for (std::size_t k = 0; k < values.size(); ++k) {
        columns[k % d * nodes + k / d] = values.data()[k];
    }
    io::write_vectors<double>(host, path, columns, points.dimensions);
}

}  // namespace

int convert(const ConvertArguments& arguments) {
    const InterruptNote note("converting " + arguments.matrix);
    check_ending("convert", arguments.out);
    if (!arguments.right_hand_side.empty()) check_ending("--rhs", arguments.right_hand_side);
    if (!arguments.coordinates.empty()) check_ending("--coordinates", arguments.coordinates);
    check_outputs({{"convert", arguments.out},
                   {"--rhs", arguments.right_hand_side},
                   {"--coordinates", arguments.coordinates}},
                  {arguments.matrix});
    check_mesh_arguments(arguments.mesh);
    if (!arguments.mesh.section.empty()) {
        throw InvalidArgument(
            "convert --section has no effect: it is for results, which solve finds");
    }
    const Context host = Context::cpu(arguments.threads);
    const System<double> system =
        load_system<double>(host, arguments.matrix, arguments.allow_empty_rows, &arguments.mesh,
                            !arguments.right_hand_side.empty());
    if (system.load.empty() && !arguments.right_hand_side.empty()) {
        throw InvalidArgument("--rhs: '" + arguments.matrix + "' has no right-hand side");
    }
    const NodeCoordinates& points = *system.coordinates;
    if (points.values.empty() && !arguments.coordinates.empty()) {
        throw InvalidArgument("--coordinates: '" + arguments.matrix + "' has no nodes");
    }
    const CsrView<double> matrix = system.matrix.view();
    // PETSc files have no symmetric form.
    const bool symmetric = arguments.symmetry == "auto" && !arguments.out.ends_with(".petsc") &&
                           matrix.rows == matrix.columns && find_symmetry(matrix).exact();
    write_output(arguments.out, [&] {
        io::write_matrix(host, arguments.out, matrix,
                         symmetric ? io::Symmetry::symmetric : io::Symmetry::general);
    });
    if (!arguments.right_hand_side.empty()) {
        write_output(arguments.right_hand_side, [&] {
            io::write_vectors<double>(host, arguments.right_hand_side, system.load,
                                      std::max(1, int(arguments.mesh.cases.size())));
        });
    }
    if (!arguments.coordinates.empty()) {
        write_output(arguments.coordinates,
                     [&] { write_coordinates(host, arguments.coordinates, points); });
    }
    if (system.known_singular) {
        print_note("the matrix is singular: " +
                   (system.structure ? rigid_motion_message(arguments.matrix, *system.structure)
                                     : "it has a null space"));
    }
    print_note(format("wrote %d x %d with %lld nonzeros (%s) to ", matrix.rows, matrix.columns,
                      static_cast<long long>(matrix.nonzeros),
                      symmetric ? "symmetric" : "general") +
               arguments.out);
    return exit_converged;
}

}  // namespace tessera::cli
