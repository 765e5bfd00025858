#pragma once

#include <memory>
#include <optional>

#include "tessera/formats.hpp"
#include "tessera/mesh.hpp"
#include "tessera/operator.hpp"
#include "tessera/spec.hpp"

namespace tessera {

struct NearNullSpace;  // tessera/amg.hpp

/// What a preconditioner may use beside the entries of the matrix, unless its text names others.
struct PreconditionerInputs {
    /// Format of its products with the matrix.
    FormatOptions format = {.format = MatrixFormat::csr};
    Shared<NodeCoordinates> coordinates = {};  ///< Positions of the nodes, for amg; may be empty.
    Shared<NearNullSpace> near_null = {};      ///< Near-null vectors, for amg; may be empty.
    /// find_blocks(context, matrix, 8, Blocking::natural), if it is known already.
    std::shared_ptr<const BlockPartition> natural_blocks = nullptr;
    std::optional<bool> is_symmetric = {};  ///< is_symmetric(context, matrix), if it is known.
    /// Another preconditioner follows if this one cannot be set up: amg refuses graphs whose coarse
    /// levels fill up (AmgOptions::refuses_fill), block_ldlt large factors (max_growth).
    bool has_alternative = false;
    /// The matrix keeps its place and values until an update (AmgOptions::matrix_stays).
    bool matrix_stays = false;
};

/// A preconditioner and its options, parsed from a text; docs/guide/options.md explains them,
/// preconditioner_help lists them.
class TESSERA_API PreconditionerConfig {
  public:
    virtual ~PreconditionerConfig() = default;
    /// nullptr for none.
    virtual std::unique_ptr<Preconditioner<float>> make(
        const Context& context, const CsrView<float>& matrix,
        const PreconditionerInputs& inputs = {}) const = 0;
    virtual std::unique_ptr<Preconditioner<double>> make(
        const Context& context, const CsrView<double>& matrix,
        const PreconditionerInputs& inputs = {}) const = 0;
    /// An upper bound or an estimate of the bytes that it allocates; 0 if they depend on the
    /// pattern.
    virtual Offset bytes(Index rows, Offset nonzeros, Offset bytes_per_value) const = 0;
};

/// Throws InvalidArgument for an unknown name or option.
TESSERA_API std::unique_ptr<PreconditionerConfig> parse_preconditioner(Spec text);

/// The preconditioner named by a text, "block_jacobi:24"; nullptr for none.
template <class T>
std::unique_ptr<Preconditioner<T>> make_preconditioner(const Context& context, Spec text,
                                                       const CsrView<T>& matrix) {
    return parse_preconditioner(std::move(text))->make(context, matrix);
}
TESSERA_ACCEPT_OWNERS(make_preconditioner)

/// The names that parse_preconditioner knows, and their help text.
TESSERA_API std::vector<std::string> preconditioner_names();
TESSERA_API std::string preconditioner_help();

}  // namespace tessera
