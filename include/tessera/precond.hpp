#pragma once

#include <memory>

#include "tessera/blocks.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

/// What happens to a block that Gauss-Jordan cannot invert.
enum class SingularPolicy : std::uint8_t {
    stop,      ///< Stored as NaN and counted; a solver must not start.
    identity,  ///< Replaced by the identity.
    shift,     ///< B + 2^k sqrt(eps) ||B||_inf I with the smallest k >= 0 that inverts.
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
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    Index singular_blocks() const override;
    /// The first ten singular blocks.
    std::vector<SingularBlock> first_singular() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// Block Jacobi: z_b = B_b^-1 r_b for the diagonal blocks B_b of a partition, inverses stored
/// explicitly, packed, column-major, unpadded: block b takes size^2 values, one after the other.
template <class T>
class TESSERA_API BlockJacobi final : public Preconditioner<T> {
  public:
    /// Extracts, inverts and stores the blocks of `matrix`; waits for the verdict on singular ones.
    BlockJacobi(const Context& context, const CsrView<T>& matrix, BlockPartition blocks,
                SingularPolicy policy = SingularPolicy::stop);
    ~BlockJacobi() override;
    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override;
    Index singular_blocks() const override;
    std::vector<SingularBlock> first_singular() const;

    const BlockPartition& blocks() const;
    /// The packed inverses (sum of size^2 values), where each starts (count + 1 offsets), and per
    /// block 0 or what SingularBlock::info says.
    std::span<const T> inverses() const;
    std::span<const Offset> inverse_offsets() const;
    std::span<const Index> info() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The preconditioner named by a text: none (returns nullptr), jacobi[:singular=...],
/// block_jacobi:BOUND[,blocks=supervariable|natural|uniform:K|FILE][,singular=stop|identity|shift].
/// Throws InvalidArgument for another name or option.
template <class T>
TESSERA_API std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context,
                                                                   Spec preconditioner,
                                                                   const CsrView<T>& matrix);

/// The names that make_preconditioner knows.
TESSERA_API std::vector<std::string> preconditioner_names();

}  // namespace tessera
