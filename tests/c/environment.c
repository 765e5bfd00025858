/* Calls from a program with a floating-point environment of its own. */
#define _GNU_SOURCE /* feenableexcept */
#include <fenv.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "checks.h"

static const int traps = FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW;

static void default_environment(void) {
    fesetenv(FE_DFL_ENV);
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() & ~0x8040u);
#endif
}

static void trapping(void) { feenableexcept(traps); }
static void upward(void) { fesetround(FE_UPWARD); }
static void toward_zero(void) { fesetround(FE_TOWARDZERO); }
static void flushing(void) {
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040u);
#endif
}

/* The solution of A x = b, A = a_scale (-1, 3, -1), b of multiples of b_scale, by a solver made and
 * used in an environment of the program. */
static void solution(tessera_context* context, double a_scale, double b_scale, void (*set)(void),
                     double* x) {
    arrays given = tridiagonal(context, 3, TESSERA_DOUBLE);
    double values[nonzeros], b[rows];
    SUCCEEDS(tessera_copy(context, given.values, values, sizeof values));
    for (int k = 0; k < nonzeros; ++k) values[k] *= a_scale;
    for (int i = 0; i < rows; ++i) b[i] = b_scale * (1 + i % 7);
    memset(x, 0, rows * sizeof *x);
    SUCCEEDS(tessera_copy(context, values, given.values, sizeof values));
    void* const right = placed(context, b, sizeof b);
    void* const start = placed(context, x, rows * sizeof *x);

    set();
    feclearexcept(FE_ALL_EXCEPT);
    const int exceptions = fegetexcept(), rounding = fegetround();
#ifdef __SSE__
    const unsigned control = _mm_getcsr();
#endif
    tessera_matrix* const matrix = matrix_of(context, given, TESSERA_DOUBLE);
    tessera_solver* solver = NULL;
    tessera_report report;
    SUCCEEDS(tessera_solver_create(context, TESSERA_DOUBLE, "cg", "jacobi", "csr", &solver));
    SUCCEEDS(tessera_solver_setup(solver, matrix));
    SUCCEEDS(tessera_solver_solve(solver, right, start, NULL, &report));
    CHECK(tessera_solver_json(solver) != NULL);
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
    CHECK(fegetexcept() == exceptions);
    CHECK(fegetround() == rounding);
#ifdef __SSE__
    CHECK(_mm_getcsr() == control);
#endif
    default_environment();
    CHECK(report.status == TESSERA_CONVERGED);
    SUCCEEDS(tessera_copy(context, start, x, rows * sizeof *x));
    tessera_solver_free(solver);
    tessera_matrix_free(matrix);
}

void environments(tessera_context* context) {
    void (*const set[])(void) = {trapping, upward, toward_zero, flushing};
    /* Squares overflow, are usual, and right-hand sides are denormal. */
    const double a_scales[] = {1e160, 1, 1}, b_scales[] = {1e160, 1, 1e-310};
    for (int s = 0; s < 3; ++s) {
        double expected[rows], found[rows];
        solution(context, a_scales[s], b_scales[s], default_environment, expected);
        for (int k = 0; k < 4; ++k) {
            solution(context, a_scales[s], b_scales[s], set[k], found);
            CHECK(memcmp(found, expected, sizeof found) == 0);
        }
    }
}
