/* Solves a tridiagonal system from arrays of the program, twice, with other values for the second.
 * cc -std=c11 solve.c $(pkg-config --cflags --libs tessera_c) */
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { rows = 1000, nonzeros = 3 * rows - 2 };

static int64_t row_offsets[rows + 1];
static int32_t column_indices[nonzeros];
static double values[nonzeros], b[rows], x[rows];

static void check(tessera_error error) {
    if (error == TESSERA_SUCCESS) return;
    fprintf(stderr, "%s\n", tessera_message());
    exit(1);
}

/* (-1, diagonal, -1) */
static void assemble(double diagonal) {
    int64_t k = 0;
    for (int32_t i = 0; i < rows; ++i) {
        row_offsets[i] = k;
        for (int32_t j = i - 1; j <= i + 1; ++j) {
            if (j < 0 || j >= rows) continue;
            column_indices[k] = j;
            values[k++] = i == j ? diagonal : -1;
        }
        b[i] = 1;
    }
    row_offsets[rows] = k;
}

int main(void) {
    tessera_context* context = NULL;
    tessera_matrix* matrix = NULL;
    tessera_solver* solver = NULL;
    tessera_options options;
    tessera_report report;
    tessera_options_init(&options);
    options.rtol = 1e-10;
    assemble(2.5);
    check(tessera_context_create("cpu", 0, &context));
    check(tessera_matrix_create(context, TESSERA_DOUBLE, rows, rows, nonzeros, row_offsets,
                                column_indices, values, &matrix));
    check(tessera_matrix_validate(matrix));
    check(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "block_jacobi:8", "csr", &solver));
    check(tessera_solver_setup(solver, matrix));
    for (int step = 0; step < 2; ++step) {
        if (step > 0) {
            assemble(3);
            check(tessera_solver_update(solver, matrix));
        }
        check(tessera_solver_solve(solver, b, x, &options, &report));
        printf("%s after %lld iterations, ||b - Ax|| / ||b|| = %.1e\n",
               tessera_status_name(report.status), (long long)report.iterations,
               report.true_relative_residual);
        if (report.status != TESSERA_CONVERGED) return 1;
    }
    printf("%s\n", tessera_solver_json(solver));
    tessera_solver_free(solver);
    tessera_matrix_free(matrix);
    tessera_context_free(context);
    return 0;
}
