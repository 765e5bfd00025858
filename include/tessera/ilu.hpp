#pragma once

#include "tessera/block_ldlt.hpp"

namespace tessera {

/// As of block LDL^T.
using IluStage = BlockLdltStage;
using IluReport = BlockLdltReport;

struct IluOptions {
    /// Rows of a block, 1 to 32, stored as the next of 1, 4, 8, 16 and 32. 0: those of the natural
    /// blocks (consecutive rows of equal pattern) if all have the same, at most 8, or the largest
    /// multiple of it up to 4, on a GPU up to 8; with matching 8; with `drop` 1.
    Index block = 0;
    int fill = 0;                       ///< Blocks up to this fill level are stored, 0..1000.
    IluStage method = IluStage::level;  ///< level or jacobi.
    int sweeps = 8;                     ///< Sweeps of the jacobi method, 1..1000.
    /// Smaller pivots are raised to epsilon times the largest entry of the scaled matrix. Negative:
    /// as in BlockLdltOptions.
    double epsilon = -1;
    double delta = 0.95;  ///< After each sweep epsilon is multiplied by this, 0..1.
    /// Pivoting within the diagonal blocks: fixed, partial or full.
    batched::Pivoting pivoting = batched::Pivoting::full;
    /// Permute large entries to the diagonal, and scale by a maximum product matching. Not set:
    /// where some |a_ii| is below 1e-3 of the largest entries of its row and column, or zero, and
    /// where some |a_ij| is above 1000 sqrt|a_ii a_jj|.
    std::optional<bool> matching;
    /// Not set: amd with fill; without fill rcm for a matched matrix, else natural.
    std::optional<OrderingMethod> ordering;
    /// Not 0: entries are dropped by value instead (method level, blocks of one row, on the host):
    /// those of a row up to `drop` times the mean magnitude of its entries in the scaled matrix,
    /// and all but the max(10, max_entries / 2 times as many as in that row of A) largest of it in
    /// each triangle. 0..1.
    double drop = 0;
    double max_entries = 40;  ///< Above 0, at most 1e6.
    /// Pivoting between block rows, as in BlockLdltOptions; not with `drop`.
    bool outer = false;
    double outer_threshold = 0.01;
    /// Test the factor and fall back to another one, as BlockLdlt does. Not set: with method
    /// jacobi. Without it the factor only has to give finite numbers.
    std::optional<bool> safeguard;
    /// Jacobi iterations instead of each triangular solve; 0: exact solves.
    int solve_sweeps = 0;
    /// Compute and store the factor in FP32, if its numbers are within that range: half of the
    /// memory, applications in about half of the time.
    bool single_precision = false;
    double max_growth = std::numeric_limits<double>::infinity();  ///< As in BlockLdltOptions.
    /// Refuse factors of more levels, which a triangular solve passes one after another; 0: none.
    Index max_levels = 0;
};

/// The factor in host memory: P R A C Q ~ (I + L) F (I + U) in k x k blocks, column-major, one
/// after the other.
template <class T>
struct IluFactor {
    std::vector<Index> row_of_slot;     ///< P: the row in each slot; -1: padding, a unit row.
    std::vector<Index> column_of_slot;  ///< Q, likewise.
    std::vector<T> row_scaling, column_scaling;  ///< R and C.
    std::vector<Index> rows, columns;  ///< Block row and column of the blocks of L and of U^T.
    std::vector<T> l, u_transposed, f;
};

/// Block incomplete LDU of a square matrix:
///   z = C Q (I + U)^-1 F^-1 (I + L)^-1 P R r,  P R A C Q ~ (I + L) F (I + U),
/// R, C and the permutation of the rows from match_columns where the diagonal needs it, the order
/// from order_blocks, k x k blocks; I + L and I + U unit triangular on the pattern of the blocks of
/// A and A^T with fill by levels, F block diagonal:
///   L_ij F_j = A_ij - sum_{l<j} L_il F_l U_lj,  F_j U_ji = A_ji - sum_{l<j} L_jl F_l U_li,
///   F_i = A_ii - sum_{l<i} L_il F_l U_li, factored by batched::ldu with full pivoting, small
/// pivots raised. It is the general case of BlockLdlt, whose sweeps, safeguard and solves it
/// shares.
///
/// Sources: as of BlockLdlt; Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd edition,
/// chapter 10; Y. Saad, "ILUT: a dual threshold incomplete LU factorization", Numer. Linear Algebra
/// Appl. 1 (1994), pp. 387-402.
template <class T>
class TESSERA_API Ilu final : public Preconditioner<T> {
  public:
    /// On a GPU the host orders blocks that do not keep their order, and adds fill; the matrix is
    /// copied to it for a matching and with `drop` only. Blocks until the work is
    /// complete. Throws InvalidArgument if the matrix is not square, its values are not finite, or
    /// options are out of range; OutOfMemory, before it allocates, if the factor does not fit.
    Ilu(const Context& context, const CsrView<T>& matrix, const IluOptions& options = {});
    ~Ilu() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    /// z = M^-T r.
    void apply_transposed(const Context& context, std::span<const T> r, std::span<T> z) const;
    /// Factors new values on the same pattern, with the permutations, scalings and stage of the
    /// setup, no probes; with `drop` all is set up anew. Throws InvalidArgument, and changes
    /// nothing, if the pattern differs (with `drop`: the size) or values are not finite.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    const IluOptions& options() const;
    const IluReport& report() const;
    /// A copy of the factor that is applied; empty in stage none. Waits.
    IluFactor<T> factor(const Context& context) const;

  private:
    PreconditionerReport make_report() const override;
    bool set_up_single(const Context& context, const CsrView<T>& matrix, const IluOptions& options);
    struct State;
    std::unique_ptr<State> state_;
};
template <class T>
Ilu(const Context&, const CsrMatrix<T>&, const IluOptions& = {}) -> Ilu<T>;

/// Options from a text: ilu[:K][,fill=0][,method=level|jacobi][,sweeps=8][,epsilon=E][,delta=0.95]
/// [,pivoting=complete|partial|static][,matching=auto|on|off][,ordering=auto|amd|rcm|natural]
/// [,outer=on|off][,outer_threshold=0.01][,drop=0][,max=40][,safeguard=auto|on|off]
/// [,solve_sweeps=0][,precision=working|f32][,max_levels=0]. Throws InvalidArgument on others.
TESSERA_API IluOptions parse_ilu(Spec spec);

}  // namespace tessera
