#include "commands/commands.hpp"
#include "report/text.hpp"
#include "run/interrupt.hpp"
#include "run/output.hpp"
#include "system/matrix_statistics.hpp"
#include "system/system.hpp"

namespace tessera::cli {

int convert(const ConvertArguments& arguments) {
    const InterruptNote note("converting " + arguments.matrix);
    check_ending("convert", arguments.out);
    check_output("convert", arguments.out, {arguments.matrix});
    const Context host = Context::cpu(arguments.threads);
    const System<double> system =
        load_system<double>(host, arguments.matrix, arguments.allow_empty_rows);
    const CsrView<double> matrix = system.matrix.view();
    // PETSc files have no symmetric form.
    const bool symmetric = arguments.symmetry == "auto" && !arguments.out.ends_with(".petsc") &&
                           matrix.rows == matrix.columns && find_symmetry(matrix).exact();
    write_output(arguments.out, [&] {
        io::write_matrix(host, arguments.out, matrix,
                         symmetric ? io::Symmetry::symmetric : io::Symmetry::general);
    });
    print_note(format("wrote %d x %d with %lld nonzeros (%s) to ", matrix.rows, matrix.columns,
                      static_cast<long long>(matrix.nonzeros),
                      symmetric ? "symmetric" : "general") +
               arguments.out);
    return exit_converged;
}

}  // namespace tessera::cli
