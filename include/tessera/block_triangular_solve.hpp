#pragma once

#include <memory>

#include "tessera/operator.hpp"

namespace tessera {

struct BlockTriangularOptions {
    bool upper = false;  ///< The matrix is block upper triangular, else block lower triangular.
    /// The main diagonal is 1 whatever its entries, which must be finite; those of a diagonal block
    /// beside it are read.
    bool unit_diagonal = false;
};

/// x = A^-1 b for a block triangular matrix A, or x = A^-T b: D is block diagonal and
///   A = (I + N) D  (lower),  A = D (I + N)  (upper),  N strictly block triangular.
/// Diagonal blocks are general: dense, triangular, or diagonal. D^-1 and N are stored in blocks of
/// 1, 4, 8, 16 or 32 rows, smaller ones padded. Block rows without dependencies on each other form
/// a level; on a GPU one kernel solves all levels of blocks of 5 rows and more, and smaller blocks
/// are solved level by level.
///
/// As D is inverted, the residual |b - A x| is a small multiple of eps |A| |D^-1| |D| |x| (lower,
/// and upper transposed) or of eps |D| |D^-1| |A| |x| (the others): for diagonal blocks of
/// condition number kappa about kappa times that of substitution.
///
/// Sources: E. Anderson, Y. Saad, "Solving sparse triangular linear systems on parallel computers",
/// Int. J. High Speed Comput. 1 (1989), pp. 73-95; W. Liu, A. Li, J. Hogg, I. Duff, B. Vinter, "A
/// synchronization-free algorithm for parallel sparse triangular solves", Euro-Par 2016,
/// pp. 617-630.
template <class T>
class TESSERA_API BlockTriangularSolve final : public Preconditioner<T> {
  public:
    /// Blocks of `block` rows, 1 to 32; the last one may be smaller. Waits. Throws InvalidArgument
    /// if the matrix is not square, has an entry on the wrong side of the diagonal blocks, no entry
    /// in one of them (unless unit_diagonal) or values that are not finite: the message has the
    /// row; OutOfMemory, before it allocates, if the blocks do not fit. Singular diagonal blocks
    /// are counted and in the report; then results are NaN.
    BlockTriangularSolve(const Context& context, const CsrView<T>& matrix, Index block,
                         const BlockTriangularOptions& options = {});
    /// Blocks of any sizes up to 32 rows.
    BlockTriangularSolve(const Context& context, const CsrView<T>& matrix,
                         const BlockPartition& blocks, const BlockTriangularOptions& options = {});
    ~BlockTriangularSolve() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    /// x = A^-1 b; x may be b.
    void apply(const Context& context, std::span<const T> b, std::span<T> x) const override;
    /// x = A^-T b; x may be b.
    void apply_transposed(const Context& context, std::span<const T> b, std::span<T> x) const;
    /// New values on the same pattern. Throws InvalidArgument, and changes nothing, if the pattern
    /// differs or values are not finite. Waits.
    void update(const Context& context, const CsrView<T>& matrix) override;
    /// Its name and options; no text of a preconditioner.
    std::string describe() const override;
    Index singular_blocks() const override;
    const BlockTriangularOptions& options() const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};
template <class T, class Blocks>
BlockTriangularSolve(const Context&, const CsrMatrix<T>&, const Blocks&,
                     const BlockTriangularOptions& = {}) -> BlockTriangularSolve<T>;

}  // namespace tessera
