#ifndef TESSERA_TESSERA_H
#define TESSERA_TESSERA_H

/* Tessera for C, Fortran and all languages that call C: libtessera_c.so, pkg-config tessera_c.
 *
 * Every function that can fail returns TESSERA_SUCCESS or another tessera_error; tessera_message()
 * then says what was wrong, and nothing was written to the arguments.
 *
 * Handles are created by tessera_..._create and freed by tessera_..._free, in any order. Arrays
 * that you pass are neither copied nor freed: keep them until the matrix, and the solvers that were
 * set up with it, are freed. Their contents are trusted; tessera_matrix_validate checks them.
 *
 * On a GPU the library works on a stream of its own, and what your own kernels write to b, x or a
 * matrix must be complete before a call; or on your stream (tessera_context_create_on_stream), in
 * order with your work. All functions return when their work is done.
 *
 * A context, and what is made of it, belongs to one thread at a time; threads have contexts of
 * their own. */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TESSERA_C_API __attribute__((visibility("default")))
#else
#define TESSERA_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int tessera_error;
enum {
    TESSERA_SUCCESS = 0,
    TESSERA_INVALID_ARGUMENT = 1,
    TESSERA_FILE_ERROR = 2, /* A file cannot be read or written. */
    TESSERA_OUT_OF_MEMORY = 3,
    TESSERA_DEVICE_ERROR = 4,
    TESSERA_INTERNAL_ERROR = 5
};

/* The type of values: of matrices, of b and of x. */
typedef int tessera_type;
enum { TESSERA_FLOAT = 0, TESSERA_DOUBLE = 1 };

/* How a solve ended. */
typedef int tessera_status;
enum {
    TESSERA_CONVERGED = 0,
    TESSERA_MAX_ITERATIONS = 1,
    TESSERA_MAX_SECONDS = 2,
    TESSERA_ACCURACY_LOST = 3, /* Rounding errors limit the residual. */
    TESSERA_STAGNATED = 4,
    TESSERA_BREAKDOWN = 5,
    TESSERA_NON_FINITE = 6,     /* NaN or infinity appeared. */
    TESSERA_SINGULAR_BLOCK = 7, /* The preconditioner cannot be used. */
    TESSERA_INTERRUPTED = 8,    /* By the observer. */
    TESSERA_UNBALANCED = 9,     /* ||b - A x|| is small, the residual of some row is not. */
    TESSERA_ROUNDING_LIMIT = 10, /* Solved as accurately as the type allows, not to the tolerance. */
    TESSERA_LEAST_SQUARES = 11, /* x minimises ||b - A x||: A is singular, b not in its range. */
    TESSERA_SINGULAR = 12 /* Exact factors found that A has no inverse. */
};

struct CUstream_st;
typedef struct tessera_context tessera_context;
typedef struct tessera_matrix tessera_matrix;
typedef struct tessera_solver tessera_solver;

/* "0.1.0" */
TESSERA_C_API const char* tessera_version(void);
/* What was wrong in the latest call of this thread that failed; valid until its next failure. Never
 * null. */
TESSERA_C_API const char* tessera_message(void);

/* Contexts: a device, a stream, threads, memory.
 * `device`: "auto" (a GPU if there is one, else the CPU), "cpu", "cuda" or "cuda:K"; `threads`: 0
 * for all. */
TESSERA_C_API tessera_error tessera_context_create(const char* device, int threads,
                                                   tessera_context** context);

/* Stream-ordered GPU memory from your pool (the stream is a cudaStream_t): `allocate` returns at
 * least `bytes`, aligned to 256, or null if there is no memory left. `data` is passed to both
 * functions. */
typedef struct tessera_allocator {
    void* (*allocate)(int64_t bytes, struct CUstream_st* stream, void* data);
    void (*release)(void* memory, int64_t bytes, struct CUstream_st* stream, void* data);
    void* data;
} tessera_allocator;
/* A context on GPU `device` with your stream (null: the default one), which is never destroyed.
 * `allocator` null: the context makes a memory pool. Both must outlive all that is made of it. */
TESSERA_C_API tessera_error tessera_context_create_on_stream(int device, struct CUstream_st* stream,
                                                             const tessera_allocator* allocator,
                                                             int threads,
                                                             tessera_context** context);
TESSERA_C_API void tessera_context_free(tessera_context* context);
/* Blocks until all work of the context is complete. */
TESSERA_C_API tessera_error tessera_context_synchronize(tessera_context* context);
/* The name of the device, for example "NVIDIA H200"; valid as long as the context. */
TESSERA_C_API const char* tessera_context_description(const tessera_context* context);
/* 1: arrays of this context are in the memory of a GPU; 0: in host memory. */
TESSERA_C_API int tessera_context_on_gpu(const tessera_context* context);

