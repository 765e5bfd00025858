#pragma once

#include <memory>
#include <optional>

#include "tessera/detail/ordering.hpp"
#include "tessera/factor.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// What the preconditioner applies in the end, and how a factor is computed.
enum class BlockLdltStage : std::uint8_t {
    jacobi,        ///< Sweeps of a fixed-point iteration over all blocks at once.
    level,         ///< Level by level: exact on the pattern.
    block_jacobi,  ///< The diagonal blocks alone.
    none
};
TESSERA_API const char* to_string(BlockLdltStage stage);

/// What epsilon is multiplied by to give the smallest pivot that stays: max |a_ij| of the scaled
/// matrix, its 1-norm (the paper's unit; large where a row is dense), or max |a_ij| of the diagonal
/// block of the matrix.
enum class EpsilonUnit : std::uint8_t { max, norm1, block };

struct BlockLdltOptions {
    Index block = 8;  ///< k, the rows of a block: 1, 4, 8, 16 or 32.
    int fill = 0;     ///< Blocks up to this fill level are stored, 0..1000.
    BlockLdltStage method = BlockLdltStage::jacobi;  ///< jacobi or level.
    int sweeps = 8;                                  ///< Of the jacobi method, 1..1000.
    /// Pivots stay above epsilon times the unit; below 0: 0.1 for jacobi and the square root of the
    /// unit roundoff for level.
    double epsilon = -1;
    double delta = 0.95;  ///< After each sweep epsilon is multiplied by this, 0..1.
    EpsilonUnit epsilon_unit = EpsilonUnit::max;
    /// Of the diagonal blocks: fixed, bunch_kaufman, rook or full.
    batched::Pivoting pivoting = batched::Pivoting::full;
    bool matching = true;  ///< Scale by a maximum product matching, and keep its pairs in blocks.
    /// None: rcm with fill 0 and amd with more, which then stores far fewer blocks.
    std::optional<OrderingMethod> ordering;
    /// Outer pivoting: after the first sweep, or the level factor, block rows with a pivot below
    /// outer_threshold times the largest entry (with norm1 the 1-norm) are ordered after the others
    /// and all is done again, three times at most, and never with more than 60 % of them.
    bool outer = false;
    double outer_threshold = 0.01;
    bool safeguard = true;  ///< Undo bad sweeps, replace factors worse than none; see BlockLdlt.
    /// Sweeps of Jacobi iterations in place of each triangular solve; 0: the exact solves.
    int solve_sweeps = 0;
    /// D becomes |D|, which makes the preconditioner positive definite, as MINRES requires.
    bool absolute = false;
};

/// What a setup found and did.
struct BlockLdltReport {
    Index block_rows = 0;
    Index padding = 0;  ///< Empty slots of the grid of blocks.
    Index pairs = 0;    ///< Matched pairs of rows, kept in one block each.
    OrderingMethod ordering = OrderingMethod::natural;  ///< The one that was taken.
    Index structural_rank = 0;                          ///< With matching, else 0.
    Index levels = 0;
    Offset stored_blocks = 0;     ///< Of the lower triangle with its diagonal.
    double stored_share = 0;      ///< Their values over the rows^2 of a dense matrix.
    Offset triples = 0;           ///< Block products of a factorisation off the diagonal.
    Index pushed = 0;             ///< Block rows moved by outer pivoting, each time counted.
    Offset bytes = 0;             ///< In the memory of the Context.
    double symbolic_seconds = 0;  ///< For matching, ordering, and lists.

    BlockLdltStage stage = BlockLdltStage::none;
    int sweeps = 0;             ///< Run by the last start of the jacobi method.
    int best_sweep = 0;         ///< The one that was kept, from 1.
    int restarts = 0;           ///< With epsilon raised.
    double epsilon = 0;         ///< Of the factor that is applied; in its last sweep.
    Index perturbed = 0;        ///< Pivots that were too small, of the last factorisation.
    double smallest_pivot = 0;  ///< In magnitude, before that.
    /// ||(M - A) w|| / ||A w|| for the scaled matrix and random w (two vectors), after each sweep
    /// or of the level factor.
    std::vector<double> reconstruction;
    /// Relative residual of at most 25 steps of GMRES with each stage that was tried; negative
    /// where it was not.
    double probe[4] = {-1, -1, -1, -1};
    Offset probe_products = 0;  ///< Products with the matrix that the probes took.
    std::string outcome;        ///< One sentence for people.
};

