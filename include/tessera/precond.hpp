#pragma once

#include <array>
#include <memory>

#include "tessera/batched.hpp"
#include "tessera/blocks.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// What happens to a block that Gauss-Jordan cannot invert.
enum class SingularPolicy : std::uint8_t {
    stop,      ///< Stored as NaN and counted; a solver must not start.
    identity,  ///< Replaced by the identity.
    shift,     ///< B + 2^k sqrt(eps) ||B||_inf I with the smallest k >= 0 that inverts.
    /// The inverse of the rows and columns that complete pivoting finds usable (pivots above
    /// n eps max |b_ij|), zero in the others; the same rows and columns where B is symmetric.
    generalised,
};
TESSERA_API const char* to_string(SingularPolicy policy);

/// How the values of a stored inverse are written, each rounded to nearest.
enum class BlockFormat : std::uint8_t {
    f64,
    f32,
    truncated_f64,  ///< The upper 32 bits of an f64: its range, 20 bits of fraction.
    bf16,
    f16,
};
TESSERA_API const char* to_string(BlockFormat format);

/// What the inverses are kept in.
enum class BlockPrecision : std::uint8_t {
    working,   ///< The type of the matrix.
    adaptive,  ///< Block by block the first of f16, bf16, f32, truncated_f64, f64 that does.
    f64,
    f32,
    bf16,
    f16,
};
TESSERA_API const char* to_string(BlockPrecision precision);

/// How a GPU takes the diagonal blocks out of the matrix; the results are the same. The CPU has one
/// way of its own.
enum class BlockExtraction : std::uint8_t {
    automatic,        ///< shared_multiple or separate, whichever was measured to be faster.
    cached,           ///< A thread walks a row by itself.
    shared_full,      ///< A warp sweeps the rows of a block, which lies in shared memory.
    shared,           ///< A warp sweeps the rows of a block through one shared row.
    shared_multiple,  ///< A warp takes many rows of several blocks at once.
    separate,         ///< Extraction, batched inversion and storing, one after the other.
};
TESSERA_API const char* to_string(BlockExtraction extraction);

struct BlockJacobiOptions {
    SingularPolicy singular = SingularPolicy::stop;
    BlockPrecision precision = BlockPrecision::working;
    /// Adaptive: unit roundoff times condition number stays below this.
    double accuracy = 0.1;
    BlockExtraction extraction = BlockExtraction::automatic;
};

/// One block that was singular as given.
struct SingularBlock {
    Index block = 0;
    Index first_row = 0;
    Index rows = 0;
    /// The first pivot (1-based) that is zero or not finite, or has such a reciprocal; `rows` where
    /// all pivots are usable, but an entry of the inverse overflows.
    Index info = 0;
    int shift = -1;  ///< With SingularPolicy::shift the k that was used, else -1.
};

