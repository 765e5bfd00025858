#include <algorithm>
#include <cmath>

#include "krylov/choice/rules.hpp"
#include "tessera/precond.hpp"

namespace tessera {

namespace {

// Times below are milliseconds of setup and solve to 1e-8 from CSR, two cores or an H200.

constexpr const char* largest_blocks = "block_jacobi:32";
constexpr const char* polynomial = "chebyshev:6";
constexpr const char* rounded_polynomial = "chebyshev:10,precision=f32,values=f16";
constexpr const char* factors = "block_ldlt:16,fill=4,method=level,positive_definite";

/// From how many rows on multigrid is the fastest for several unknowns per node, on the CPU.
Index rows_for_multigrid(const MatrixFacts& a) {
    // plate_hole:30, 3,700 rows: 4.6 for 5.2; plate_hole:40: 6.6 for 12; plate_hole:120: 57 for
    // 271; elasticity2d:50, 5,100 rows: 5.3, jacobi 6.0; elasticity2d:30: jacobi 1.4 for 2.9.
    if (a.entries_per_row() < 30) return 5'000;
    // Tetrahedra: elasticity3d:15, 11,500 rows: 18, jacobi 24; elasticity3d:12: jacobi 6.3 for 9.
    if (a.entries_per_row() < 60) return 10'000;
    // elasticity3d:20, 26,000 rows: 90, jacobi 60; elasticity3d:26: 179, jacobi 169;
    // elasticity3d:40: 750, jacobi 1274, polynomial 939; cantilever3d:8,length=8: 49, jacobi 44.
    return 40'000;
}

/// Symmetric with a positive diagonal, on the CPU.
std::vector<Attempt> definite_on_cpu(const MatrixFacts& a) {
    if (a.rows_per_node > 1 && a.rows >= rows_for_multigrid(a)) {
        return {{"fcg", "amg", "csr", 500, "a large mesh with several unknowns per node"},
                {"cg", largest_blocks, "csr", 0, "multigrid did not converge"}};
    }
    // poisson2d:400, 160,000 rows: 112 for 219; poisson2d:100: 8 for 4.
    if (a.entries_per_row() <= 5.5 && a.rows >= 50'000) {
        return {{"fcg", "amg", "csr", 500, "a large plane mesh (few entries per row)"},
                {"cg", largest_blocks, "csr", 0, "multigrid did not converge"}};
    }
    // 1138_bus: 1.4 for 3.6, 494_bus 0.75 for 0.72, 662_bus 1.0 for 0.5, tridiagonal:20000 14,
    // amg 16.
    if (a.entries_per_row() <= 4 && a.nonzeros > a.rows) {
        return {{"cg", factors, "csr", 0, "so few entries per row that its factors are as sparse"}};
    }
    // bcsstk38: 172 for 1294 with jacobi; bcsstk11: 7 for 39. poisson3d:60: jacobi 64, with larger
    // blocks above 95; elasticity3d:10: 4 for 8.
    Attempt first{"cg", "jacobi", "csr", 500, "a small system, or one with short rows"};
    if (a.has_various_blocks()) {
        first = {"cg", largest_blocks, "csr", 500, "rows with equal patterns are blocks"};
    }
    // elasticity3d:20: 51 for 61 in CSR; elasticity3d:17: 37 for 31.
    if (a.rows_per_node > 1 && a.rows >= 20'000) first.format = sliced_format(a);
    // elasticity3d:14: 25, factors 320; poisson2d:100: 11, factors 20.
    if (a.rows_per_node > 1 || a.entries_per_row() <= 5.5 || a.rows >= 20'000) {
        return {first,
                {"fcg", "amg", "csr", 0, "500 iterations cost as much as a setup of multigrid"}};
    }
    // bcsstk38: 31 for 142, bcsstk18 49 for 72 (fill=2: 41), bcsstk13 9 for 25, bcsstk26 3.3 for
    // 17, but bcsstk15 23 for 13. In the slow ones the residual does not fall at all in 75
    // iterations.
    first.stagnation_window = 75;
    return {first, {"cg", factors, "csr", 0, "the residual did not fall, or slowly"}};
}

/// Symmetric with a positive diagonal, on a GPU.
std::vector<Attempt> definite_on_gpu(const MatrixFacts& a) {
    const Attempt blocks{"cg", largest_blocks, "csr", 0, "rows with equal patterns are blocks"};
    // 494_bus: 0.9 for 6.1; nos3: 2.3 for 3.3.
    if (a.rows <= 1'000) {
        return {{"fcg", "amg", "csr", 50, "so small that multigrid solves it directly"}, blocks};
    }
    // cantilever3d:8,length=8, 16,000 rows: 5.3 for 6.6 in CSR; cantilever3d:14,length=16: 13 for
    // 16; but where the size of blocks is not known, plate_hole:200: 19 for 17.
    const std::string sliced = sliced_format(a);
    const bool is_sliced = a.rows >= (sliced == "sbell" ? 1'000'000 : 10'000);
    const std::string format = is_sliced ? sliced : "csr";
    // elasticity3d:54: 26, polynomial 31; cantilever3d:14,length=16: 13 for more than 30;
    // elasticity3d:26, the worst: 9.7 for 6.3. plate_hole:80, 26,000 rows: 10, polynomial 15;
    // plate_hole:40, 6,600 rows: 6.8, blocks 8.5; plate_hole:20: 4.8 for 5.0.
    const Index least_rows = a.entries_per_row() < 30 ? 5'000 : 50'000;
    if (a.rows_per_node > 1 && a.rows >= least_rows) {
        return {{"fcg", "amg", format, 500, "a large mesh with several unknowns per node"},
                {"cg", rounded_polynomial, sliced, 0, "multigrid did not converge"}};
    }
    // poisson2d:1000: 21 for 60; poisson2d:400, 160,000 rows: 8.1 for 9.7; poisson2d:300: 7.7 for
    // 7.9. poisson3d:200, 8,000,000 rows: 86, polynomial 120; poisson3d:160: 47 for 51;
    // poisson3d:140: 33 for 32.
    const double entries = a.entries_per_row();
    if ((entries <= 5.5 && a.rows >= 100'000) || (entries <= 7.5 && a.rows >= 4'000'000)) {
        return {{"fcg", "amg", format, 500, "a large mesh (few entries per row)"},
                {"cg", rounded_polynomial, sliced, 0, "multigrid did not converge"}};
    }
    // bcsstk38: 47, jacobi 379; bcsstk11: 15, jacobi 89. elasticity3d:10: jacobi 3.0 for 4.4.
    if (a.rows < 10'000) {
        // 1138_bus: 2.9 for 19.
        const Attempt factored{"cg", factors, "csr", 0, "its factors are as sparse"};
        if (a.entries_per_row() <= 4 && a.nonzeros > a.rows) return {factored};
        Attempt first{"cg", "jacobi", "csr", 0, "a small system without blocks of various sizes"};
        if (a.has_various_blocks()) first = blocks;
        if (a.rows_per_node > 1 || a.entries_per_row() <= 5.5) return {first};
        // bcsstk11: 5.9 for 15, bcsstk13 15 for 24, bcsstk24 22, which blocks do not solve in 40;
        // but bcsstk15 33 for 11.
        first.max_iterations = 500;
        return {first, {"cg", factors, "csr", 0, "more than 500 iterations"}};
    }
    // bcsstk18: 22, blocks 30. elasticity3d:20: 4.9, degree 10 in f16 3.4; but
    // elasticity3d:20,contrast=1e4 4.8 for 6.4, cantilever3d:8,length=8 4.1 for 7.4.
    if (a.rows < 50'000) {
        return {{"cg", polynomial, format, 0, "a polynomial needs few inner products"}};
    }
    // Degree 6 in f64 for degree 10 in f16: poisson2d:300, 90,000 rows: 6.3 for 8.6;
    // diffusion3d:48,checkerboard=1e4: 3.3 for 3.7; poisson3d:60, 216,000 rows: 3.5 for 3.2,
    // jacobi 4.4; poisson3d:80: 8.6 for 5.5 (degree 6 in f16 7.3); poisson3d:100: 13.6 for 9.6.
    // But poisson3d:120 and :160 18.9 and 53, degree 6 in f16 17.8 and 50.
    const bool rounds = a.rows >= 200'000;
    return {{"cg", rounds ? rounded_polynomial : polynomial, sliced, rounds ? 100 : 150,
             "a polynomial reads the matrix at the rate of the memory"},
            {"fcg", "amg", format, 0, "so many iterations cost as much as a setup of multigrid"}};
}

/// Symmetric and indefinite: some entries of the diagonal are missing, zero or negative, or cg
/// broke down.
std::vector<Attempt> indefinite(const MatrixFacts& a) {
    // A residual of minres that will fall soon cannot be distinguished from one that will not:
    // after 300 iterations stokes:48, which needs 1,051, is at 0.5, aug3dcqp, which does not
    // converge, too.
    const char* const next = "minres did not converge in its limit of iterations";
    if (a.on_gpu) {
        // minres alone: kkt_aug2dc 11 for 51 with block LDL^T, helmholtz:60 4.9 for 36, stokes:48
        // 21 for 37; its 1,000 iterations take 20 to 25, block LDL^T 22 (darcy:48) to 117.
        // block_ldlt:8,fill=1: darcy:48 64 for 22, sqd_aug3dcqp_3x3_it5 34 for 26; only bloweya
        // needs it.
        return {{"minres", "none", "csr", 1200, "symmetric, not definite"},
                {"sqmr", "block_ldlt:16,fill=2", "csr", 2000, next},
                {"sqmr", "block_ldlt:8,fill=1", "csr", 0, "smaller blocks drop other entries"}};
    }
    // minres alone: shell:60 1.2 for 6.6 with block LDL^T, stokes:48, 6,800 rows: 15 for 35 (51
    // after 300 iterations of minres). 300 iterations take 0.6 of the time of the next attempt with
    // sqd_aug3dcqp_3x3_it5, 16,500 rows (9 for 15). method=level: bloweya 16 for 80,
    // sqd_stcqp1_2x2_it10 31 for 111. fill=2: kkt_cvxqp3 is solved by no other; elsewhere up to 1.5
    // times the time.
    return {{"minres", "none", "csr", a.rows < 10'000 ? 1200 : 300, "symmetric, not definite"},
            {"sqmr", "block_ldlt:8,fill=1,method=level", "csr", 2000, next},
            {"gmres:50", "block_ldlt:16,fill=2,method=level", "csr", 0,
             "the incomplete factors need more fill"}};
}

std::vector<Attempt> nonsymmetric(const MatrixFacts& a) {
    // On the CPU: cage9 0.24 for 0.80 with idr:4, convection3d:40 27 for 34, rdb1250 0.68 for 0.76;
    // on the GPU convection3d:100 49 for 71, sherman4 3.8 for 8.3. dw8192, pores_2 and sherman2
    // need the second attempt: idr:8 185, 12, 5.8; idr:4 with the same blocks 269, 19, 7.5.
    return {{"bicgstab", a.has_various_blocks() ? largest_blocks : "jacobi", "csr", 500,
             "not symmetric"},
            {"idr:8,smoothing", "block_jacobi:32,singular=shift", "csr", 2000,
             "bicgstab did not converge"},
            {"gmres:150", "block_jacobi:32,singular=shift", "csr", 0, "idr did not converge"}};
}

std::vector<Attempt> attempts_for(const MatrixFacts& facts) {
    if (!facts.symmetric) return nonsymmetric(facts);
    if (!facts.positive_diagonal) return indefinite(facts);
    // Solvers for definite matrices break down at once if the matrix is not (Si2, helmholtz:60).
    auto attempts = definite_attempts(facts);
    for (Attempt& attempt : indefinite(facts)) attempts.push_back(std::move(attempt));
    return attempts;
}

/// The attempts whose solvers allow preconditioning from the left.
std::vector<Attempt> left_attempts_for(const MatrixFacts& facts) {
    std::vector<Attempt> attempts = attempts_for(facts);
    std::erase_if(attempts,
                  [](const Attempt& a) { return !parse_solver(a.solver)->allows_left(); });
    if (!attempts.empty()) return attempts;
    attempts = nonsymmetric(facts);
    attempts.front().reason = "allows preconditioning from the left";
    return attempts;
}

/// The solver for a preconditioner that was given.
std::string solver_for(const MatrixFacts& facts, const std::string& preconditioner, bool left) {
    if (left) return "idr:4";
    const std::string name = Spec(preconditioner).name();
    if (facts.symmetric && facts.positive_diagonal && name != "block_ldlt") {
        return name == "amg" ? "fcg" : "cg";
    }
    if (name == "block_ldlt") return "sqmr";
    return facts.symmetric && name == "none" ? "minres" : "idr:4";
}

/// The preconditioner of an attempt for a solver that was given.
std::string preconditioner_for(const std::string& solver, const Attempt& attempt) {
    // Its preconditioner must be positive definite.
    const std::string& text = attempt.preconditioner;
    if (Spec(solver).name() == "minres" && text.starts_with("block_ldlt") &&
        !text.ends_with("positive_definite")) {
        return text + ",positive_definite";
    }
    return attempt.preconditioner;
}

}  // namespace

std::string sliced_format(const MatrixFacts& facts) {
    const Index block = facts.largest_block;
    const bool is_stored = block > 1 && block <= 6 && block != 5;
    if (facts.has_various_blocks() || facts.nodes_without_zeros || !is_stored) return "sbell";
    return "sbell:" + std::to_string(block);
}

std::vector<Attempt> definite_attempts(const MatrixFacts& facts) {
    return facts.on_gpu ? definite_on_gpu(facts) : definite_on_cpu(facts);
}

Attempt attempt_with_operators(const MatrixFacts& facts, bool left) {
    const bool is_definite = facts.symmetric && facts.positive_diagonal && !left;
    return {is_definite ? "cg" : "gmres:50", "none", "csr", 0, "operators were given"};
}

void keep_words(Attempt& attempt, const std::string& solver, const std::string& preconditioner,
                const std::string& format) {
    if (preconditioner != "auto") attempt.preconditioner = preconditioner;
    if (solver != "auto") {
        if (preconditioner == "auto") {
            attempt.preconditioner = preconditioner_for(solver, attempt);
        }
        attempt.solver = solver;
    }
    if (format != "auto") attempt.format = format;
}

bool have_same_words(const Attempt& one, const Attempt& other) {
    return one.solver == other.solver && one.preconditioner == other.preconditioner &&
           one.format == other.format;
}

std::vector<Attempt> choose(const MatrixFacts& facts, const std::string& solver,
                            const std::string& preconditioner, const std::string& format,
                            bool left) {
    const bool any_solver = solver == "auto", any_preconditioner = preconditioner == "auto";
    std::vector<Attempt> attempts =
        left && any_solver ? left_attempts_for(facts) : attempts_for(facts);
    if (!any_preconditioner) {
        attempts = {{any_solver ? solver_for(facts, preconditioner, left) : solver, preconditioner,
                     attempts.front().format, 0, "the preconditioner was given"}};
    }
    std::vector<Attempt> distinct;
    for (Attempt& attempt : attempts) {
        keep_words(attempt, solver, preconditioner, format);
        if (!distinct.empty() && have_same_words(distinct.back(), attempt)) {
            // They differed by a word that was given: one attempt, with the limits of the later.
            attempt.reason = distinct.back().reason;
            distinct.pop_back();
        }
        distinct.push_back(std::move(attempt));
    }
    return distinct;
}

}  // namespace tessera
