#pragma once

#include "sparse/find_blocks/kernels.hpp"
#include "sparse/find_blocks/start_mask_cuda.cuh"

namespace tessera::cuda {

inline constexpr int period_rows = 128;  ///< So at least two starts for each possible period.

/// The starts of supervariables.
struct Marks {
    Buffer<unsigned> memory;
    StartMask mask;
    /// [group of period_rows rows], of the groups that are full: p where the starts among these
    /// rows are the multiples of p, 1..64; else 0. Null where nobody asked, or no group is full.
    const std::uint8_t* periods = nullptr;
};

Marks mark_supervariables(const Context& context, const CsrPattern& pattern, bool want_periods);

}  // namespace tessera::cuda
