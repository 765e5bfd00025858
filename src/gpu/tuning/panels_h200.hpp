#pragma once

/// Launch shapes of elimination by panels in a thread block, as measured on an H200
/// (docs/decisions/batched-panels-gpu.md).
namespace tessera::cuda {

/// Thread blocks per multiprocessor, for which registers are limited: matrices of up to 16 `groups`
/// rows, 48 to 128.
template <class T>
constexpr int panel_team_blocks(int groups, bool definite) {
    constexpr bool single = sizeof(T) == 4;
    if (groups == 5 && definite && !single) return 3;
    constexpr int blocks[6][2] = {{5, 8}, {4, 6}, {2, 4}, {2, 4}, {1, 3}, {1, 2}};
    return blocks[groups - 3][single];
}

}  // namespace tessera::cuda
