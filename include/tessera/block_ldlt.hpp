#pragma once

#include <limits>
#include <memory>
#include <optional>

#include "tessera/detail/ordering.hpp"
#include "tessera/factor.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// The factor that the preconditioner applies, and how it is computed.
enum class BlockLdltStage : std::uint8_t {
    jacobi,        ///< Sweeps of a fixed-point iteration over all blocks at once.
    level,         ///< Exact factorisation on the pattern, level by level.
    block_jacobi,  ///< The diagonal blocks alone.
    none           ///< The identity.
};
TESSERA_API const char* to_string(BlockLdltStage stage);

struct BlockLdltOptions {
    Index block = 8;  ///< k, the rows of a block: 1, 4, 8, 16 or 32.
    int fill = 0;     ///< Blocks up to this fill level are stored, 0..1000.
    BlockLdltStage method = BlockLdltStage::jacobi;  ///< jacobi or level.
    int sweeps = 8;                                  ///< Sweeps of the jacobi method, 1..1000.
    /// Static pivoting: smaller pivots are raised to epsilon times the largest entry of the scaled
    /// matrix. Negative: 0.1 for jacobi and the square root of the unit roundoff for level.
    double epsilon = -1;
    double delta = 0.95;  ///< After each sweep epsilon is multiplied by this, 0..1.
    /// Pivoting within the diagonal blocks: fixed, bunch_kaufman, rook or full.
    batched::Pivoting pivoting = batched::Pivoting::full;
    bool matching = true;  ///< Scale by a maximum product matching, and keep its pairs in blocks.
    /// Not set: rcm without fill; amd with fill, as it then stores far fewer blocks.
    std::optional<OrderingMethod> ordering;
    /// Outer pivoting: after the first sweep, or the level factorisation, block rows with a pivot
    /// below outer_threshold times the largest entry are ordered after the others, and setup starts
    /// again; at most three times, never for over 60 % of the rows.
    bool outer = false;
    double outer_threshold = 0.01;
    bool safeguard = true;  ///< Test the factor and fall back to another one; see BlockLdlt.
    /// Jacobi iterations instead of each triangular solve; 0: exact solves.
    int solve_sweeps = 0;
    /// A factor with more than so many values for each entry of A, or whose factorisation takes
    /// more than 100 times as many operations, is refused (OutOfMemory); infinite: only where
    /// memory does not suffice.
    double max_growth = std::numeric_limits<double>::infinity();
    /// Replace each D_i of F_i = L_i D_i L_i^T by |D_i|, as MINRES requires.
    bool positive_definite = false;
};

/// Results of a setup.
struct BlockLdltReport {
    Index block_rows = 0;
    Index padding = 0;  ///< Unit rows added to fill up blocks.
    Index pairs = 0;    ///< Matched pairs of rows, each within a block.
    OrderingMethod ordering = OrderingMethod::natural;  ///< The ordering used.
    Index structural_rank = 0;                          ///< 0 without matching.
    Index levels = 0;
    Offset stored_blocks = 0;     ///< Blocks in the lower triangle and on the diagonal.
    double stored_share = 0;      ///< Values in these blocks over those of a dense matrix.
    Offset updates = 0;           ///< Off-diagonal block products of one factorisation.
    Index delayed = 0;            ///< Block rows moved by outer pivoting, in all rounds.
    Offset bytes = 0;             ///< Bytes allocated in the memory of the Context.
    double symbolic_seconds = 0;  ///< Time of matching, ordering, symbolic factorisation.

    BlockLdltStage stage = BlockLdltStage::none;
    int sweeps = 0;             ///< Sweeps since the last restart of the jacobi method.
    int best_sweep = 0;         ///< Number of the sweep that is applied, from 1.
    int restarts = 0;           ///< Restarts with a larger epsilon.
    double epsilon = 0;         ///< Epsilon of the last sweep or the level factorisation.
    Index perturbed = 0;        ///< Pivots raised in the last factorisation.
    double smallest_pivot = 0;  ///< Smallest magnitude before pivots were raised.
    /// ||(M - A) w|| / ||A w||, A scaled, M the product of its factors, two random vectors w: one
    /// value per sweep, or that of the level factor.
    std::vector<double> reconstruction;
    /// Relative residual after at most 25 steps of GMRES with each stage; negative: not run.
    double probe[4] = {-1, -1, -1, -1};
    Offset probe_products = 0;  ///< Products with the matrix in the probes.
    std::string outcome;        ///< One sentence for a report.
};

