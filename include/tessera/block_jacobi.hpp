#pragma once

#include <array>
#include <memory>

#include "tessera/operator.hpp"

namespace tessera {

/// Treatment of a block that Gauss-Jordan elimination cannot invert.
enum class SingularPolicy : std::uint8_t {
    stop,      ///< Stored as NaN and counted; the preconditioner must not be used.
    identity,  ///< Replaced by the identity.
    /// The inverse X of B + 2^k sqrt(eps) ||B||_inf I with the smallest k >= 0 for which ||X||_inf
    /// is at most n eps^(-3/4) / ||B||_inf, for B of n rows; a zero block counts as norm 1.
    shift,
    /// Generalised inverse: that of the rows and columns that complete pivoting finds usable
    /// (pivots above n eps max |b_ij|), zero elsewhere; for symmetric B rows and columns are the
    /// same.
    generalised,
};
TESSERA_API const char* to_string(SingularPolicy policy);

/// Format of the values of a stored inverse, each rounded to nearest; working and adaptive are
/// options only.
enum class BlockPrecision : std::uint8_t {
    f64,
    f32,
    bf16,
    f16,       ///< A block whose inverse is outside the range of f16 is stored in bf16.
    working,   ///< The type of the matrix.
    adaptive,  ///< For each block the first of f16, bf16, f32, f64 that is accurate enough.
};
TESSERA_API const char* to_string(BlockPrecision precision);

struct BlockJacobiOptions {
    SingularPolicy singular = SingularPolicy::stop;
    BlockPrecision precision = BlockPrecision::working;
    /// Adaptive: unit roundoff times condition number stays below this.
    double accuracy = 0.1;
};

/// Results of a block Jacobi setup; `values` also lists the ten largest condition numbers.
struct BlockJacobiReport : PreconditionerReport {
    /// Number of blocks stored as f64, f32, bf16, f16.
    std::array<Index, 4> formats{};
    /// conditions[d]: number of blocks with 10^d <= ||B|| ||B^-1|| < 10^(d+1) in the infinity norm
    /// (the last: all above 10^19), without the blocks that are singular as given.
    std::array<Index, 20> conditions{};
    Offset stored_bytes = 0;   ///< Bytes of the inverses as stored.
    Offset working_bytes = 0;  ///< Bytes of the inverses in the type of the matrix.
    Index near_singular = 0;   ///< Nonsingular blocks with a condition number above 1 / (10 n eps).
    Index rebuilds = 0;        ///< Updates that chose the formats anew.
};

/// Block Jacobi: z_b = B_b^-1 r_b for the diagonal blocks B_b of a partition, inverses stored
/// explicitly, packed, column-major, unpadded. Where B_b is exactly symmetric, so is its inverse:
/// (X + X^T) / 2.
template <class T>
class TESSERA_API BlockJacobi final : public Preconditioner<T> {
  public:
    /// Extracts, inverts and stores the blocks of `matrix`, of at most 64 rows; blocks until the
    /// singular ones are known. Throws InvalidArgument on precision f64 for a matrix in float.
    BlockJacobi(const Context& context, const CsrView<T>& matrix, BlockPartition blocks,
                const BlockJacobiOptions& options = {});
    ~BlockJacobi() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    /// Reads the inverses once for several vectors.
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    /// z_b = B_b^-T r_b; no overlap.
    void apply_transposed(const Context& context, std::span<const T> r, std::span<T> z) const;
    /// Inverts new values. With BlockPrecision::adaptive or f16 each block keeps its format; if one
    /// is no longer accurate enough (adaptive, by its new condition number) or out of range, all
    /// formats are chosen anew, which allocates.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    Index singular_blocks() const override;
    /// Blocks until the work is complete, and copies a few numbers per block to the host.
    BlockJacobiReport report() const;

    const BlockPartition& blocks() const;
    const BlockJacobiOptions& options() const;
    /// The inverses as they are stored, packed (sum of size^2 values), in the memory of `context`.
    Buffer<T> copy_inverses(const Context& context) const;
    /// Properties of the blocks, in the memory of the Context of the setup.
    struct Details {
        std::span<const Offset> offsets;           ///< Start of each in copy_inverses; count + 1.
        std::span<const Index> info;               ///< 0, or SingularBlock::info.
        std::span<const T> reciprocal_conditions;  ///< 1 / (||B|| ||B^-1||), 0 where singular.
        std::span<const BlockPrecision> formats;   ///< Empty if all have the same.
    };
    Details details() const;

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};
template <class T>
BlockJacobi(const Context&, const CsrMatrix<T>&, BlockPartition, const BlockJacobiOptions& = {})
    -> BlockJacobi<T>;

}  // namespace tessera
