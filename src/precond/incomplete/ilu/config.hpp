#pragma once

#include "tessera/ilu.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// Throws InvalidArgument for numbers out of range.
void check_options(const IluOptions& options);

/// Block incomplete LDU as registered.
struct IluConfig {
    static constexpr const char* help =
        R"([:K][,fill=0][,method=level|jacobi][,sweeps=8][,epsilon=E][,delta=0.95]
              [,pivoting=complete|partial|static][,matching=auto|on|off]
              [,ordering=auto|amd|rcm|natural][,outer=on|off][,outer_threshold=0.01][,drop=0][,max=40]
              [,safeguard=auto|on|off][,solve_sweeps=0][,precision=working|f32]
              [,max_levels=0]
                           incomplete LDU of any square matrix, for gmres, bicgstab, idr; K 1 to
                           32: rows of a block (natural blocks of equal size, about 4, on a GPU 8;
                           8 with matching); matching=auto: where diagonal entries are small; ordering=auto: amd with fill, else rcm
                           or, without matching, natural; drop: drop entries by value, up to so
                           many times the mean of their row (1e-4), instead of by pattern, and all
                           but the max / 2 times as many as the row has; max_levels: refuse
                           factors of more levels; the others as of block_ldlt
)";
    IluOptions options;

    explicit IluConfig(Spec spec) : options(parse_ilu(std::move(spec))) { check_options(options); }
    template <class T>
    auto make(const Context& context, const CsrView<T>& matrix,
              const PreconditionerInputs& inputs) const {
        IluOptions chosen = options;
        if (inputs.has_alternative) chosen.max_growth = 120;
        return std::make_unique<Ilu<T>>(context, matrix, chosen);
    }
    /// Unknown before the symbolic factorisation; the constructor checks.
    Offset bytes(Index, Offset, Offset) const { return 0; }
};

}  // namespace tessera
