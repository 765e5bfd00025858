/* c_interface [DEVICE]: every function of tessera.h, used rightly and wrongly. */
#include "checks.h"

int failures = 0;

static void solves(tessera_context* context, tessera_type type) {
    const size_t bytes = type == TESSERA_DOUBLE ? sizeof(double) : sizeof(float);
    const double rtol = type == TESSERA_DOUBLE ? 1e-10 : 1e-5;
    double ones[rows];
    float single_ones[rows];
    const char zeros[rows * sizeof(double)] = {0};
    for (int i = 0; i < rows; ++i) ones[i] = single_ones[i] = 1;
    void* b = type == TESSERA_DOUBLE ? placed(context, ones, rows * bytes)
                                     : placed(context, single_ones, rows * bytes);
    void* x = placed(context, zeros, rows * bytes);
    const arrays first = tridiagonal(context, 3, type), second = tridiagonal(context, 4, type);
    tessera_matrix* matrix = matrix_of(context, first, type);
    tessera_matrix* other = matrix_of(context, second, type);
    SUCCEEDS(tessera_matrix_validate(matrix));

    tessera_solver* solver = NULL;
    tessera_options options;
    tessera_report report;
    tessera_options_init(&options);
    options.rtol = rtol;
    SUCCEEDS(tessera_solver_create(context, type, "bicgstab", "jacobi", "sell", &solver));
    CHECK(tessera_solver_message(solver) == NULL);
    CHECK(tessera_solver_json(solver) == NULL);
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, &report));
    CHECK(report.status == TESSERA_CONVERGED);
    CHECK(report.iterations > 0 && report.iterations < rows);
    CHECK(report.true_relative_residual <= rtol);
    CHECK(residual(context, x, 3, type) <= 8 * rtol * sqrt(rows));
    tessera_options_init(&options);
    SUCCEEDS(tessera_copy(context, zeros, x, rows * bytes));
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, &report));
    CHECK(report.status == TESSERA_CONVERGED);
    CHECK(report.true_relative_residual <= (type == TESSERA_DOUBLE ? 1e-8 : 1e-4));
    options.rtol = rtol;
    CHECK(strcmp(tessera_solver_message(solver), "") == 0);
    CHECK(strstr(tessera_solver_json(solver), "{\"status\":\"converged\"") != NULL);
    CHECK(strstr(tessera_solver_json(solver), "\"preconditioner\":\"jacobi") != NULL);
    SUCCEEDS(tessera_solver_update(solver, other));
    CHECK(tessera_solver_json(solver) == NULL);
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, NULL));
    CHECK(residual(context, x, 4, type) <= 8 * rtol * sqrt(rows));
    /* y = A x - b */
    SUCCEEDS(tessera_matrix_multiply(other, 1, x, -1, b));
    tessera_matrix_free(other);
    tessera_matrix_free(matrix);
    tessera_solver_free(solver);
    SUCCEEDS(tessera_release(context, b));
    SUCCEEDS(tessera_release(context, x));
}

static int stop_at_second(void* calls, int32_t vector, int64_t iterations,
                          double relative_residual) {
    CHECK(vector == 0);
    CHECK(relative_residual > 0);
    ++*(int*)calls;
    return iterations >= 2;
}

