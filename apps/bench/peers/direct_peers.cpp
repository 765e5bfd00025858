#include "peers/direct_peers.hpp"

#include <chrono>
#include <limits>
#include <vector>

#include "harness/shared_library.hpp"
#if __has_include(<suitesparse/klu.h>)
#include <suitesparse/klu.h>
#define TESSERA_BENCH_KLU 1
#endif
#if __has_include(<superlu/slu_ddefs.h>)
#include <superlu/slu_ddefs.h>
#define TESSERA_BENCH_SUPERLU 1
#endif

namespace tessera::bench {

namespace {

/// The seconds that f takes.
template <class F>
[[maybe_unused]] double seconds_of(F&& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// CSR with offsets of 32 bits, in arrays that may be written.
struct NarrowMatrix {
    explicit NarrowMatrix(const CsrView<double>& a)
        : offsets(a.row_offsets, a.row_offsets + a.rows + 1),
          columns(a.column_indices, a.column_indices + a.nonzeros),
          values(a.values, a.values + a.nonzeros) {}
    std::vector<int> offsets, columns;
    std::vector<double> values;
};

[[maybe_unused]] DirectPeerResult singular() { return {.status = "singular"}; }

#ifdef TESSERA_BENCH_KLU

const SharedLibrary& klu_library() {
    static const SharedLibrary library("KLU", {"libklu.so.2", "libklu.so.1", "libklu.so"});
    return library;
}

/// KLU reads the rows of A as the columns of its transpose, and solves with the transpose of that.
DirectPeerResult solve_by_klu(NarrowMatrix a, std::span<double> b) {
    const SharedLibrary& library = klu_library();
    const auto defaults = library.symbol<decltype(&klu_defaults)>("klu_defaults");
    const auto analyze = library.symbol<decltype(&klu_analyze)>("klu_analyze");
    const auto factor = library.symbol<decltype(&klu_factor)>("klu_factor");
    const auto solve = library.symbol<decltype(&klu_tsolve)>("klu_tsolve");
    const auto free_symbolic = library.symbol<decltype(&klu_free_symbolic)>("klu_free_symbolic");
    const auto free_numeric = library.symbol<decltype(&klu_free_numeric)>("klu_free_numeric");
    klu_common common;
    defaults(&common);
    const int rows = int(b.size());
    klu_symbolic* symbolic = nullptr;
    klu_numeric* numeric = nullptr;
    DirectPeerResult result{.status = "converged"};
    result.setup_seconds =
        seconds_of([&] { symbolic = analyze(rows, a.offsets.data(), a.columns.data(), &common); });
    if (symbolic == nullptr) return singular();
    result.setup_seconds += seconds_of([&] {
        numeric = factor(a.offsets.data(), a.columns.data(), a.values.data(), symbolic, &common);
    });
    if (numeric != nullptr) {
        result.solve_seconds =
            seconds_of([&] { solve(symbolic, numeric, rows, 1, b.data(), &common); });
        free_numeric(&numeric, &common);
    } else {
        result = singular();
    }
    free_symbolic(&symbolic, &common);
    return result;
}

#endif

#ifdef TESSERA_BENCH_SUPERLU

const SharedLibrary& superlu_library() {
    static const SharedLibrary library(
        "SuperLU", {"libsuperlu.so.7", "libsuperlu.so.6", "libsuperlu.so.5", "libsuperlu.so"});
    return library;
}

/// SuperLU's driver with its defaults, as scipy.sparse.linalg.spsolve calls it: analysis and
/// factors are one; the solve is timed a second time.
DirectPeerResult solve_by_superlu(NarrowMatrix a, std::span<double> b) {
    const SharedLibrary& library = superlu_library();
    const auto make_matrix =
        library.symbol<decltype(&dCreate_CompRow_Matrix)>("dCreate_CompRow_Matrix");
    const auto make_dense = library.symbol<decltype(&dCreate_Dense_Matrix)>("dCreate_Dense_Matrix");
    const auto destroy_lower =
        library.symbol<decltype(&Destroy_SuperNode_Matrix)>("Destroy_SuperNode_Matrix");
    const auto destroy_upper =
        library.symbol<decltype(&Destroy_CompCol_Matrix)>("Destroy_CompCol_Matrix");
    const auto destroy_store =
        library.symbol<decltype(&Destroy_SuperMatrix_Store)>("Destroy_SuperMatrix_Store");
    const int rows = int(b.size());
    std::vector<double> again(b.begin(), b.end());
    std::vector<int> row_order(b.size()), column_order(b.size());
    SuperMatrix matrix, lower, upper, right, right_again;
    superlu_options_t options;
    SuperLUStat_t statistics;
    library.symbol<decltype(&set_default_options)>("set_default_options")(&options);
    library.symbol<decltype(&StatInit)>("StatInit")(&statistics);
    make_matrix(&matrix, rows, rows, int(a.values.size()), a.values.data(), a.columns.data(),
                a.offsets.data(), SLU_NR, SLU_D, SLU_GE);
    make_dense(&right, rows, 1, b.data(), rows, SLU_DN, SLU_D, SLU_GE);
    make_dense(&right_again, rows, 1, again.data(), rows, SLU_DN, SLU_D, SLU_GE);
    int info = 0;
    const double all = seconds_of([&] {
        library.symbol<decltype(&dgssv)>("dgssv")(&options, &matrix, column_order.data(),
                                                  row_order.data(), &lower, &upper, &right,
                                                  &statistics, &info);
    });
    DirectPeerResult result = singular();
    if (info == 0) {  // A matrix by rows was factored as its transpose.
        result.status = "converged";
        int solve_info = 0;
        result.solve_seconds = seconds_of([&] {
            library.symbol<decltype(&dgstrs)>("dgstrs")(TRANS, &lower, &upper, column_order.data(),
                                                        row_order.data(), &right_again, &statistics,
                                                        &solve_info);
        });
        result.setup_seconds = all - result.solve_seconds;
    }
    if (info <= rows) {
        destroy_lower(&lower);
        destroy_upper(&upper);
    }
    destroy_store(&matrix);
    destroy_store(&right);
    destroy_store(&right_again);
    library.symbol<decltype(&StatFree)>("StatFree")(&statistics);
    return result;
}

#endif

}  // namespace

bool is_direct_peer(const std::string& solver) { return solver == "klu" || solver == "superlu"; }

DirectPeerResult solve_by_peer(const std::string& solver, const CsrView<double>& matrix,
                               std::span<double> b) {
    if (matrix.nonzeros > std::numeric_limits<int>::max()) {
        throw InvalidArgument(solver + ": the matrix has too many entries");
    }
#ifdef TESSERA_BENCH_KLU
    if (solver == "klu" && klu_library().found()) return solve_by_klu(NarrowMatrix(matrix), b);
#endif
#ifdef TESSERA_BENCH_SUPERLU
    if (solver == "superlu" && superlu_library().found()) {
        return solve_by_superlu(NarrowMatrix(matrix), b);
    }
#endif
    throw Error(solver + " was not found: install its package for developers and build again");
}

}  // namespace tessera::bench
