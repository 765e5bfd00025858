#include <algorithm>

#include "base/concat.hpp"
#include "krylov/choice/rule_parts.hpp"
#include "tessera/precond.hpp"

namespace tessera {

namespace {

/// Why attempts follow exact factors of any size.
constexpr const char* no_factors = "exact factors take too long, or do not solve it";

/// The word of exact factors that makes them LU where the matrix is symmetric.
constexpr const char* by_lu = ",symmetric=off";

/// Symmetric and indefinite: some entries of the diagonal are missing, zero or negative, or cg
/// broke down.
std::vector<Attempt> indefinite(const MatrixFacts& a) {
    //   stokes:48      6,815 rows  exact   5.4 ms  minres              27 ms
    //   stokes:96     27,455       exact    25     all others fail
    //   helmholtz:300 90,000       exact    82     all others fail
    //   qpband:20000  26,666       exact    10     block LDL^T         45
    //   kkt:5000       7,500       exact   271     block LDL^T        130, 5,000 products
    // Beside a GPU the host is slower:
    //   aug3dcqp      35,543       exact   104                 block LDL^T        115
    //                              exact   190, H200           block LDL^T        102
    const double products = a.on_gpu ? 300 : 500;
    const Attempt exact = exact_factors(flops_of_products(a, products), few_operations);
    const Attempt last = exact_factors(max_flops_of_any, "incomplete factors do not suffice");
    const char* const next = "minres did not converge in 300 iterations";
    const char* const small = a.on_gpu ? "block_ldlt:8" : "block_ldlt:8,method=level";
    const Attempt without_fill{"sqmr", small, "csr", 300, "factors with fill are large", 0, 40};
    const Attempt minres{"minres", "none", "csr", 300, "symmetric, not definite"};
    const Attempt at_last{"minres", "none", "csr", 0, no_factors};
    if (fills_up(a)) {
        //   augmented least squares, random, 100,000 rows  rows 0.27 s, 7 times the matrix
        //                                                  blocks of 8 0.81 s, 25 times
        Attempt by_rows = without_fill;
        by_rows.preconditioner = a.on_gpu ? "block_ldlt:1" : "block_ldlt:1,method=level";
        return {minres, by_rows, exact, last, at_last};
    }
    if (a.on_gpu) {
        //   kkt_aug2dc    minres  11 ms              block LDL^T 51 ms
        //   helmholtz:60  minres 4.9                 block LDL^T 36
        //   darcy:48      16 rows a block, fill 2 22  8 rows, fill 1 64; bloweya alone needs these
        //   sqd_aug3dcqp_3x3_it5, 16,500 rows  minres 7.5 ms  exact 15.6
        //   stokes:48, 6,800                   exact 7        minres 21
        const bool is_small = a.rows < 10'000;
        return {is_small ? exact : minres,
                is_small ? minres : exact,
                {"sqmr", "block_ldlt:16,fill=2", "csr", 2000, next, 0, 300},
                {"sqmr", "block_ldlt:8,fill=1", "csr", 500, "smaller blocks drop other entries"},
                without_fill,
                last,
                at_last};
    }
    //   bloweya              method=level  16 ms  method=jacobi    80 ms
    //   sqd_stcqp1_2x2_it10  method=level  31     method=jacobi   111
    return {exact,
            minres,
            {"sqmr", "block_ldlt:8,fill=1,method=level", "csr", 800, next, 0, 300},
            without_fill,
            last,
            {"gmres:50", "block_ldlt:16,fill=2,method=level", "csr", 0, no_factors}};
}

/// Attempts for nonsymmetric systems, of which a rule takes some in its order.
struct NonsymmetricAttempts {
    //   cage9, CPU               bicgstab 0.24 ms  idr:4 0.80 ms
    //   convection3d:40, CPU     bicgstab   27     idr:4   34
    //   convection3d:100, GPU    bicgstab   49     idr:4   71
    //   sherman4, GPU            bicgstab  3.8     idr:4  8.3
    Attempt first{"bicgstab", "jacobi", "csr", 500, "not symmetric"};
    Attempt idr{"idr:8,smoothing", "block_jacobi:32,singular=shift", "csr", 500,
                "bicgstab did not converge"};
    //   two threads                     then idr  then ilu
    //   convection3d:40,strength=10      0.10 s    0.10, as bicgstab converges; ilu alone 0.14
    //   convection3d:80,strength=1000    4.2       0.83
    //   euler3d:40,cfl=10, blocks of 5   5.8       1.7
    // On a GPU each level takes at least 1.3 us:
    //   H200, alone                      idr       ilu, levels
    //   convection3d:80,strength=1000     74 ms     40, 168
    //   euler2d:600,cfl=10               271       172, 899
    Attempt incomplete{
        "bicgstab", "ilu,precision=f32", "csr", 500, "bicgstab does not converge fast", 0, 60};
    Attempt more_fill{"bicgstab", "ilu:8,fill=1,precision=f32",         "csr",
                      500,        "factors without fill drop too much", 0,
                      60};
    Attempt exact, any_exact;
    Attempt longer_idr = idr;
    Attempt last{"gmres:150", idr.preconditioner, "csr", 0, "idr did not converge"};
    /// Exact factors of larger ones take too long to be an alternative.
    bool may_factor;