static void endings(tessera_context* context) {
    double ones[rows];
    for (int i = 0; i < rows; ++i) ones[i] = 1;
    double* b = placed(context, ones, sizeof ones);
    double* x = placed(context, ones, sizeof ones);
    const arrays arrays = tridiagonal(context, 2, TESSERA_DOUBLE);
    tessera_matrix* matrix = matrix_of(context, arrays, TESSERA_DOUBLE);
    tessera_solver* solver = NULL;
    tessera_options options;
    tessera_report report;
    int calls = 0;
    tessera_options_init(&options);
    options.check_interval = 1;
    options.observer = stop_at_second;
    options.observer_data = &calls;
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, NULL, NULL, NULL, &solver));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, &report));
    CHECK(report.status == TESSERA_INTERRUPTED);
    CHECK(calls >= 1 && report.iterations >= 2);
    CHECK(strncmp(tessera_solver_message(solver), "Interrupted after", 17) == 0);
    tessera_options_init(&options);
    options.max_iterations = 3;
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, &report));
    CHECK(report.status == TESSERA_MAX_ITERATIONS && report.iterations == 3);
    CHECK(strcmp(tessera_status_name(report.status), "max_iterations") == 0);
    CHECK(tessera_solver_message(solver) != NULL && tessera_solver_json(solver) != NULL);
    FAILS(tessera_solver_solve(solver, x, x, NULL, NULL), TESSERA_INVALID_ARGUMENT, "x overlaps b");
    CHECK(tessera_solver_setup(solver, NULL) == TESSERA_INVALID_ARGUMENT);
    CHECK(tessera_solver_message(solver) == NULL && tessera_solver_json(solver) == NULL);
    CHECK(strcmp(tessera_status_name((tessera_status)99), "unknown") == 0);
    tessera_solver* automatic = NULL;
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "auto", "auto", "auto", &automatic));
    SUCCEEDS(tessera_solver_setup(automatic, matrix));
    SUCCEEDS(tessera_solver_solve(automatic, b, x, NULL, &report));
    CHECK(report.status == TESSERA_CONVERGED && report.true_relative_residual <= 1e-8);
    tessera_solver_free(automatic);
    /* A diagonal of zeros. */
    const struct {
        int64_t row_offsets[2];
        int32_t column_indices[1];
        double values[1], b[1];
    } zero = {{0, 1}, {0}, {0}, {1}};
    tessera_matrix* singular = NULL;
    tessera_solver* jacobi = NULL;
    SUCCEEDS(tessera_matrix_create(
        context, TESSERA_DOUBLE, 1, 1, 1, placed(context, zero.row_offsets, 16),
        placed(context, zero.column_indices, 4), placed(context, zero.values, 8), &singular));
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacobi", "csr", &jacobi));
    SUCCEEDS(tessera_solver_setup(jacobi, singular));
    SUCCEEDS(tessera_solver_solve(jacobi, b, x, NULL, &report));
    CHECK(report.status == TESSERA_SINGULAR_BLOCK);
    CHECK(strstr(tessera_solver_message(jacobi), "the solve was not started") != NULL);
    tessera_solver_free(jacobi);
    tessera_matrix_free(singular);
    tessera_solver_free(solver);
    tessera_matrix_free(matrix);
}

