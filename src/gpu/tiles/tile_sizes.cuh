#pragma once

#include <type_traits>

namespace tessera::cuda {

/// Whether the small-block kernels are compiled for this register width (CMake: TESSERA_TILES,
/// whose width w is bit w/4 of the mask).
constexpr bool tile_compiled(int width) { return (TESSERA_TILE_MASK >> (width / 4) & 1) != 0; }
static_assert(tile_compiled(32), "TESSERA_TILES must hold 32, the largest block");

/// f(std::integral_constant<int, width>()) with the smallest compiled width that holds n rows, n at
/// most 32.
template <int Width = 4, class F>
void with_tile(int n, F&& f) {
    if constexpr (tile_compiled(Width)) {
        if (n <= Width) return f(std::integral_constant<int, Width>());
    }
    if constexpr (Width < 32) with_tile<Width + 4>(n, f);
}

}  // namespace tessera::cuda
