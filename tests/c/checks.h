/* Shared by the tests of tessera.h. */
#ifndef CHECKS_H
#define CHECKS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

extern int failures;

#define CHECK(condition)                                                    \
    do {                                                                    \
        if (!(condition)) {                                                 \
            printf("%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            ++failures;                                                     \
        }                                                                   \
    } while (0)

#define SUCCEEDS(call)                                                               \
    do {                                                                             \
        if ((call) != TESSERA_SUCCESS) {                                             \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, tessera_message()); \
            exit(1);                                                                 \
        }                                                                            \
    } while (0)

/* The call fails with this error and a message that holds `part`. */
#define FAILS(call, error, part)                                                    \
    do {                                                                            \
        const tessera_error found = (call);                                         \
        if (found != (error) || strstr(tessera_message(), (part)) == NULL) {        \
            printf("%s:%d: %s: error %d, '%s'\n", __FILE__, __LINE__, #call, found, \
                   tessera_message());                                              \
            ++failures;                                                             \
        }                                                                           \
    } while (0)

enum { rows = 60, nonzeros = 3 * rows - 2 };

/* (-1, diagonal, -1) in the memory of a context. */
typedef struct {
    int64_t* row_offsets;
    int32_t* column_indices;
    void* values;
} arrays;

static inline void* placed(tessera_context* context, const void* host, size_t bytes) {
    void* array = NULL;
    SUCCEEDS(tessera_allocate(context, bytes, &array));
    SUCCEEDS(tessera_copy(context, host, array, bytes));
    return array;
}

static inline arrays tridiagonal(tessera_context* context, double diagonal, tessera_type type) {
    static int64_t row_offsets[rows + 1];
    static int32_t column_indices[nonzeros];
    static double doubles[nonzeros];
    static float floats[nonzeros];
    int64_t k = 0;
    for (int32_t i = 0; i < rows; ++i) {
        row_offsets[i] = k;
        for (int32_t j = i - 1; j <= i + 1; ++j) {
            if (j < 0 || j >= rows) continue;
            column_indices[k] = j;
            doubles[k] = i == j ? diagonal : -1;
            floats[k] = (float)doubles[k];
            ++k;
        }
    }
    row_offsets[rows] = k;
    const arrays all = {placed(context, row_offsets, sizeof row_offsets),
                        placed(context, column_indices, sizeof column_indices),
                        type == TESSERA_DOUBLE ? placed(context, doubles, sizeof doubles)
                                               : placed(context, floats, sizeof floats)};
    return all;
}

static inline tessera_matrix* matrix_of(tessera_context* context, arrays of, tessera_type type) {
    tessera_matrix* matrix = NULL;
    SUCCEEDS(tessera_matrix_create(context, type, rows, rows, nonzeros, of.row_offsets,
                                   of.column_indices, of.values, &matrix));
    return matrix;
}

/* The largest |diagonal x_i - x_(i-1) - x_(i+1) - 1| of a solution in the memory of the context. */
static inline double residual(tessera_context* context, const void* x, double diagonal,
                              tessera_type type) {
    double values[rows], largest = 0;
    float floats[rows];
    if (type == TESSERA_DOUBLE) {
        SUCCEEDS(tessera_copy(context, x, values, sizeof values));
    } else {
        SUCCEEDS(tessera_copy(context, x, floats, sizeof floats));
        for (int i = 0; i < rows; ++i) values[i] = floats[i];
    }
    for (int i = 0; i < rows; ++i) {
        double r = diagonal * values[i] - 1;
        if (i > 0) r -= values[i - 1];
        if (i + 1 < rows) r -= values[i + 1];
        largest = fmax(largest, fabs(r));
    }
    return largest;
}

/* In arrays.c. */
void other_arrays(tessera_context* context);

/* In environment.c. */
void environments(tessera_context* context);

#endif
