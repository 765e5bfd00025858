#pragma once

#include "harness/result_file.hpp"

namespace tessera::bench {

struct BlockLdltBench {
    /// Preconditioners as in `tessera solve --precond`, and mumps: a sparse direct LDL^T.
    std::vector<std::string> configurations;
    std::vector<std::string> what = {"setup", "solve"};  ///< Also apply, reconstruction.
    std::vector<int> dominance;                          ///< Block sizes to measure.
    /// Configurations with "{fill}" are run with 0, 1, 2, ... until one converges, up to this.
    int max_fill = 1;
    double largest_share = 0.1;  ///< Stored blocks over the dense count; the limit of useful fill.
    std::string solver = "gmres:25";
    Offset max_iterations = 400;
    double rtol = 1e-8;
    double seconds = 0.05;  ///< Minimum time of each measurement.
    int limit = 0;          ///< Seconds after which SIGALRM ends a row, and the program; 0: none.
};

/// For every matrix (A, b = A x with a random x) and configuration a row with the requested
/// measurements:
/// - setup: seconds of the constructor, milliseconds of an update with the same values, and the
///   report of the setup;
/// - apply: milliseconds of an application and its least memory traffic (V twice or the blocks
///   once, F^-1, six vectors);
/// - solve: from x = 0 with right preconditioning, the true relative residual in the 2-norm, and
///   the normwise backward error ||r||_inf / (||A||_inf ||x||_inf + ||b||_inf);
/// - reconstruction: ||L D L^T - A||_inf / ||A||_inf of the scaled matrix, exactly.
/// And for every k in `dominance` min, mean and max over block rows of ||A_ii||_1 - sum_j
/// ||A_ij||_1 over the largest entry, in the natural order, and after matching, scaling, ordering.
/// Rows of `before`, the document of an earlier run with the same settings (null: none), are not
/// measured again. `file` gets the document before and after every row. The row being measured has
/// the status "running", and after the time limit "cut", both with the limit: later runs measure
/// the former again, and the latter if their limit is larger.
Json block_ldlt(const Context& context, const Context& cpu, const std::string& folder,
                const std::vector<std::string>& matrices, const BlockLdltBench& bench,
                const Json& before, const ResultFile& file);

/// A linear system in host memory.
struct HostSystem {
    CsrView<double> matrix;
    std::vector<double> right_hand_side;
};

/// Null if it is not finite.
Json finite(double number);

/// ||(I + V) F (I + V)^T - P S A S P^T||_inf / ||P S A S P^T||_inf of a factor with blocks of k
/// rows: all of the product, including entries outside the stored blocks. O(k^3 sum_j c_j^2) for
/// c_j blocks in column j; bitwise equal for every number of threads. NaN if there is no factor, or
/// one that is not finite.
double reconstruction_error(const CsrView<double>& a, const BlockLdltFactor<double>& factor,
                            Index k, int threads);

/// min, mean and max over block rows of ||A_ii||_1 - sum_j ||A_ij||_1, over the largest entry; of
/// the given matrix, and of the matrix matched, scaled and ordered by AMD.
Json dominance(const CsrView<double>& a, Index k);
Json matched_dominance(const Context& cpu, const CsrView<double>& a, Index k);

/// Adds the relative residual in the 2-norm and the backward error of x to a row.
void add_errors(Json& row, const HostSystem& system, const std::vector<double>& x);

/// MUMPS, loaded at run time: completes a row for the solution of the system by its multifrontal
/// LDL^T with threshold pivoting (the library without MPI; its BLAS may have threads), with default
/// settings, more workspace if needed, and no refinement. A factorisation with an estimate of more
/// than 2e12 operations is not run; status says so. False if there is no MUMPS.
bool add_mumps(Json& row, const HostSystem& system);

}  // namespace tessera::bench
