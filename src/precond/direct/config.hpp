#pragma once

#include "tessera/direct.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Exact factors as registered.
struct DirectConfig {
    static constexpr const char* help =
        R"([,threshold=U][,matching=auto|on|off][,symmetric=on|off][,max_flops=F]
                           exact factors: LDL^T of symmetric, LU of other matrices, for richardson
                           or gmres; threshold: least pivot over the largest entry of its column
                           (0.01); symmetric=off: LU also of symmetric matrices;
                           max_flops: refuse factorisations of more operations
)";
    DirectOptions options;

    explicit DirectConfig(Spec spec) : options(parse_direct(std::move(spec))) {}
    template <class T>
    auto make(const Context& context, const CsrView<T>& matrix,
              const PreconditionerInputs& inputs) const {
        DirectOptions chosen = options;
        if (inputs.has_alternative) chosen.memory_share = 0.5;
        return std::make_unique<Direct<T>>(context, matrix, chosen, inputs.is_symmetric);
    }
    /// Unknown before the order of elimination; the constructor checks.
    Offset bytes(Index, Offset, Offset) const { return 0; }
};

}  // namespace tessera
