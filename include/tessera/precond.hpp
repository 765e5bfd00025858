#pragma once

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

/// The preconditioner named by a text: none (returns nullptr), jacobi[:singular=...],
/// block_jacobi[:BOUND][,blocks=supervariable|natural|similar|uniform:K|FILE]
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
