#pragma once

#include "tessera/block_ldlt.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Throws InvalidArgument for numbers out of range.
void check_options(const BlockLdltOptions& options);

/// Block LDL^T as registered.
struct BlockLdltConfig {
    static constexpr const char* help =
        R"([:K][,fill=0][,method=jacobi|level][,sweeps=8][,epsilon=E][,delta=0.95]
              [,pivoting=complete|rook|bunch_kaufman|static][,matching=on|off]
              [,ordering=auto|amd|rcm|natural][,outer=on|off]
              [,outer_threshold=0.01][,safeguard=on|off][,solve_sweeps=0][,positive_definite]
                           incomplete LDL^T of a symmetric, possibly indefinite matrix, for
                           gmres, sqmr, with positive_definite for minres; K 1, 4, 8, 16 or 32 (8):
                           rows of a block; ordering=auto: rcm for fill=0, else amd; epsilon (0.1
                           for jacobi): smaller pivots are raised to it; solve_sweeps: Jacobi
                           iterations in place of triangular solves
)";
    BlockLdltOptions options;

    explicit BlockLdltConfig(Spec spec) : options(parse_block_ldlt(std::move(spec))) {
        check_options(options);
    }
    template <class T>
    auto make(const Context& context, const CsrView<T>& matrix,
              const PreconditionerInputs& inputs) const {
        BlockLdltOptions chosen = options;
        // Real matrices have up to 25, random ones that are solved so (kkt) 82.
        if (inputs.has_alternative) chosen.max_growth = 120;
        return std::make_unique<BlockLdlt<T>>(context, matrix, chosen);
    }
    /// Unknown before the symbolic factorisation; the constructor checks.
    Offset bytes(Index, Offset, Offset) const { return 0; }
};

}  // namespace tessera