/// A factor in host memory, for studies: P S A S P^T ~ (I + V) F (I + V)^T in k x k blocks,
/// column-major, one after the other.
template <class T>
struct BlockLdltFactor {
    std::vector<Index> row_of_slot;    ///< P; -1: padding, a unit row.
    std::vector<T> scaling;            ///< S, by rows of A.
    std::vector<Index> rows, columns;  ///< Block row and block column of the blocks of V.
    std::vector<T> v, f;               ///< The blocks of V, and the diagonal blocks of F.
};

/// Block incomplete LDL^T of a symmetric, possibly indefinite matrix:
///   z = S P^T (I + V)^-T F^-1 (I + V)^-1 P S r,  P S A S P^T ~ (I + V) F (I + V)^T,
/// S and P from match_symmetric and order_blocks, k x k blocks; V strictly lower triangular on the
/// pattern of the blocks of A with fill by levels, F block diagonal:
///   W_ij = A_ij - sum_{l<j} V_il W_jl^T,  V_ij = W_ij F_j^-1,
///   F_i = A_ii - sum_l V_il W_il^T, factored by batched::ldlt with pivoting, small pivots raised.
/// Symmetric: for gmres, sqmr, and with `absolute` for minres. The jacobi method takes everything
/// on the right from the sweep before; as many sweeps as there are levels give the level factor.
///
/// The safeguard estimates the reconstruction error after each sweep, keeps the best, stops where
/// it grows twofold, and starts again with three times the epsilon where it stays above 0.5, twice
/// at most. What then does not reduce a residual a thousandfold within 25 steps of GMRES gives way
/// to the next of jacobi, level, block Jacobi and none; the best that was tried is taken. With
/// `absolute` the probes are of the factor with its own signs, where half the steps tell as much.
///
/// Source: D. Thuerck, "Two-level pivoting for block incomplete LDL^T factorisations on GPUs", with
/// its permutations left out: pivoting stays within the factors of F, in the original coordinates.
template <class T>
class TESSERA_API BlockLdlt final : public Preconditioner<T> {
  public:
    /// `matrix` must be symmetric (check_symmetry) with both triangles stored. It is copied to the
    /// host, where matching, ordering and the lists of blocks are made. Waits. Throws
    /// InvalidArgument for a matrix that is not symmetric, and for options out of range;
    /// OutOfMemory before it allocates what is not there.
    BlockLdlt(const Context& context, const CsrView<T>& matrix,
              const BlockLdltOptions& options = {});
    ~BlockLdlt() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    /// New values on the same pattern, with the scaling, the order and the stage of the setup: no
    /// probes. Throws InvalidArgument, and changes nothing, where the pattern is another or the
    /// matrix is not symmetric.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    const BlockLdltOptions& options() const;
    const BlockLdltReport& report() const;
    /// The factor that is applied; empty in stage none. Waits.
    BlockLdltFactor<T> factor(const Context& context) const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};

/// Options from a text: block_ldlt[:8][,fill=0][,method=jacobi|level][,sweeps=8][,epsilon=0.1]
/// [,delta=0.95][,epsilon_unit=max|norm1|block][,pivoting=static|bunch_kaufman|rook|complete]
/// [,matching=on|off][,ordering=auto|amd|rcm|natural][,outer=on|off][,outer_threshold=0.01]
/// [,safeguard=on|off][,solve_sweeps=0][,absolute]. Throws InvalidArgument for another one.
TESSERA_API BlockLdltOptions parse_block_ldlt(Spec spec);

}  // namespace tessera
