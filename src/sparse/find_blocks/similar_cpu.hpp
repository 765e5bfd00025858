#pragma once

#include "sparse/find_blocks/kernels.hpp"
#include "sparse/find_blocks/start_mask.hpp"

namespace tessera::cpu {

/// Blocking::similar (kernels.hpp): steps[i] is the size of a block that starts with row i.
std::vector<std::uint8_t> similar_steps(const Context& context, const CsrPattern& pattern,
                                        const StartMask& mask, Index bound);

}  // namespace tessera::cpu
