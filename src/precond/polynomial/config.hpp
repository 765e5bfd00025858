#pragma once

#include "precond/polynomial/polynomial.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Throws InvalidArgument for numbers out of range.
void check_options(const PolynomialOptions& options);

/// Polynomials as registered, one name per kind.
struct PolynomialConfig {
    static constexpr const char* help =
        R"([:DEGREE][,bound=lanczos:K|gershgorin|VALUE][,lower=ratio:R|ritz|VALUE]
              [,scaling=jacobi|none][,precision=working|f32]
              [,values=working|f32|f16|bf16][,format=FORMAT[:BLOCK]]
                           polynomials of the scaled matrix, for cg and symmetric positive definite
                           matrices; DEGREE 1..16 (6): products per application, preferably even;
                           bound, lower: upper and lower end of the spectrum (lanczos:20;
                           chebyshev: ratio:30, upper end / 30); values: type of stored values
                           (needs a format other than csr); precision: type of vectors and values,
                           f32 for compact structures to 1e-8 (material contrasts, smaller
                           tolerances and slender structures need more iterations, up to 2.4 times
                           as many); format: default that of --format
)";
    PolynomialOptions options;
    bool names_format;

    explicit PolynomialConfig(const Spec& spec)
        : options(parse_polynomial(spec)), names_format(!Spec(spec).word("format", "").empty()) {
        check_options(options);
    }
    template <class T>
    auto make(const Context& context, const CsrView<T>& matrix,
              const PreconditionerInputs& inputs) const {
        PolynomialOptions resolved = options;
        if (!names_format) {
            resolved.format = inputs.format;
            resolved.format.values = options.format.values;
        }
        return std::make_unique<PolynomialPreconditioner<T>>(context, matrix, resolved);
    }
    /// A scaled copy of the matrix (with precision=f32 one per precision) and vectors.
    Offset bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const {
        const bool single = options.single_precision;
        return (Offset(rows) + 1) * 8 + nonzeros * (bytes_per_value + 4 + (single ? 8 : 0)) +
               Offset(rows) * bytes_per_value * (single ? 6 : 5);
    }
};

}  // namespace tessera
