/* Matrices in the arrays of other programs, and several right-hand sides. */
#include "checks.h"

/* The same solution from `matrix` as from the matrix (-1, 3, -1). */
static void solves_as_tridiagonal(tessera_context* context, tessera_matrix* matrix) {
    double numbers[3 * (rows + 2)];
    const int64_t leading = rows + 2;
    for (int i = 0; i < 3 * (rows + 2); ++i) numbers[i] = 1 + (i / leading);
    const char zeros[3 * (rows + 2) * sizeof(double)] = {0};
    void* b = placed(context, numbers, sizeof numbers);
    void* x = placed(context, zeros, sizeof zeros);
    tessera_solver* solver = NULL;
    tessera_report reports[3];
    tessera_options options;
    tessera_options_init(&options);
    options.rtol = 1e-12;
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacobi", NULL, &solver));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve_vectors(solver, 3, b, leading, x, leading, &options, reports));
    for (int j = 0; j < 3; ++j) {
        CHECK(reports[j].status == TESSERA_CONVERGED);
        double solution[rows];
        SUCCEEDS(tessera_copy(context, (const double*)x + j * leading, solution, sizeof solution));
        for (int i = 0; i < rows; ++i) solution[i] /= j + 1;
        void* scaled = placed(context, solution, sizeof solution);
        CHECK(residual(context, scaled, 3, TESSERA_DOUBLE) <= 1e-10);
        SUCCEEDS(tessera_release(context, scaled));
    }
    CHECK(strcmp(tessera_solver_message(solver), "") == 0);
    options.max_iterations = options.stagnation_window = INT64_MAX;
    SUCCEEDS(tessera_copy(context, zeros, x, sizeof zeros));
    SUCCEEDS(tessera_solver_solve_vectors(solver, 3, b, leading, x, leading, &options, reports));
    CHECK(reports[2].status == TESSERA_CONVERGED);
    options.max_iterations = 1;
    SUCCEEDS(tessera_copy(context, zeros, x, sizeof zeros));
    SUCCEEDS(tessera_solver_solve_vectors(solver, 2, b, leading, x, leading, &options, NULL));
    CHECK(strstr(tessera_solver_json(solver), "max_iterations") != NULL);
    FAILS(tessera_solver_solve_vectors(solver, 0, b, leading, x, leading, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "no right-hand sides");
    FAILS(tessera_solver_solve_vectors(solver, 2, b, rows - 1, x, leading, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "leading dimension");
    FAILS(tessera_solver_solve_vectors(solver, 2, b, INT64_MAX, x, leading, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "leading dimension");
    FAILS(tessera_solver_solve_vectors(solver, 2, b, leading, x, INT64_MAX, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "leading dimension");
    FAILS(tessera_solver_solve_vectors(solver, 2, NULL, leading, x, leading, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "b is null");
    tessera_solver_free(solver);
    SUCCEEDS(tessera_release(context, b));
    SUCCEEDS(tessera_release(context, x));
}

/* Sizes that no memory holds, of arrays that are much shorter. */
static void huge_sizes(tessera_context* context) {
    const arrays of = tridiagonal(context, 3, TESSERA_DOUBLE);
    tessera_matrix* matrix = NULL;
    tessera_solver* solver = NULL;
    void* array = NULL;
    FAILS(tessera_allocate(context, (size_t)INT64_MAX, &array), TESSERA_OUT_OF_MEMORY, "memory");
    FAILS(tessera_allocate(context, SIZE_MAX, &array), TESSERA_INVALID_ARGUMENT, "huge");
    FAILS(tessera_copy(context, of.values, of.values, SIZE_MAX), TESSERA_INVALID_ARGUMENT, "huge");
    const int64_t huge[] = {INT64_MAX, INT64_MAX - 1, INT64_MAX / 4, INT64_MAX / 8};
    for (int k = 0; k < 4; ++k) {
        for (int sort = 0; sort < 2; ++sort) {
            FAILS(tessera_matrix_create_csr(context, TESSERA_DOUBLE, rows, rows, huge[k], 64,
                                            of.row_offsets, 32, of.column_indices, of.values, sort,
                                            &matrix),
                  TESSERA_INVALID_ARGUMENT, "offsets");
            CHECK(strncmp(tessera_message(), "row ", 4) == 0);
        }
        FAILS(tessera_matrix_create_bsr(context, TESSERA_DOUBLE, rows, rows, 2, huge[k], 64,
                                        of.row_offsets, 32, of.column_indices, of.values, 0, 0,
                                        &matrix),
              TESSERA_INVALID_ARGUMENT, k < 2 ? "too many blocks" : "offsets");
        FAILS(tessera_matrix_create_coo(context, TESSERA_DOUBLE, rows, rows, huge[k], 64,
                                        of.row_offsets, of.row_offsets, of.values, &matrix),
              TESSERA_OUT_OF_MEMORY, "entries needs about");
        FAILS(tessera_matrix_create_bsr(context, TESSERA_DOUBLE, INT32_MAX, INT32_MAX, 1024,
                                        huge[k], 64, of.row_offsets, 32, of.column_indices,
                                        of.values, 0, 0, &matrix),
              TESSERA_INVALID_ARGUMENT, "2^31 - 1");
        /* Its arrays are looked at where they are used. */
        SUCCEEDS(tessera_matrix_create(context, TESSERA_DOUBLE, rows, rows, huge[k], of.row_offsets,
                                       of.column_indices, of.values, &matrix));
        FAILS(tessera_matrix_multiply(matrix, 1, of.values, 0, of.values), TESSERA_INVALID_ARGUMENT,
              "offsets");
        CHECK(tessera_matrix_validate(matrix) != TESSERA_SUCCESS);
        SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacobi", NULL, &solver));
        FAILS(tessera_solver_setup(solver, matrix), TESSERA_INVALID_ARGUMENT, "offsets");
        tessera_solver_free(solver);
        tessera_matrix_free(matrix);
        matrix = NULL;
    }
    SUCCEEDS(tessera_release(context, of.row_offsets));
    SUCCEEDS(tessera_release(context, of.column_indices));
    SUCCEEDS(tessera_release(context, of.values));
}

/* Compressed rows with 32- and 64-bit integers, unsorted ones, blocks, coordinates. */
void other_arrays(tessera_context* context) {
    huge_sizes(context);
    int32_t offsets[rows + 1], block_offsets[rows / 2 + 1], block_columns[nonzeros];
    int64_t columns[nonzeros], row_of[nonzeros + 1], column_of[nonzeros + 1];
    double values[nonzeros], doubled[nonzeros], blocks[4 * nonzeros] = {0};
    double in_two[nonzeros + 1], sums[rows], ones[rows];
    int k = 0, count = 0;
    for (int i = 0; i < rows; ++i) {
        offsets[i] = k;
        for (int j = i + 1; j >= i - 1; --j) { /* Descending. */
            if (j < 0 || j >= rows) continue;
            columns[k] = j;
            values[k++] = i == j ? 3 : -1;
        }
    }
    offsets[rows] = k;
    for (int i = 0; i < rows / 2; ++i) {
        block_offsets[i] = count;
        for (int j = i - 1; j <= i + 1; ++j) {
            if (j < 0 || j >= rows / 2) continue;
            double* block = blocks + 4 * count;
            block_columns[count++] = j;
            if (j == i) block[0] = block[3] = 3;
            if (j == i) block[1] = block[2] = -1;
            if (j == i - 1) block[1] = -1; /* Row 2i, column 2i - 1. */
            if (j == i + 1) block[2] = -1;
        }
    }
    block_offsets[rows / 2] = count;
    for (int i = 0; i < rows; ++i) {
        for (int t = offsets[i]; t < offsets[i + 1]; ++t) row_of[t] = i;
    }
    for (int t = 0; t < nonzeros; ++t) {
        column_of[t] = columns[t];
        in_two[t] = values[t];
        doubled[t] = 2 * values[t];
    }
    for (int i = 0; i < rows; ++i) ones[i] = 1;
    row_of[nonzeros] = column_of[nonzeros] = 7; /* The entry (7, 7) is given as 2.5 and 0.5. */
    in_two[nonzeros] = 0.5;
    for (int t = offsets[7]; t < offsets[8]; ++t) in_two[t] -= columns[t] == 7 ? 0.5 : 0;

    void* at[11] = {placed(context, offsets, sizeof offsets),
                    placed(context, columns, sizeof columns),
                    placed(context, values, sizeof values),
                    placed(context, block_offsets, sizeof block_offsets),
                    placed(context, block_columns, sizeof block_columns),
                    placed(context, blocks, sizeof blocks),
                    placed(context, row_of, sizeof row_of),
                    placed(context, column_of, sizeof column_of),
                    placed(context, doubled, sizeof doubled),
                    placed(context, in_two, sizeof in_two),
                    placed(context, ones, sizeof ones)};
    tessera_matrix* matrix = NULL;
    FAILS(tessera_matrix_create_csr(context, TESSERA_DOUBLE, rows, rows, nonzeros, 32, at[0], 64,
                                    at[1], at[2], 0, &matrix),
          TESSERA_INVALID_ARGUMENT, "not sorted");
    FAILS(tessera_matrix_create_csr(context, TESSERA_DOUBLE, rows, rows, nonzeros, 16, at[0], 64,
                                    at[1], at[2], 1, &matrix),
          TESSERA_INVALID_ARGUMENT, "32 or 64 bits");
    CHECK(matrix == NULL);
    SUCCEEDS(tessera_matrix_create_csr(context, TESSERA_DOUBLE, rows, rows, nonzeros, 32, at[0], 64,
                                       at[1], at[2], 1, &matrix));
    SUCCEEDS(tessera_matrix_validate(matrix));
    solves_as_tridiagonal(context, matrix);
    SUCCEEDS(tessera_matrix_update(matrix, at[8]));
    void* product = placed(context, ones, sizeof ones);
    SUCCEEDS(tessera_matrix_multiply(matrix, 1, at[10], 0, product));
    SUCCEEDS(tessera_copy(context, product, sums, sizeof sums));
    for (int i = 0; i < rows; ++i) CHECK(sums[i] == (i == 0 || i == rows - 1 ? 4 : 2));
    SUCCEEDS(tessera_release(context, product));
    SUCCEEDS(tessera_matrix_update(matrix, at[2]));
    solves_as_tridiagonal(context, matrix);
    FAILS(tessera_matrix_update(matrix, NULL), TESSERA_INVALID_ARGUMENT, "values is null");
    tessera_matrix_free(matrix);
    SUCCEEDS(tessera_matrix_create_bsr(context, TESSERA_DOUBLE, rows / 2, rows / 2, 2, count, 32,
                                       at[3], 32, at[4], at[5], 0, 0, &matrix));
    solves_as_tridiagonal(context, matrix);
    tessera_matrix_free(matrix);
    SUCCEEDS(tessera_matrix_create_coo(context, TESSERA_DOUBLE, rows, rows, nonzeros + 1, 64, at[6],
                                       at[7], at[9], &matrix));
    solves_as_tridiagonal(context, matrix);
    tessera_matrix_free(matrix);
    for (int t = 0; t < 11; ++t) SUCCEEDS(tessera_release(context, at[t]));
    tessera_context* none = NULL;
    const tessera_allocator empty = {NULL, NULL, NULL};
    if (!tessera_context_on_gpu(context)) {
        CHECK(tessera_context_create_on_stream(1000, NULL, &empty, 1, &none) ==
              TESSERA_DEVICE_ERROR);
    } else {
        SUCCEEDS(tessera_context_create_on_stream(0, NULL, &empty, 1, &none));
    }
    tessera_context_free(none);
}
