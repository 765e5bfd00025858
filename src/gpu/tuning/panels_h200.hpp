#pragma once

#include "gpu/tiles/elimination/thread_block_panels.cuh"

/// Launch shapes of elimination by panels in a thread block, as measured on an H200
/// (docs/decisions/batched-panels-gpu.md).
namespace tessera::cuda {

/// Thread blocks per multiprocessor, for which registers are limited: matrices of up to 16 `groups`
/// rows, 48 to 128.
template <class T>
constexpr int panel_team_blocks(int groups, PanelMethod method) {
    constexpr int fp32[6] = {8, 6, 4, 4, 3, 2};
    constexpr int fp64[6] = {5, 4, 3, 2, 2, 1};
    constexpr int fp64_gauss[6] = {6, 4, 2, 2, 2, 1};
    if (sizeof(T) == 4) return fp32[groups - 3];
    return (method == PanelMethod::gauss ? fp64_gauss : fp64)[groups - 3];
}

}  // namespace tessera::cuda