/// Scalar Jacobi: z_i = r_i / a_ii. A zero, missing or non-finite diagonal entry counts as a
/// singular block of one row.
template <class T>
class TESSERA_API Jacobi final : public Preconditioner<T> {
  public:
    Jacobi(const Context& context, const CsrView<T>& matrix,
           SingularPolicy policy = SingularPolicy::stop);
    ~Jacobi() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_dot(const Context& context, std::span<const T> r, std::span<T> z,
                   T* rz) const override;
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    Index singular_blocks() const override;
    /// The first ten singular blocks.
    std::vector<SingularBlock> first_singular() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// What a setup of block Jacobi found.
struct BlockJacobiReport {
    /// Blocks kept in each BlockFormat.
    std::array<Index, 5> formats{};
    /// conditions[d]: blocks with 10^d <= ||B|| ||B^-1|| < 10^(d+1) in the infinity norm, beyond
    /// 10^19 in the last; those that are singular as given are left out.
    std::array<Index, 20> conditions{};
    struct Block {
        Index block = 0;
        Index first_row = 0;
        Index rows = 0;
        double condition = 0;  ///< Infinity where singular.
        BlockFormat format = BlockFormat::f64;
    };
    std::vector<Block> worst;  ///< The ten largest condition numbers, in descending order.
    Offset stored_bytes = 0;   ///< Of the inverses as they are kept.
    Offset working_bytes = 0;  ///< Of the inverses in the type of the matrix.
    Index singular = 0;
    Index near_singular = 0;  ///< Condition number above 1 / (10 n eps), but not singular.
    Index rebuilds = 0;       ///< Updates whose values did not fit the formats that were kept.
    bool overflow = false;    ///< A finite value is infinite in the format asked for.
    /// The first row of the matrix with NaN or infinity in its diagonal block; -1: none.
    Index first_non_finite_row = -1;
};

/// Block Jacobi: z_b = B_b^-1 r_b for the diagonal blocks B_b of a partition, inverses stored
/// explicitly, packed, column-major, unpadded. Where B_b is exactly symmetric, so is its inverse:
/// (X + X^T) / 2.
template <class T>
class TESSERA_API BlockJacobi final : public Preconditioner<T> {
  public:
    /// Extracts, inverts and stores the blocks of `matrix`, of at most 64 rows; waits for the
    /// verdict on singular ones. Throws InvalidArgument on options that cannot be: precision f64
    /// for float, one of the papers' extractions for blocks of more than 32 rows.
    BlockJacobi(const Context& context, const CsrView<T>& matrix, BlockPartition blocks,
                const BlockJacobiOptions& options = {});
    ~BlockJacobi() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    /// z_b = X_b r_b, or X_b^T r_b, for each of `vectors` columns of r and z with leading
    /// dimensions of at least rows(); no overlap. The inverses are read once for several vectors; a
    /// vector's result does not depend on the others, to the last bit.
    void apply(const Context& context, batched::Transpose transpose, Index vectors,
               std::span<const T> r, Offset r_leading, std::span<T> z, Offset z_leading) const;
    /// With BlockPrecision::adaptive formats are kept; where a block no longer fits its own (by its
    /// new condition number or range), all are chosen anew, which allocates and is reported.
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    Index singular_blocks() const override;
    std::vector<SingularBlock> first_singular() const;
    /// Waits, and copies a few numbers a block to the host.
    BlockJacobiReport report() const;

    const BlockPartition& blocks() const;
    const BlockJacobiOptions& options() const;
    /// The inverses as they are kept, packed (sum of size^2 values), in the memory of `context`.
    Buffer<T> copy_inverses(const Context& context) const;
    /// The preconditioner as a sparse matrix: each value of an inverse an entry. Waits.
    CsrMatrix<T> to_csr(const Context& context) const;
    /// Where each starts there (count + 1 offsets), per block 0 or what SingularBlock::info says,
    /// and 1 / (||B|| ||B^-1||) in the infinity norm, 0 for singular blocks.
    std::span<const Offset> inverse_offsets() const;
    std::span<const Index> info() const;
    std::span<const T> reciprocal_conditions() const;
    /// The format of each block; empty where all have the same.
    std::span<const BlockFormat> formats() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The preconditioner named by a text: none (returns nullptr), jacobi[:singular=...],
/// block_jacobi[:BOUND][,blocks=supervariable|natural|uniform:K|FILE]
/// [,precision=working|adaptive|f64|f32|bf16|f16][,accuracy=0.1]
/// [,singular=stop|identity|shift|generalised], block_ldlt (see parse_block_ldlt), and polynomials
/// (see parse_polynomial): neumann, least_squares, chebyshev, chebyshev4, chebyshev4_optimal.
/// Throws InvalidArgument for another name or option.
template <class T>
TESSERA_API std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context,
                                                                   Spec preconditioner,
                                                                   const CsrView<T>& matrix);

/// The names that make_preconditioner knows.
TESSERA_API std::vector<std::string> preconditioner_names();

}  // namespace tessera