/* Arrays in the memory of a context, for callers that cannot allocate there otherwise. They
 * are freed by tessera_release, or with the context. */
TESSERA_C_API tessera_error tessera_allocate(tessera_context* context, size_t bytes, void** array);
TESSERA_C_API tessera_error tessera_release(tessera_context* context, void* array);
/* Copies between host memory and the memory of the context, or within one of them; no overlap. */
TESSERA_C_API tessera_error tessera_copy(tessera_context* context, const void* from, void* to,
                                         size_t bytes);

/* A matrix in compressed sparse rows from arrays in the memory of the context. Row i has the
 * entries row_offsets[i] .. row_offsets[i + 1] - 1, 0-based, with columns that ascend. */
TESSERA_C_API tessera_error tessera_matrix_create(tessera_context* context, tessera_type type,
                                                  int32_t rows, int32_t columns, int64_t nonzeros,
                                                  const int64_t* row_offsets,
                                                  const int32_t* column_indices, const void* values,
                                                  tessera_matrix** matrix);
/* A matrix in checked arrays of 32 or 64 bits each: offset_bits and column_bits are 32 or 64.
 * Only row offsets of 32 and columns of 64 bits are copied. sort 1: sorts the columns of each row,
 * adds up the values of equal ones, and copies all. */
TESSERA_C_API tessera_error tessera_matrix_create_csr(
    tessera_context* context, tessera_type type, int32_t rows, int32_t columns, int64_t nonzeros,
    int offset_bits, const void* row_offsets, int column_bits, const void* column_indices,
    const void* values, int sort, tessera_matrix** matrix);
/* Block sparse rows: `blocks` blocks of block x block values, row-major or (column_major 1) column-
 * major, among block_rows x block_columns. The values are copied. */
TESSERA_C_API tessera_error tessera_matrix_create_bsr(tessera_context* context, tessera_type type,
                                                      int32_t block_rows, int32_t block_columns,
                                                      int32_t block, int64_t blocks,
                                                      int offset_bits, const void* row_offsets,
                                                      int column_bits, const void* column_indices,
                                                      const void* values, int column_major,
                                                      int sort, tessera_matrix** matrix);
/* Coordinates of 32 or 64 bits in any order; values of equal ones are added up. All is copied. */
TESSERA_C_API tessera_error tessera_matrix_create_coo(tessera_context* context, tessera_type type,
                                                      int32_t rows, int32_t columns,
                                                      int64_t entries, int index_bits,
                                                      const void* row_indices,
                                                      const void* column_indices,
                                                      const void* values, tessera_matrix** matrix);
/* New values, in the order of those it was created with, on the same pattern; the next call of
 * each of its solvers must be tessera_solver_update or tessera_solver_setup. Not of matrices from
 * files. */
TESSERA_C_API tessera_error tessera_matrix_update(tessera_matrix* matrix, const void* values);
/* A matrix from a file (Matrix Market, Harwell-Boeing, Rutherford-Boeing, PETSc binary), with
 * arrays of its own. */
TESSERA_C_API tessera_error tessera_matrix_read(tessera_context* context, tessera_type type,
                                                const char* path, tessera_matrix** matrix);
TESSERA_C_API void tessera_matrix_free(tessera_matrix* matrix);
/* rows, columns and nonzeros may be null; those are not written. */
TESSERA_C_API tessera_error tessera_matrix_size(const tessera_matrix* matrix, int32_t* rows,
                                                int32_t* columns, int64_t* nonzeros);
/* TESSERA_INVALID_ARGUMENT for offsets or columns out of range or order and for values that are not
 * finite. Reads the whole matrix. */
TESSERA_C_API tessera_error tessera_matrix_validate(const tessera_matrix* matrix);
/* y = alpha A x + beta y; x and y in the memory of the context, without overlap. */
TESSERA_C_API tessera_error tessera_matrix_multiply(const tessera_matrix* matrix, double alpha,
                                                    const void* x, double beta, void* y);