/* A tridiagonal matrix of a problem without boundary values: the constant is its null space. */
static void null_spaces(tessera_context* context, tessera_type type) {
    const arrays given = tridiagonal(context, 2, type);
    double doubles[nonzeros], b[rows], x[rows] = {0}, vectors[2 * (rows + 3)] = {0};
    float floats[nonzeros], float_b[rows], float_x[rows] = {0};
    const size_t bytes = type == TESSERA_DOUBLE ? sizeof(double) : sizeof(float);
    void* const values = type == TESSERA_DOUBLE ? (void*)doubles : (void*)floats;
    SUCCEEDS(tessera_copy(context, given.values, values, nonzeros * bytes));
    doubles[0] = doubles[nonzeros - 1] = floats[0] = floats[nonzeros - 1] = 1;
    SUCCEEDS(tessera_copy(context, values, given.values, nonzeros * bytes));
    for (int i = 0; i < rows; ++i) {
        float_b[i] = (float)(b[i] = 1 + i % 7);
        vectors[i] = 1;
        vectors[rows + 3 + i] = i; /* No null vector. */
    }
    void* const right = placed(context, type == TESSERA_DOUBLE ? (void*)b : float_b, rows * bytes);
    void* const to = placed(context, type == TESSERA_DOUBLE ? (void*)x : float_x, rows * bytes);
    tessera_matrix* matrix = matrix_of(context, given, type);
    tessera_solver* solver = NULL;
    tessera_report report;
    SUCCEEDS(tessera_solver_create(context, type, "cg", "jacobi", "csr", &solver));
    FAILS(tessera_solver_set_null_space(NULL, rows, 1, vectors, rows), TESSERA_INVALID_ARGUMENT,
          "solver is null");
    FAILS(tessera_solver_set_null_space(solver, rows, 1, NULL, rows), TESSERA_INVALID_ARGUMENT,
          "vectors is null");
    FAILS(tessera_solver_set_null_space(solver, rows, -1, vectors, rows), TESSERA_INVALID_ARGUMENT,
          "a size is negative");
    FAILS(tessera_solver_set_null_space(solver, rows, 2, vectors, rows - 1),
          TESSERA_INVALID_ARGUMENT, "the leading dimension is below the number of rows");
    FAILS(tessera_solver_set_null_space(solver, INT32_MAX, INT32_MAX, vectors, INT32_MAX),
          TESSERA_OUT_OF_MEMORY, "memory");
    SUCCEEDS(tessera_solver_set_null_space(solver, rows - 1, 1, vectors, rows));
    FAILS(tessera_solver_setup(solver, matrix), TESSERA_INVALID_ARGUMENT, "null space");
    SUCCEEDS(tessera_solver_set_null_space(solver, rows, 2, vectors, rows + 3));
    FAILS(tessera_solver_setup(solver, matrix), TESSERA_INVALID_ARGUMENT,
          "A times vector 1 is not 0");
    SUCCEEDS(tessera_solver_set_null_space(solver, rows, 1, vectors, rows));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve(solver, right, to, NULL, &report));
    /* The mean of b has no solution; the least-squares solution has the mean 0. */
    CHECK(report.status == TESSERA_CONVERGED);
    CHECK(strstr(tessera_solver_json(solver), "\"null_space_part\":0,") == NULL);
    CHECK(strstr(tessera_solver_json(solver), "\"null_space_part\":") != NULL);
    SUCCEEDS(tessera_copy(context, to, type == TESSERA_DOUBLE ? (void*)x : float_x, rows * bytes));
    double sum = 0, largest = 0;
    for (int i = 0; i < rows; ++i) {
        if (type == TESSERA_FLOAT) x[i] = float_x[i];
        sum += x[i];
        largest = fmax(largest, fabs(x[i]));
    }
    CHECK(largest > 1);
    CHECK(fabs(sum) <= rows * largest * (type == TESSERA_DOUBLE ? 1e-13 : 1e-5));
    /* Without one the null space is not looked for. */
    SUCCEEDS(tessera_solver_set_null_space(solver, 0, 0, NULL, 0));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve(solver, right, to, NULL, &report));
    CHECK(report.status != TESSERA_CONVERGED);
    tessera_solver_free(solver);
    tessera_matrix_free(matrix);
}

static void wrong_matrices(tessera_context* context) {
    const arrays good = tridiagonal(context, 3, TESSERA_DOUBLE);
    tessera_matrix* none = NULL;
    tessera_matrix* matrix = NULL;
#define CREATE(rows, nonzeros, offsets, columns, values, to)                                       \
    tessera_matrix_create(context, TESSERA_DOUBLE, rows, rows, nonzeros, offsets, columns, values, \
                          to)
    FAILS(CREATE(-1, nonzeros, good.row_offsets, good.column_indices, good.values, &none),
          TESSERA_INVALID_ARGUMENT, "a size is negative");
    FAILS(CREATE(rows, nonzeros, NULL, good.column_indices, good.values, &none),
          TESSERA_INVALID_ARGUMENT, "tessera_matrix_create: row_offsets is null");
    FAILS(CREATE(rows, nonzeros, good.row_offsets, NULL, good.values, &none),
          TESSERA_INVALID_ARGUMENT, "column_indices is null");
    FAILS(CREATE(rows, nonzeros, good.row_offsets, good.column_indices, NULL, &none),
          TESSERA_INVALID_ARGUMENT, "values is null");
    FAILS(CREATE(rows, nonzeros, good.row_offsets, good.column_indices, good.values, NULL),
          TESSERA_INVALID_ARGUMENT, "matrix is null");
    FAILS(tessera_matrix_create(NULL, TESSERA_DOUBLE, rows, rows, nonzeros, good.row_offsets,
                                good.column_indices, good.values, &none),
          TESSERA_INVALID_ARGUMENT, "context is null");
    FAILS(tessera_matrix_create(context, (tessera_type)7, rows, rows, nonzeros, good.row_offsets,
                                good.column_indices, good.values, &none),
          TESSERA_INVALID_ARGUMENT, "neither TESSERA_FLOAT nor TESSERA_DOUBLE");
    CHECK(none == NULL);
    const int64_t offsets[3] = {0, 1, 2};
    const int32_t columns[2] = {0, 2};
    const double values[2] = {1, 1};
    SUCCEEDS(CREATE(2, 2, placed(context, offsets, sizeof offsets),
                    placed(context, columns, sizeof columns),
                    placed(context, values, sizeof values), &matrix));
#undef CREATE
    FAILS(tessera_matrix_validate(matrix), TESSERA_INVALID_ARGUMENT, "column");
    tessera_matrix_free(matrix);
    FAILS(tessera_matrix_validate(NULL), TESSERA_INVALID_ARGUMENT, "matrix is null");
    FAILS(tessera_matrix_size(NULL, NULL, NULL, NULL), TESSERA_INVALID_ARGUMENT, "matrix is null");
    FAILS(tessera_matrix_multiply(NULL, 1, NULL, 0, NULL), TESSERA_INVALID_ARGUMENT,
          "matrix is null");
    matrix = matrix_of(context, good, TESSERA_DOUBLE);
    FAILS(tessera_matrix_multiply(matrix, 1, NULL, 0, good.values), TESSERA_INVALID_ARGUMENT,
          "x is null");
    FAILS(tessera_matrix_multiply(matrix, 1, good.values, 0, NULL), TESSERA_INVALID_ARGUMENT,
          "y is null");
    int32_t found_rows = 0;
    int64_t found_nonzeros = 0;
    SUCCEEDS(tessera_matrix_size(matrix, &found_rows, NULL, &found_nonzeros));
    CHECK(found_rows == rows && found_nonzeros == nonzeros);
    tessera_matrix_free(matrix);
    tessera_matrix_free(NULL);
}

