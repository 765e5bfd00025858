#pragma once

/// Launch shapes of block Jacobi as measured on an H200 (docs/decisions/block-jacobi-setup.md and
/// block-jacobi-apply.md).
namespace tessera::cuda {

/// How a setup kernel maps diagonal blocks to lanes.
struct SetupShape {
    int lanes;          ///< Lanes per block.
    int warps;          ///< Warps per thread block.
    int thread_blocks;  ///< Thread blocks per multiprocessor (launch bound).
};

/// Blocks of up to `tile` rows, a multiple of 4. With more thread blocks per multiprocessor
/// registers spill, with fewer less latency is hidden.
template <class T>
constexpr SetupShape setup_shape(int tile) {
    constexpr bool wide = sizeof(T) == 8;
    constexpr int warps = 4;
    if (tile <= 8) return {tile, warps, 8};
    if (tile == 12) return wide ? SetupShape{16, warps, 8} : SetupShape{8, warps, 6};
    if (tile == 16) return {16, warps, wide ? 7 : 8};
    if (tile <= 24) return {8, warps, !wide ? 4 : tile == 20 ? 3 : 2};
    return {wide ? 32 : 16, warps, 4};
}

/// Warps per thread block of the setup of larger blocks; threads of the kernel that replaces
/// singular blocks (one warp) and of those that choose and write formats.
inline constexpr int large_setup_warps = 4;
inline constexpr int singular_threads = 32;
inline constexpr int store_threads = 256;

/// Known regularity of stored blocks.
enum class BlockLayout {
    mixed_sizes,  ///< Blocks of any sizes and formats.
    one_size,     ///< All blocks but the last have one size.
    uniform,      ///< All blocks but the last have one size, and all have one format.
};

/// How warps read stored blocks: in chunks of `groups` groups of up to 32 rows, through `stages`
/// stages of shared memory, for `vectors` vectors at once.
struct ApplyShape {
    BlockLayout layout;
    int groups;  ///< Groups per chunk; 0: no kernel.
    int stages;
    int vectors;
    int thread_blocks;  ///< Thread blocks per multiprocessor (launch bound).
    bool transposed = false;
};

enum class ApplyKernel {
    uniform_one_group,
    uniform_two_groups,
    uniform_four_groups,
    uniform_two_stages,
    uniform_vectors,
    uniform_vectors_two_groups,
    one_size,
    one_size_small,
    mixed_sizes_one_group,
    mixed_sizes_two_groups,
    mixed_sizes_four_groups,
    mixed_sizes_vectors,
    transposed,
};
inline constexpr int apply_kernels = int(ApplyKernel::transposed) + 1;

template <class T>
constexpr ApplyShape apply_shape(ApplyKernel kernel) {
    using enum BlockLayout;
    constexpr bool wide = sizeof(T) == 8;
    constexpr ApplyShape shapes[apply_kernels] = {
        {uniform, 1, 1, 1, 12},
        {uniform, 2, 1, 1, 8},
        {uniform, 4, 1, 1, 8},
        {uniform, wide ? 2 : 0, 2, 1, 8},
        {uniform, 1, 2, 8, wide ? 4 : 5},
        {uniform, 2, wide ? 1 : 2, 8, 4},
        {one_size, 2, 1, 1, wide ? 8 : 12},
        {one_size, wide ? 2 : 0, 1, 1, 12},
        {mixed_sizes, 1, 1, 1, 12},
        {mixed_sizes, 2, 1, 1, 12},
        {mixed_sizes, 4, 1, 1, 8},
        {mixed_sizes, 1, wide ? 1 : 2, 8, 5},
        {mixed_sizes, 1, 2, 1, 8, true},
    };
    return shapes[int(kernel)];
}

/// A kernel and its grid: at most `waves` full waves of thread blocks, and at most as many thread
/// blocks as have work. power_of_two: the number of waves is rounded down to a power of two, so
/// that no wave is nearly empty; for 8 waves and more the grid has as many thread blocks as have
/// work.
struct ApplyLaunch {
    ApplyKernel kernel;
    unsigned waves = 1;
    bool power_of_two = false;
};
inline constexpr unsigned all_waves = 1u << 16;  ///< No limit.

/// Blocks of one size n and one format of `value_bytes` bytes, with `bytes` bytes of values and
/// vectors. Small blocks use two or four groups per chunk, which amortises the instructions and
/// fills lanes that one group leaves idle. One chunk per thread block gives the best bandwidth,
/// unless chunks are small.
template <class T>
ApplyLaunch uniform_apply_launch(int n, int value_bytes, double bytes, int vectors) {
    using enum ApplyKernel;
    constexpr bool wide = sizeof(T) == 8;
    if (vectors > 1) {
        const bool three_blocks = 64 / n == 3;  // Three blocks per two groups.
        if (wide && (three_blocks || n <= 12)) return {uniform_vectors_two_groups, all_waves};
        if (three_blocks) return {uniform_vectors_two_groups};
        return {uniform_vectors, 4};
    }
    if (value_bytes == 8) {
        const ApplyKernel kernel = n <= 3   ? uniform_four_groups
                                   : n <= 6 ? uniform_two_groups
                                            : uniform_one_group;
        return {kernel, all_waves, true};
    }
    if (value_bytes == 4) {
        if (n <= 7) return {uniform_four_groups, n <= 4 ? 1 : all_waves, true};
        return {n <= 20 ? uniform_two_groups : uniform_one_group, all_waves, true};
    }
    // More data than stays in the L2 cache from one application to the next.
    const bool streams = bytes > (n >= 12 && n <= 23 ? 3e7 : 4e7);
    if (wide && streams) return {uniform_two_stages};
    if (n <= (wide ? 23 : 26)) return {uniform_four_groups, n <= 11 ? 1u : 4u, true};
    return {wide ? uniform_two_groups : uniform_one_group, wide && n > 26 ? 2u : 1u, true};
}

/// Blocks of up to n rows; `value_bytes`: bytes of the widest format that they may have.
template <class T>
ApplyLaunch apply_launch(BlockLayout layout, bool mixed, int n, int value_bytes, double bytes,
                         int vectors, bool transpose) {
    using enum ApplyKernel;
    constexpr bool wide = sizeof(T) == 8;
    if (transpose) return {transposed};
    if (layout == BlockLayout::uniform) {
        return uniform_apply_launch<T>(n, value_bytes, bytes, vectors);
    }
    if (vectors > 1) return {mixed_sizes_vectors, wide || (mixed && n > 16) ? 1u : 4u};
    if (layout == BlockLayout::one_size && n >= 7 && n <= 21) {
        if (wide && n <= 8) return {one_size_small};
        return {one_size, wide && n <= 12 ? 2u : 1u, true};
    }
    if (n * value_bytes <= 24) return {mixed_sizes_four_groups};
    if (n * value_bytes <= 80) return {mixed_sizes_two_groups};
    return {mixed_sizes_one_group, mixed ? 1u : 4u};
}

/// Warps per thread block of these kernels; threads per thread block of the one for larger blocks.
inline constexpr int apply_warps = 4;
inline constexpr int large_apply_threads = 128;

}  // namespace tessera::cuda
