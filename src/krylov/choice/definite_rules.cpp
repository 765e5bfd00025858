#include "krylov/choice/rule_parts.hpp"

// The rules for symmetric matrices with a positive diagonal.
namespace tessera {

namespace {

constexpr const char* polynomial = "chebyshev:6";
constexpr const char* rounded_polynomial = "chebyshev:10,precision=f32,values=f16";
constexpr const char* factors = "block_ldlt:16,fill=4,method=level,positive_definite";

/// From how many rows on multigrid is the fastest for several unknowns per node, on the CPU.
Index rows_for_multigrid(const MatrixFacts& a) {
    // Long bodies; a column is 60 to 75 nodes long:
    //   cantilever2d:3,length=25     600 rows  multigrid 2.0 ms  jacobi  2.0 ms
    //   cantilever3d:3,length=25   3,600       multigrid  16     jacobi   20
    //   cantilever3d:8,length=8   15,600       multigrid  61     jacobi   63
    //   cantilever3d:10,length=6  21,800       multigrid  81     jacobi   72
    if (a.nodes_along >= 60) return 500;
    //   beam of quadratic tetrahedra  4,400 rows  multigrid  21 ms  jacobi   37
    //   cantilever3d:10,length=4     14,500       multigrid and jacobi equal
    if (a.nodes_along >= 30 && a.entries_per_row() >= 60) return 4'000;
    //   plate_hole:40      6,600 rows   multigrid 6.6 ms   jacobi  12 ms
    //   plate_hole:120    58,000        multigrid  57      jacobi 271
    //   elasticity2d:50    5,100        multigrid 5.3      jacobi 6.0
    //   elasticity2d:30    1,900        jacobi    1.4      multigrid 2.9
    if (a.entries_per_row() < 30) return 5'000;
    //   elasticity3d:15,element=tet4  11,500 rows  multigrid  18 ms  jacobi    24 ms
    //   elasticity3d:12,element=tet4   6,100       jacobi    6.3     multigrid  9
    if (a.entries_per_row() < 60) return 10'000;
    //   elasticity3d:20  26,000 rows  jacobi     60 ms  multigrid   90 ms
    //   elasticity3d:26  57,000       jacobi    169     multigrid  179
    //   elasticity3d:40 202,000       multigrid 750     polynomial 939, jacobi 1274
    return 40'000;
}

/// Symmetric with a positive diagonal, on the CPU.
std::vector<Attempt> definite_on_cpu(const MatrixFacts& a) {
    if (!fills_up(a) && a.rows_per_node > 1 && a.rows >= rows_for_multigrid(a)) {
        return {{"fcg", "amg", "csr", 500, "a large mesh with several unknowns per node"},
                {"cg", largest_blocks, "csr", 0, "multigrid did not converge"}};
    }
    //   poisson2d:400  160,000 rows  multigrid 112 ms  jacobi   219 ms
    //   poisson2d:100   10,000       jacobi      4     multigrid  8
    // Smaller ones are no meshes if exact factors were refused.
    //   fe_diffusion_p2    261,000  multigrid 1.5 s  500 of jacobi before it 3.4 s
    const bool is_plane = a.entries_per_row() <= 5.5 || is_plane_graph(a);
    if (!fills_up(a) && is_plane && a.rows >= 100'000) {
        return {{"fcg", "amg", "csr", 500, "a large plane mesh"},
                {"cg", largest_blocks, "csr", 0, "multigrid did not converge"}};
    }
    //   bcsstk38          8,032 rows  blocks 172 ms  jacobi 1294 ms
    //   bcsstk11          1,473       blocks   7     jacobi   39
    //   poisson3d:60    216,000       jacobi  64     blocks   95
    //   elasticity3d:10   3,600       jacobi   4     blocks    8
    Attempt first{"cg", "jacobi", "csr", 500, small_or_short};
    if (a.has_various_blocks()) {
        first = {"cg", largest_blocks, "csr", 500, "rows with equal patterns are blocks"};
    }
    //   elasticity3d:20  26,000 rows  sbell 51 ms  csr   61 ms
    //   elasticity3d:17  16,500       csr   31     sbell 37
    if (a.rows_per_node > 1 && a.rows >= 20'000) first.format = sliced_format(a);
    // Long bodies take several times as many iterations as cubes do, and show it at once.
    //   cantilever3d:8,length=4,element=tet4  7,800 rows  multigrid 32 ms  jacobi   59 ms
    //   elasticity3d:12,element=tet4          6,100       jacobi    17     multigrid 24
    //   bracket of quadratic tetrahedra      17,400       multigrid 400 ms jacobi 1100
    if (!fills_up(a) && a.rows_per_node > 1 && a.rows >= 1'500) first.trial = 120;
    if (a.rows_per_node > 1 || a.entries_per_row() <= 5.5 || a.rows >= 20'000) {
        return {first,
                {"fcg", "amg", "csr", 500, "500 iterations cost as much as a setup of multigrid"}};
    }
    // In slow ones (bcsstk38, bcsstk18) the residual does not fall at all in 75 iterations.
    first.stagnation_window = 75;
    return {first};
}

/// Few rows of nodes whose blocks are not full: some win with exact factors, as other matrices do.
bool is_small_without_blocks(const MatrixFacts& a) {
    return a.nodes_without_zeros && a.rows < 10'000 && !a.on_gpu;
}

/// Whether exact factors may be the fastest for a symmetric matrix with a positive diagonal.
bool prefers_exact_factors(const MatrixFacts& a) {
    //   mesh3e1  289 rows  jacobi 0.06 ms  exact 0.17 ms
    if (is_dominated_by_diagonal(a)) return false;
    // Trees have the dimension of graphs that fill up, but do not.
    //   random tree, 100,000 rows  exact 0.2 s  jacobi 0.7 s  multigrid 1.6 s
    if (a.entries_per_row() <= 3.2 && a.rows < 1'000'000 && !a.on_gpu) return true;
    if (fills_up(a)) return false;
    //   bcsstk38        8,032 rows  exact  20 ms  blocks    172 ms  11 products
    //   bcsstk15        3,948       exact  16     jacobi     23     42
    //   poisson2d:300  90,000       exact  66     multigrid  74     11
    //   plate_hole:40   6,560       exact   7     multigrid  12
    //   plate_hole:120 58,080       exact  73     multigrid 102
    //   elasticity3d:10 3,630       jacobi  6     exact      21     50
    // H200, with a host that takes twice the time:
    //   bcsstk38        exact 40  block LDL^T  72      bcsstk24  exact 17  block LDL^T  50
    //   bcsstk18        polynomial 27  exact 38        poisson2d:300  polynomial 15  exact 93
    const bool is_plane = a.entries_per_row() <= 5.5;
    //   dense Gaussian kernel, 1,500 rows  exact 0.1 s  blocks and multigrid fail in 1.3 s
    const bool is_dense = a.entries_per_row() >= 0.25 * a.rows;
    if (is_dense && !a.on_gpu) return true;
    if (a.on_gpu) return a.rows < (is_plane ? 1'500 : 10'000) && a.rows_per_node == 1;
    if (is_plane) return a.rows < 100'000;
    //   cantilever3d:4,length=30   9,000 rows  exact 36 ms  multigrid  49 ms
    //   cantilever3d:4,length=60  18,000       exact 80     multigrid 174
    //   cantilever3d:8,length=8   15,600       exact 97     multigrid  50, refused factors 75
    if (a.nodes_along >= 60) {
        if (a.rows_per_node == 2) return a.rows < 100'000;
        // Factors take about five times the operations for a band of the rows of a cross section.
        const double section = a.rows / a.nodes_along;
        return a.rows < 30'000 && 5 * a.rows * section * section <= flops_of_products(a, 50);
    }
    if (a.rows_per_node > 1 && !is_small_without_blocks(a)) {
        // Two unknowns: a plane, also of elements of higher order.
        //   plane strain, 9-node quadrilaterals, 9,800 rows  exact 24 ms  multigrid 80 ms
        return (a.rows_per_node == 2 || a.entries_per_row() < 30) && a.rows < 60'000;
    }
    //   plane strain, triangles of 10 nodes, 22,000 rows  exact 60 ms  others above 1,000
    return a.rows < (is_plane_graph(a) ? 100'000 : 20'000);
}

/// Symmetric with a positive diagonal, on a GPU.
std::vector<Attempt> definite_on_gpu(const MatrixFacts& a) {
    const Attempt blocks{"cg", largest_blocks, "csr", 0, "rows with equal patterns are blocks"};
    const double entries = a.entries_per_row();
    //   494_bus  494 rows  multigrid 0.9 ms  blocks 6.1 ms
    //   nos3     960       multigrid 2.3     blocks 3.3
    if (a.rows <= 1'000) {
        return {{"fcg", "amg", "csr", 50, "so small that multigrid solves it directly"}, blocks};
    }
    // A random graph and two with dense rows:
    //   Erdos-Renyi, degree 4   300,000 rows  jacobi 0.01 s  polynomial 0.06 s
    //   power law, 4 neighbours 300,000       jacobi 0.02    multigrid 0.24
    //   arrow                   300,000       jacobi 0.37    multigrid 2.8
    //   random tree             300,000       jacobi 0.02    exact 0.5
    if (fills_up(a) || a.has_dense_rows || entries <= 3.2 || is_dominated_by_diagonal(a)) {
        const char* const reason = is_dominated_by_diagonal(a)
                                       ? "its diagonal dominates"
                                       : "the graph of the matrix is that of no mesh";
        return {
            {"cg", "jacobi", "csr", 500, reason},
            {"fcg", "amg", "csr", 500, "so many iterations cost as much as a setup of multigrid"},
            {"cg", rounded_polynomial, "csr", 0, "multigrid did not converge"}};
    }
    //   cantilever3d:8,length=8     16,000 rows  sbell 5.3 ms  csr   6.6 ms
    //   cantilever3d:14,length=16  151,000       sbell  13     csr    16
    //   plate_hole:200             161,000       csr    17     sbell  19; block size unknown
    const std::string sliced = sliced_format(a);
    // Multigrid with another copy of A takes seven times its memory, without it six times:
    //   poisson3d:450  91,000,000 rows  csr 1,090 ms  sell 1,130 ms (the first solve)
    constexpr double max_share_for_copies = 1.0 / 14;
    const bool is_sliced = a.rows >= (sliced == "sbell" ? 1'000'000 : 10'000) &&
                           a.memory_share <= max_share_for_copies;
    const std::string format = is_sliced ? sliced : "csr";
    //   elasticity3d:54            490,000 rows  multigrid  26 ms  polynomial  31 ms
    //   cantilever3d:14,length=16  151,000       multigrid  13     polynomial above 30
    //   elasticity3d:26             57,000       multigrid 9.7     polynomial 6.3, the worst case
    //   plate_hole:80               26,000       multigrid  10     polynomial  15
    //   plate_hole:40                6,600       multigrid 6.8     blocks     8.5
    const Index min_rows = a.entries_per_row() < 30 ? 5'000 : 50'000;
    if (a.rows_per_node > 1 && a.rows >= min_rows) {
        return {{"fcg", "amg", format, 500, "a large mesh with several unknowns per node"},
                {"cg", rounded_polynomial, sliced, 0, "multigrid did not converge"}};
    }
    //   poisson2d:1000  1,000,000 rows  multigrid  21 ms  polynomial  60 ms
    //   poisson2d:300      90,000       multigrid 7.7     polynomial 7.9
    //   poisson3d:200   8,000,000       multigrid  86     polynomial 120
    //   poisson3d:140   2,700,000       multigrid  33     polynomial  32
    //   fe_diffusion_p2   261,000       multigrid  13     a polynomial before it 30
    const bool is_plane = entries <= 5.5 || is_plane_graph(a);
    if ((is_plane && a.rows >= 100'000) || (entries <= 7.5 && a.rows >= 4'000'000)) {
        return {{"fcg", "amg", format, 500, "a large mesh (of a plane, or few entries per row)"},
                {"cg", rounded_polynomial, sliced, 0, "multigrid did not converge"}};
    }
    const Attempt multigrid{"fcg", "amg", format, 0,
                            "so many iterations cost as much as a setup of multigrid"};
    //   bcsstk38         8,032 rows  blocks  47 ms  jacobi 379 ms
    //   bcsstk11         1,473       blocks  15     jacobi  89
    //   elasticity3d:10  3,600       jacobi 3.0     blocks 4.4
    if (a.rows < 10'000) {
        //   1138_bus  1,138 rows  factors 2.9 ms  jacobi 19 ms
        const Attempt factored{"cg", factors, "csr", 0, "its factors are as sparse"};
        if (a.entries_per_row() <= 4 && a.nonzeros > a.rows) return {factored};
        Attempt first{"cg", "jacobi", "csr", 0, "a small system without blocks of various sizes"};
        if (a.has_various_blocks()) first = blocks;
        if (a.entries_per_row() <= 5.5) return {first};
        first.max_iterations = 500;
        if (a.rows_per_node > 1) {
            first.trial = 120;
            return {first, multigrid};
        }
        //   bcsstk11  1,473 rows  factors 5.9 ms  blocks 15 ms
        //   bcsstk13  2,003       factors  15     blocks 24
        //   bcsstk24  3,562       factors  22     blocks do not converge
        //   bcsstk15  3,948       factors  33     blocks 11
        return {first, {"cg", factors, "csr", 0, "more than 500 iterations"}};
    }
    //   bcsstk18                      11,948 rows  degree 6  22 ms  blocks            30 ms
    //   elasticity3d:20               26,000       degree 6 4.9     degree 10 in f16 3.4
    //   elasticity3d:20,contrast=1e4  26,000       degree 6 4.8     degree 10 in f16 6.4
    //   cantilever3d:8,length=8       16,000       degree 6 4.1     degree 10 in f16 7.4
    // Bodies that take more than about 80 iterations are solved faster by multigrid; their residual
    // after fewer does not predict it:
    //   bracket of tetrahedra      43,000 rows  multigrid 12 ms  degree 6  53 ms  462 iterations
    //   cantilever3d:10,length=12  44,000       multigrid  9     degree 6  11      84
    //   cantilever3d:6,length=20   18,000       degree 6   8     multigrid  9     108
    //   elasticity3d:24            45,000       degree 6   7     multigrid 10      39
    if (a.rows < 50'000) {
        Attempt first{"cg", polynomial, format, 0, "a polynomial needs few inner products"};
        if (a.rows_per_node == 1) return {first};
        first.max_iterations = 60;
        return {first, multigrid};
    }
    //   poisson2d:300     90,000 rows  degree 6 in f64   6.3 ms  degree 10 in f16  8.6 ms
    //   poisson3d:60     216,000       degree 10 in f16  3.2     degree 6 in f64   3.5, jacobi 4.4
    //   poisson3d:80     512,000       degree 10 in f16  5.5     degree 6 in f64   8.6, in f16 7.3
    //   poisson3d:100  1,000,000       degree 10 in f16  9.6     degree 6 in f64  13.6
    //   poisson3d:120  1,700,000       degree 10 in f16 18.9     degree 6 in f16  17.8
    //   diffusion3d:48   111,000 rows  csr 4.2 ms  sbell 4.7
    //   poisson3d:45      91,000       csr 3.5     sbell 4.4
    const bool rounds = a.rows >= 200'000;
    return {{"cg", rounds ? rounded_polynomial : polynomial, rounds ? sliced : format,
             rounds ? 100 : 150, "a polynomial reads the matrix at the rate of the memory"},
            multigrid};
}

}  // namespace

std::vector<Attempt> definite_attempts(const MatrixFacts& facts) {
    std::vector<Attempt> attempts = facts.on_gpu ? definite_on_gpu(facts) : definite_on_cpu(facts);
    if (prefers_exact_factors(facts)) {
        //   biharmonic, 32,400 rows  exact 90 ms  jacobi and multigrid do not converge
        //   beam of tetrahedra, 5,900 rows  exact 33 ms  multigrid without coordinates 80 ms
        const double products = is_plane_graph(facts)            ? 300
                                : is_small_without_blocks(facts) ? 100
                                                                 : 50;
        attempts.insert(attempts.begin(),
                        exact_factors(flops_of_products(facts, products), few_operations));
        if (facts.rows >= 1'500 && (facts.rows_per_node == 1 || is_small_without_blocks(facts))) {
            const Offset trial = facts.entries_per_row() <= 5.5 ? 10 : 40;
            // Factors of trees take as long as 100 iterations.
            const Offset limit = facts.entries_per_row() <= 3.2 ? 40 : 100;
            attempts.insert(attempts.begin(),
                            {"cg", "jacobi", "csr", limit, "a short trial", 0, trial});
        }
    } else if (!fills_up(facts) && facts.rows < 100'000 &&
               (facts.on_gpu
                    ? attempts.front().preconditioner == "amg"
                    : facts.rows_per_node == 1 && attempts.front().preconditioner == "jacobi")) {
        //   curl curl and a mass, 21,600 rows    exact 150 ms  multigrid, which fails, 700
        //   cantilever2d:8,length=100, on a GPU  exact  16     a polynomial, which fails, 60
        attempts.insert(attempts.begin() + 1,
                        exact_factors(flops_of_products(facts, 500), few_operations));
    }
    attempts.push_back(exact_factors(max_flops_of_any, "no other method converged"));
    return attempts;
}

}  // namespace tessera