static void files(tessera_context* context) {
    tessera_matrix* matrix = NULL;
    FAILS(tessera_matrix_read(context, TESSERA_DOUBLE, "no/such.mtx", &matrix), TESSERA_FILE_ERROR,
          "no/such.mtx");
    FAILS(tessera_matrix_read(context, TESSERA_DOUBLE, NULL, &matrix), TESSERA_INVALID_ARGUMENT,
          "path is null");
    char path[64];
    snprintf(path, sizeof path, "c_interface_%d.mtx", rand());
    FILE* file = fopen(path, "w");
    fputs("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 x\n", file);
    fclose(file);
    FAILS(tessera_matrix_read(context, TESSERA_DOUBLE, path, &matrix), TESSERA_FILE_ERROR,
          ":5: value 'x' is not a number");
    CHECK(matrix == NULL);
    file = fopen(path, "w");
    fputs("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -1\n2 2 2\n", file);
    fclose(file);
    SUCCEEDS(tessera_matrix_read(context, TESSERA_DOUBLE, path, &matrix));
    remove(path);
    /* The solver outlives the matrix, whose arrays are its own. */
    tessera_solver* solver = NULL;
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "none", "csr", &solver));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    tessera_matrix_free(matrix);
    double numbers[2] = {1, 1};
    void* b = placed(context, numbers, sizeof numbers);
    void* x = placed(context, numbers, sizeof numbers);
    SUCCEEDS(tessera_solver_solve(solver, b, x, NULL, NULL));
    SUCCEEDS(tessera_copy(context, x, numbers, sizeof numbers));
    CHECK(fabs(numbers[0] - 1) < 1e-12 && fabs(numbers[1] - 1) < 1e-12);
    tessera_solver_free(solver);
}

static tessera_solver* solver_of_observer = NULL;

static int call_the_solver(void* matrix, int32_t vector, int64_t iterations,
                           double relative_residual) {
    (void)vector, (void)iterations, (void)relative_residual;
    FAILS(tessera_solver_setup(solver_of_observer, matrix), TESSERA_INVALID_ARGUMENT,
          "do not call it from its observer");
    FAILS(tessera_solver_update(solver_of_observer, matrix), TESSERA_INVALID_ARGUMENT,
          "do not call it from its observer");
    return 0;
}