/* When a solve ends. */
typedef struct tessera_options {
    size_t size; /* Of this struct; set by tessera_options_init. */
    double rtol; /* ||b - A x|| <= max(rtol ||b||, atol): converged. NaN, as set by
                    tessera_options_init: 1e-8, for TESSERA_FLOAT 1e-4. */
    double atol;
    double max_seconds;
    int64_t max_iterations;
    int64_t stagnation_window;    /* Iterations without progress that end a solve; 0: never. */
    int32_t check_interval;       /* Iterations between convergence checks; 0: chosen. */
    int32_t left_preconditioning; /* 1: from the left (gmres, idr, bicgstab, richardson). */
    /* Called at each convergence check; a result other than 0 ends the solve as interrupted.
     * `vector`: the number of the right-hand side, 0 if there is one. */
    int (*observer)(void* observer_data, int32_t vector, int64_t iterations,
                    double relative_residual);
    void* observer_data;
} tessera_options;

/* The defaults. */
TESSERA_C_API void tessera_options_init(tessera_options* options);

typedef struct tessera_report {
    tessera_status status;
    int32_t recoveries; /* Changes of the preconditioner after r^T M^-1 r <= 0. */
    int64_t iterations;
    int64_t operator_applications; /* Products with the matrix. */
    int64_t restarts;
    double relative_residual;      /* Recursive residual norm over ||b||. */
    double true_relative_residual; /* ||b - A x|| / ||b|| of the returned x. */
    double seconds;
} tessera_report;

/* A solver, a preconditioner and the format of products, named by texts (docs/guide/options.md):
 * "cg", "idr:4"; "block_jacobi:24", "none"; "csr", "sbell:3"; "auto" for each.
 * Null: "cg", "none", "csr". */
TESSERA_C_API tessera_error tessera_solver_create(tessera_context* context, tessera_type type,
                                                  const char* solver, const char* preconditioner,
                                                  const char* format, tessera_solver** created);
TESSERA_C_API void tessera_solver_free(tessera_solver* solver);
/* Vectors z with A z = 0 of a symmetric matrix, for the next setup: constants of a problem without
 * boundary values, rigid motions of a free body. Their part of b is left out (the number
 * null_space_part of tessera_solver_json), and x is orthogonal to them. Vector j is the `rows`
 * numbers at vectors + j * leading_dimension, in host memory and copied; doubles for both types.
 * `columns` 0: none, and `vectors` may be null. With "auto" the constant and rigid motions are
 * found. Setup fails with TESSERA_INVALID_ARGUMENT where A z is not 0 or the matrix has other rows.
 */
TESSERA_C_API tessera_error tessera_solver_set_null_space(tessera_solver* solver, int32_t rows,
                                                          int32_t columns, const double* vectors,
                                                          int64_t leading_dimension);
/* Sets the matrix and sets up the preconditioner. Invalid arguments change nothing; if it fails
 * later, the solver has no matrix. */
TESSERA_C_API tessera_error tessera_solver_setup(tessera_solver* solver,
                                                 const tessera_matrix* matrix);
/* New values on the same pattern; otherwise as setup. */
TESSERA_C_API tessera_error tessera_solver_update(tessera_solver* solver,
                                                  const tessera_matrix* matrix);
/* Solves A x = b; x holds the initial guess; b and x in the memory of the context, without overlap.
 * `options` null: the defaults; `report` may be null. A solve that does not converge is no error:
 * see the status of the report. The observer must not call the solver. */
TESSERA_C_API tessera_error tessera_solver_solve(tessera_solver* solver, const void* b, void* x,
                                                 const tessera_options* options,
                                                 tessera_report* report);
/* Solves for `count` right-hand sides, vector j at b + j * b_leading and x + j * x_leading numbers,
 * the leading dimensions at least the rows; count >= 1. `reports`: null or one for each. The
 * observer is called for each of them, and ends the solve of that one. tessera_solver_message and
 * tessera_solver_json are about the first one that did not converge, if any, else the first one. */
TESSERA_C_API tessera_error tessera_solver_solve_vectors(tessera_solver* solver, int32_t count,
                                                         const void* b, int64_t b_leading, void* x,
                                                         int64_t x_leading,
                                                         const tessera_options* options,
                                                         tessera_report* reports);
/* One sentence on how the latest solve ended, empty if it converged, and its report as JSON with
 * the residual norms and the report of the preconditioner; valid until the next call with this
 * solver. Null unless the latest setup, update or solve was a solve that returned TESSERA_SUCCESS.
 */
TESSERA_C_API const char* tessera_solver_message(const tessera_solver* solver);
TESSERA_C_API const char* tessera_solver_json(tessera_solver* solver);
/* The name of a status, for example "max_iterations"; "unknown" for other numbers. */
TESSERA_C_API const char* tessera_status_name(tessera_status status);

#ifdef __cplusplus
}
#endif

#endif
