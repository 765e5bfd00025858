#pragma once

#include <type_traits>

namespace tessera::cuda {

/// Whether the small-block kernels are compiled for this register width (CMake: TESSERA_TILES,
/// whose width w is bit w/2 of the mask).
constexpr bool tile_compiled(int width) { return (TESSERA_TILE_MASK >> (width / 2) & 1) != 0; }
static_assert(tile_compiled(32), "TESSERA_TILES must contain 32, the largest block");

/// Whether there is a kernel for matrices of n rows only.
constexpr bool size_compiled(int n) { return tile_compiled(n + n % 2); }

/// Whether there is one for every n in 1..32.
constexpr bool all_sizes_compiled() {
    bool all = true;
    for (int n = 2; n <= 32; n += 2) all = all && size_compiled(n);
    return all;
}

/// f(std::integral_constant<int, n>()) for the compiled n among Last, Last - 1, ..., First.
template <int First, int Last, class F>
void for_compiled_sizes(F&& f) {
    if constexpr (size_compiled(Last)) f(std::integral_constant<int, Last>());
    if constexpr (First < Last) for_compiled_sizes<First, Last - 1>(f);
}

/// f(std::integral_constant<int, width>()) with the smallest width that holds n rows, n at most 32,
/// among the compiled ones that are multiples of `Step`.
template <int Step = 2, int Width = Step, class F>
void with_tile(int n, F&& f) {
    if constexpr (Width == 32 || tile_compiled(Width)) {
        if (n <= Width) return f(std::integral_constant<int, Width>());
    }
    if constexpr (Width < 32) with_tile<Step, Width + Step>(n, f);
}

}  // namespace tessera::cuda
