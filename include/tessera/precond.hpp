#pragma once

#include <memory>

#include "tessera/batched.hpp"
#include "tessera/blocks.hpp"
#include "tessera/formats.hpp"
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

  private:
    PreconditionerReport make_report() const override;
    struct State;
    std::unique_ptr<State> state_;
};

/// A preconditioner and its options, read once from a text: none, jacobi, block_jacobi, block_ldlt
/// or a polynomial; preconditioner_help lists the options.
class TESSERA_API PreconditionerConfig {
  public:
    virtual ~PreconditionerConfig() = default;
    /// nullptr for none.
    virtual std::unique_ptr<Preconditioner<float>> make(const Context& context,
                                                        const CsrView<float>& matrix) const = 0;
    virtual std::unique_ptr<Preconditioner<double>> make(const Context& context,
                                                         const CsrView<double>& matrix) const = 0;
    /// An upper bound, or about, of the bytes that it takes; 0 where that depends on the pattern.
    virtual Offset bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const = 0;
    /// Products with the matrix take this format, unless the text named one.
    virtual void use_format(const FormatOptions& format) = 0;
};

/// Throws InvalidArgument for another name or option.
TESSERA_API std::unique_ptr<PreconditionerConfig> parse_preconditioner(Spec text);

/// The preconditioner named by a text, "block_jacobi:24"; nullptr for none. `matrix` is a CsrMatrix
/// or a CsrView.
template <class T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context, Spec text,
                                                       const CsrView<T>& matrix) {
    return parse_preconditioner(std::move(text))->make(context, matrix);
}
template <class T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context, Spec text,
                                                       const CsrMatrix<T>& matrix) {
    return make_preconditioner(context, std::move(text), matrix.view());
}

/// The names that parse_preconditioner knows, and a line of help or more for each.
TESSERA_API std::vector<std::string> preconditioner_names();
TESSERA_API std::string preconditioner_help();

}  // namespace tessera