static void wrong_solvers(tessera_context* context) {
    tessera_solver* solver = NULL;
    FAILS(tessera_solver_create(NULL, TESSERA_DOUBLE, "cg", NULL, NULL, &solver),
          TESSERA_INVALID_ARGUMENT, "context is null");
    FAILS(tessera_solver_create(context, TESSERA_DOUBLE, "cgs", NULL, NULL, &solver),
          TESSERA_INVALID_ARGUMENT, "unknown solver 'cgs'");
    FAILS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacoby", NULL, &solver),
          TESSERA_INVALID_ARGUMENT, "jacoby");
    FAILS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", NULL, "coo", &solver),
          TESSERA_INVALID_ARGUMENT, "coo");
    FAILS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", NULL, NULL, NULL),
          TESSERA_INVALID_ARGUMENT, "created is null");
    CHECK(solver == NULL);

    double ones[rows];
    for (int i = 0; i < rows; ++i) ones[i] = 1;
    double* b = placed(context, ones, sizeof ones);
    double* x = placed(context, ones, sizeof ones);
    tessera_matrix* matrix =
        matrix_of(context, tridiagonal(context, 3, TESSERA_DOUBLE), TESSERA_DOUBLE);
    tessera_matrix* single =
        matrix_of(context, tridiagonal(context, 3, TESSERA_FLOAT), TESSERA_FLOAT);
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacobi", "csr", &solver));
    FAILS(tessera_solver_solve(solver, b, x, NULL, NULL), TESSERA_INVALID_ARGUMENT,
          "call tessera_solver_setup first");
    FAILS(tessera_solver_update(solver, matrix), TESSERA_INVALID_ARGUMENT, "call setup first");
    FAILS(tessera_solver_setup(NULL, matrix), TESSERA_INVALID_ARGUMENT, "solver is null");
    FAILS(tessera_solver_setup(solver, single), TESSERA_INVALID_ARGUMENT, "another type");
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    FAILS(tessera_solver_solve(NULL, b, x, NULL, NULL), TESSERA_INVALID_ARGUMENT, "solver is null");
    FAILS(tessera_solver_solve(solver, NULL, x, NULL, NULL), TESSERA_INVALID_ARGUMENT, "b is null");
    FAILS(tessera_solver_solve(solver, b, NULL, NULL, NULL), TESSERA_INVALID_ARGUMENT, "x is null");
    tessera_options options;
    memset(&options, 0, sizeof options);
    FAILS(tessera_solver_solve(solver, b, x, &options, NULL), TESSERA_INVALID_ARGUMENT,
          "tessera_options_init");
    tessera_options_init(&options);
    options.rtol = -1;
    FAILS(tessera_solver_solve(solver, b, x, &options, NULL), TESSERA_INVALID_ARGUMENT, "rtol");
    if (tessera_context_on_gpu(context)) {
        FAILS(tessera_solver_solve(solver, ones, x, NULL, NULL), TESSERA_INVALID_ARGUMENT,
              "b is not in the memory of the Context");
    }
    tessera_report report = {.status = TESSERA_BREAKDOWN};
    SUCCEEDS(tessera_solver_solve(solver, b, x, NULL, &report));
    CHECK(report.status == TESSERA_CONVERGED);
    /* Wrong arguments change nothing. */
    FAILS(tessera_solver_setup(solver, NULL), TESSERA_INVALID_ARGUMENT, "matrix is null");
    FAILS(tessera_solver_update(solver, single), TESSERA_INVALID_ARGUMENT, "another type");
    SUCCEEDS(tessera_solver_solve(solver, b, x, NULL, NULL));
    solver_of_observer = solver;
    tessera_options_init(&options);
    options.observer = call_the_solver;
    options.observer_data = matrix;
    SUCCEEDS(tessera_copy(context, b, x, sizeof ones));
    SUCCEEDS(tessera_solver_solve(solver, b, x, &options, &report));
    CHECK(report.status == TESSERA_CONVERGED);
    /* A matrix that is not symmetric fails when the preconditioner is set up. */
    tessera_solver* ldlt = NULL;
    const int64_t offsets[3] = {0, 2, 3};
    const int32_t columns[3] = {0, 1, 1};
    const double values[3] = {1, 2, 1};
    tessera_matrix* triangle = NULL;
    SUCCEEDS(tessera_matrix_create(context, TESSERA_DOUBLE, 2, 2, 3,
                                   placed(context, offsets, sizeof offsets),
                                   placed(context, columns, sizeof columns),
                                   placed(context, values, sizeof values), &triangle));
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "sqmr", "block_ldlt:4", NULL, &ldlt));
    SUCCEEDS(tessera_solver_setup(ldlt, matrix));
    FAILS(tessera_solver_setup(ldlt, triangle), TESSERA_INVALID_ARGUMENT, "not symmetric");
    FAILS(tessera_solver_solve(ldlt, b, x, NULL, NULL), TESSERA_INVALID_ARGUMENT,
          "call tessera_solver_setup first");
    tessera_solver_free(ldlt);
    tessera_matrix_free(triangle);
    tessera_solver_free(solver);
    tessera_solver_free(NULL);
    tessera_matrix_free(matrix);
    tessera_matrix_free(single);
}