/// The factor in host memory: P S A S P^T ~ (I + V) F (I + V)^T in k x k blocks, column-major, one
/// after the other.
template <class T>
struct BlockLdltFactor {
    std::vector<Index> row_of_slot;    ///< P: the row of each slot; -1: padding, a unit row.
    std::vector<T> scaling;            ///< S, one value per row of A.
    std::vector<Index> rows, columns;  ///< Block row and block column of the blocks of V.
    std::vector<T> v, f;               ///< The blocks of V, and the diagonal blocks of F.
};

/// Block incomplete LDL^T of a symmetric, possibly indefinite matrix:
///   z = S P^T (I + V)^-T F^-1 (I + V)^-1 P S r,  P S A S P^T ~ (I + V) F (I + V)^T,
/// S and P from match_symmetric and order_blocks, k x k blocks; V strictly lower triangular on the
/// pattern of the blocks of A with fill by levels, F block diagonal:
///   W_ij = A_ij - sum_{l<j} V_il W_jl^T,  V_ij = W_ij F_j^-1,
///   F_i = A_ii - sum_l V_il W_il^T, factored by batched::ldlt with pivoting, small pivots raised.
/// The preconditioner is symmetric: for gmres, sqmr, and with `positive_definite` for minres. The
/// jacobi method evaluates all right-hand sides with the previous sweep; as many sweeps as there
/// are levels give the level factor.
///
/// The safeguard estimates the reconstruction error after each sweep and applies the best sweep. It
/// stops the sweeps if the error doubles, and restarts them with three times the epsilon, at most
/// twice, if it stays above 0.5. If 25 steps of GMRES with a stage do not reduce a residual by
/// 1000, the next of jacobi, level, block Jacobi and none is tried, and the best one is used. These
/// probes use D, not |D|.
///
/// Source: D. Thuerck, "Two-level pivoting for block incomplete LDL^T factorisations on GPUs", with
/// its permutations left out: pivoting stays within the factors of F, in the original coordinates.
template <class T>
class TESSERA_API BlockLdlt final : public Preconditioner<T> {
  public:
    /// `matrix` must be symmetric (check_symmetry) with both triangles stored; one of them is
    /// factored. It is copied to the host, for matching, ordering and symbolic factorisation.
    /// Blocks until the work is complete. Throws InvalidArgument if the matrix is not symmetric or
    /// options are out of range; OutOfMemory, before it allocates, if the factor does not fit.
    BlockLdlt(const Context& context, const CsrView<T>& matrix,
              const BlockLdltOptions& options = {});
    ~BlockLdlt() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    /// Factors new values on the same pattern, with the scaling, ordering and stage of the setup,
    /// no probes. Throws InvalidArgument, and changes nothing, if the pattern differs or the matrix
    /// is not symmetric.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    const BlockLdltOptions& options() const;
    const BlockLdltReport& report() const;
    /// A copy of the factor that is applied; empty in stage none. Waits.
    BlockLdltFactor<T> factor(const Context& context) const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};
template <class T>
BlockLdlt(const Context&, const CsrMatrix<T>&, const BlockLdltOptions& = {}) -> BlockLdlt<T>;

/// Options from a text: block_ldlt[:8][,fill=0][,method=jacobi|level][,sweeps=8][,epsilon=0.1]
/// [,delta=0.95][,pivoting=static|bunch_kaufman|rook|complete]
/// [,matching=on|off][,ordering=auto|amd|rcm|natural][,outer=on|off][,outer_threshold=0.01]
/// [,safeguard=on|off][,solve_sweeps=0][,positive_definite]. Throws InvalidArgument on others.
TESSERA_API BlockLdltOptions parse_block_ldlt(Spec spec);

}  // namespace tessera
