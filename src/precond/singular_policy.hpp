#pragma once

#include "base/concat.hpp"
#include "precond/choose.hpp"
#include "tessera/block_jacobi.hpp"

namespace tessera {

/// singular=stop|identity|shift|generalised
inline SingularPolicy parse_singular_policy(Spec& spec) {
    return choose(spec, "singular",
                  {SingularPolicy::stop, SingularPolicy::identity, SingularPolicy::shift,
                   SingularPolicy::generalised});
}

/// Why a preconditioner with SingularPolicy::stop is unusable; empty if no block is singular.
inline std::string singular_blocks_sentence(SingularPolicy policy, Offset singular, Offset blocks) {
    if (singular == 0 || policy != SingularPolicy::stop) return {};
    return concat(singular, " of ", blocks, blocks == 1 ? " block is" : " blocks are", " singular");
}

}  // namespace tessera