static void contexts(const char* device) {
    tessera_context* context = NULL;
    FAILS(tessera_context_create("gpu", 0, &context), TESSERA_INVALID_ARGUMENT, "gpu");
    FAILS(tessera_context_create(NULL, 0, &context), TESSERA_INVALID_ARGUMENT, "device is null");
    FAILS(tessera_context_create("cpu", -1, &context), TESSERA_INVALID_ARGUMENT, "threads");
    FAILS(tessera_context_create("cpu", 0, NULL), TESSERA_INVALID_ARGUMENT, "context is null");
    FAILS(tessera_context_create("cuda:99", 0, &context), TESSERA_DEVICE_ERROR, "");
    FAILS(tessera_context_synchronize(NULL), TESSERA_INVALID_ARGUMENT, "context is null");
    CHECK(context == NULL);
    CHECK(strcmp(tessera_context_description(NULL), "") == 0);
    CHECK(tessera_context_on_gpu(NULL) == 0);
    tessera_context_free(NULL);
    SUCCEEDS(tessera_context_create(device, 2, &context));
    CHECK(strlen(tessera_context_description(context)) > 3);
    CHECK(tessera_context_on_gpu(context) == (strncmp(device, "cuda", 4) == 0));
    SUCCEEDS(tessera_context_synchronize(context));
    void* array = NULL;
    FAILS(tessera_allocate(context, 0, &array), TESSERA_INVALID_ARGUMENT, "bytes");
    FAILS(tessera_allocate(context, SIZE_MAX, &array), TESSERA_INVALID_ARGUMENT, "bytes");
    FAILS(tessera_allocate(context, (size_t)1 << 60, &array), TESSERA_OUT_OF_MEMORY, "");
    FAILS(tessera_allocate(context, 8, NULL), TESSERA_INVALID_ARGUMENT, "array is null");
    CHECK(array == NULL);
    FAILS(tessera_release(context, &array), TESSERA_INVALID_ARGUMENT, "not one of");
    SUCCEEDS(tessera_release(context, NULL));
    FAILS(tessera_copy(context, NULL, &array, 8), TESSERA_INVALID_ARGUMENT, "from is null");
    FAILS(tessera_copy(context, &array, NULL, 8), TESSERA_INVALID_ARGUMENT, "to is null");
    SUCCEEDS(tessera_copy(context, NULL, NULL, 0));
    FAILS(tessera_copy(context, &array, &array, SIZE_MAX - 7), TESSERA_INVALID_ARGUMENT, "huge");
    tessera_context_free(context);
}

int main(int count, char** arguments) {
    const char* device = count > 1 ? arguments[1] : "cpu";
    tessera_context* context = NULL;
    CHECK(strcmp(tessera_message(), "") == 0);
    CHECK(strchr(tessera_version(), '.') != NULL);
    contexts(device);
    SUCCEEDS(tessera_context_create(device, 2, &context));
    solves(context, TESSERA_DOUBLE);
    solves(context, TESSERA_FLOAT);
    endings(context);
    null_spaces(context, TESSERA_DOUBLE);
    null_spaces(context, TESSERA_FLOAT);
    other_arrays(context);
    wrong_matrices(context);
    files(context);
    wrong_solvers(context);
    environments(context);
    tessera_options_init(NULL);
    tessera_context_free(context);
    printf(failures == 0 ? "every call did as it should\n" : "%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