    explicit NonsymmetricAttempts(const MatrixFacts& a)
        : exact(exact_factors(flops_of_products(a, 1000), few_operations)),
          any_exact(exact_factors(max_flops_of_any, "idr does not converge fast")),
          may_factor(a.rows < 300'000) {
        if (a.has_various_blocks()) first.preconditioner = largest_blocks;
        if (a.on_gpu) incomplete.preconditioner += ",max_levels=1000";
        //   convection3d:100, GPU, 1,000,000 rows  bicgstab 47 ms, 0.13 after 100 iterations
        first.trial = may_factor || !a.on_gpu ? 100 : 0;
        if (!a.on_gpu && a.rows_per_node >= 3) {
            //   euler3d:24,cfl=10  bicgstab 108 iterations, as long as with incomplete factors
            first.preconditioner = "block_jacobi:8,blocks=natural,singular=shift";
            first.trial = 40;
        }
        idr.trial = may_factor ? 20 : 0;  // Cycles of nine products.
        longer_idr.max_iterations = 2000;
        longer_idr.reason = no_factors;
    }
};

/// Systems of 40,000 rows and more.
std::vector<Attempt> large_nonsymmetric(const MatrixFacts& a, bool is_plane) {
    auto [first, idr, incomplete, more_fill, exact, any_exact, longer_idr, last, may_factor] =
        NonsymmetricAttempts(a);
    if (is_plane && a.positive_diagonal) {
        // Multigrid of the symmetric part, where convection is mild:
        //                                 two threads          H200
        //   recirculation:800,peclet=10   ilu 26.8 s   14.5    idr   0.77 s  0.15
        //                     peclet=100  idr over 60  25.3    exact 4.3     0.24
        //   recirculation:300,peclet=10                        exact 0.12    0.022
        //   convection2d:300                                   exact 0.117   0.022
        Attempt mild{"gmres:50", "amg,symmetric_part=on", "csr", 500,
                     "a large plane mesh, where convection may be mild"};
        first.trial = 100;
        // 1e-4 of 220 iterations with peclet=100; after 60 above 0.01.
        mild.trial = a.on_gpu && may_factor ? 50 : 100;
        if (!a.on_gpu) {
            return {first, mild, incomplete, more_fill, idr, exact, any_exact, longer_idr, last};
        }
        if (may_factor) {
            return {first, mild, exact, incomplete, idr, any_exact, longer_idr, last};
        }
        return {first, mild, incomplete, idr, exact, any_exact, longer_idr, last};
    }
    if (!a.on_gpu && !a.positive_diagonal && !a.negative_diagonal && may_factor) {
        // A network, or equations of several kinds.
        //   power flow, 45,000 rows  exact 0.22 s  after incomplete factors and idr 1.28 s
        //               81,000             0.65                                     1.86
        const Attempt quick = exact_factors(flops_of_products(a, 100), few_operations);
        first.max_iterations = 100;
        first.trial = 40;
        return {first, quick, incomplete, more_fill, idr, exact, any_exact, longer_idr, last};
    }
    //   convection3d:40,strength=1000, 64,000 rows  idr 67 ms  with exact factors before it 145
    if (!a.on_gpu) return {first, incomplete, more_fill, idr, exact, any_exact, longer_idr, last};
    //   H200, alone                    jacobi          block_jacobi:32  idr
    //   convection3d:60,strength=100   breaks down     14 ms            57
    //   convection3d:100,strength=10   46              62               over 62
    //   euler3d:74,cfl=10              breaks down    155               231
    first.preconditioner = idr.preconditioner;
    if (!may_factor && a.positive_diagonal) {
        // Factors that need no work of the host.
        //   H200, processes of their own  block_jacobi:32  ilu
        //   euler3d:74,cfl=10               172 ms           93
        //   euler3d:54,cfl=100              135              83
        //   euler3d:40,cfl=1                 18              24
        //   euler2d:600,cfl=10            breaks down       117
        //   convection3d:80,strength=1000 breaks down        29
        //   convection3d:100,strength=10     71              77
        incomplete.preconditioner += ",matching=off,ordering=natural";
        incomplete.reason = "a large system, whose rows may be in the order of a mesh";
        first.reason = "incomplete factors have too many levels, or do not converge fast";
        return {incomplete, first, idr, exact, any_exact, longer_idr, last};
    }
    return {first, incomplete, idr, exact, any_exact, longer_idr, last};
}

std::vector<Attempt> nonsymmetric(const MatrixFacts& a) {
    //   recirculation:300, 90,000 rows  exact 140 ms  after idr 1,260
    const bool is_plane = a.entries_per_row() <= 5.5;
    const bool may_be_mild = is_plane && a.on_gpu && a.positive_diagonal;
    if (a.rows >= 300'000 || (a.rows >= 40'000 && (!is_plane || may_be_mild))) {
        return large_nonsymmetric(a, is_plane);
    }
    auto [first, idr, incomplete, more_fill, exact, any_exact, longer_idr, last, may_factor] =
        NonsymmetricAttempts(a);
    Attempt trial = first;
    trial.max_iterations = 100;
    trial.trial = 40;
    if (is_dominated_by_diagonal(a)) {
        return {trial, exact, first, idr, any_exact, longer_idr, last};
    }
    // A trial takes longer than exact factors of small matrices, on a GPU up to more rows.
    if (a.rows < (a.on_gpu ? 5'000 : 1'500) || is_plane) {
        return {exact, trial, first, idr, any_exact, longer_idr, last};
    }
    //   add20, 2,395 rows  exact 2.3 ms  after a trial 3.6
    const Attempt few = exact_factors(flops_of_products(a, 25), few_operations);
    if (a.rows < 5'000) return {few, trial, exact, first, idr, any_exact, longer_idr, last};
    if (!a.on_gpu) {
        //   bayer10, dw8192, lhr07          2e7 to 6e7 operations  exact  20 to 60 ms
        //   convection3d:24,strength=1000   2e9                    exact 110  ilu 12
        const Attempt quick = exact_factors(flops_of_products(a, 100), few_operations);
        return {trial, quick, incomplete, exact, first, idr, any_exact, longer_idr, last};
    }
    return {trial, exact, first, idr, any_exact, longer_idr, last};
}

std::vector<Attempt> attempts_for(const MatrixFacts& facts) {
    if (!facts.symmetric) return nonsymmetric(facts);
    if (!facts.positive_diagonal) return indefinite(facts);
    // Solvers for definite matrices break down at once if the matrix is not (Si2, helmholtz:60).
    auto attempts = definite_attempts(facts);
    for (Attempt& attempt : indefinite(facts)) {
        const bool is_repeated = attempt.preconditioner.starts_with("direct");
        if (!is_repeated) attempts.push_back(std::move(attempt));
    }
    return attempts;
}

/// Attempts whose solvers allow preconditioning from the left.
std::vector<Attempt> left_attempts_for(const MatrixFacts& facts) {
    std::vector<Attempt> attempts = nonsymmetric(facts);
    for (Attempt& attempt : attempts) {
        if (facts.symmetric && attempt.reason == "not symmetric") {
            attempt.reason = "allows preconditioning from the left";
        }
    }
    return attempts;
}

/// The solver for a preconditioner that was given.
std::string solver_for(const MatrixFacts& facts, const std::string& preconditioner, bool left) {
    const std::string name = Spec(preconditioner).name();
    if (name == "direct") return "richardson";
    if (name == "ilu") return "bicgstab";
    if (left) return "idr:4";
    if (facts.symmetric && facts.positive_diagonal && name != "block_ldlt") {
        return name == "amg" ? "fcg" : "cg";
    }
    if (name == "block_ldlt") return "sqmr";
    if (name == "amg") return "gmres:50";
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

Attempt exact_factors(double max_flops, const char* reason) {
    std::string words =
        "direct,max_flops=" + number_text(max_flops, std::chars_format::scientific, 0);
    words.erase(words.find('+'), 1);
    return {"richardson", words, "csr", 10, reason};
}

Attempt lu_of_symmetric(const MatrixFacts& facts) {
    Attempt attempt =
        exact_factors(flops_of_products(facts, 1000), "its LDL^T is singular to working precision");
    attempt.preconditioner += by_lu;
    return attempt;
}

bool is_by_lu(const Attempt& attempt) { return attempt.preconditioner.ends_with(by_lu); }

std::optional<Attempt> attempt_by_rows(const MatrixFacts& a) {
    // Such rows are better left out; a null space is looked for first.
    if (a.on_gpu || a.has_odd_rows || a.has_empty_rows || a.row_sums_vanish) return {};
    //                                            by rows  by all facts
    //   bcsstm25, 15,439 rows, diagonal          0.6 ms   0.8
    //   sqd_gouldqp3_2x2_it10, 3,844             0.9      1.6
    //   sqd_liswet1_2x2_it10, 30,002             8.0     12.2
    //   bp_1200, nonsymmetric, 822               0.64     0.75
    if (a.symmetric && a.positive_diagonal && is_diagonal(a) && a.rows < 100'000) {
        return Attempt{"cg", "jacobi", "csr", 500, small_or_short};
    }
    // Larger ones with longer rows may be symmetric but for factors of the rows, where cg is
    // faster:
    //   7 points, 4,096 rows times random factors  5.6 ms   3.0
    if (!a.symmetric && a.rows < (a.entries_per_row() <= 5.5 ? 5'000 : 1'500) &&
        !is_dominated_by_diagonal(a)) {
        return exact_factors(flops_of_products(a, 1000), few_operations);
    }
    // More entries may be those of nodes of several unknowns.
    const bool is_small =
        a.rows < 1'500 && a.entries_per_row() < 30 && !is_dominated_by_diagonal(a);
    // Large ones of one sign are turned, for cg.
    if (a.symmetric && !a.positive_diagonal && (!a.negative_diagonal || is_small) && !fills_up(a)) {
        return exact_factors(flops_of_products(a, 500), few_operations);
    }
    if (a.symmetric && a.positive_diagonal && is_small) {
        return exact_factors(flops_of_products(a, 50), few_operations);
    }
    return {};
}

Attempt attempt_for_callers_operators(const MatrixFacts& facts, bool left) {
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
    const bool needs_definite = Spec(solver).name() == "minres";
    for (Attempt& attempt : attempts) {
        if (needs_definite && any_preconditioner && attempt.preconditioner.starts_with("direct")) {
            continue;
        }
        keep_words(attempt, solver, preconditioner, format);
        const auto same = std::ranges::find_if(distinct, [&](const Attempt& one) {
            return !any_solver && have_same_words(one, attempt);
        });
        if (same != distinct.end()) {
            // They differed by a word that was given: one attempt, with the limits of the later.
            attempt.reason = same->reason;
            *same = std::move(attempt);
        } else {
            distinct.push_back(std::move(attempt));
        }
    }
    distinct.back().max_iterations = distinct.back().trial = 0;  // Nothing follows.
    return distinct;
}

bool is_known_mesh(const MatrixFacts& facts) {
    return !fills_up(facts) && (facts.has_coordinates || facts.graph_dimension > 0);
}

}  // namespace tessera
