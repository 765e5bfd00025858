#include <utility>

#include "gpu/for_each.cuh"
#include "precond/multigrid/setup/coarsest.hpp"

namespace tessera::cuda {

namespace {

using multigrid::EliminationFaults;

struct CopyDiagonal {
    static constexpr int work = 1;
    Offset rows;
    const double* dense;
    double* diagonal;
    __device__ void operator()(Offset i) const { diagonal[i] = dense[i * (rows + 1)]; }
};

struct Negate {
    static constexpr int work = 1;
    double* values;
    __device__ void operator()(Offset e) const { values[e] = -values[e]; }
};

/// Rows and columns of a tile of the matrix, and pivots that are swept at a time.
constexpr int tile = 16;
using Tile = double[tile][tile + 1];

/// Sweeps the pivots of diagonal tile p, `from` to `to`: after all tiles A has become -A^-1. A
/// pivot that is a rounding error, relative to the diagonal at first, leaves a row and a column of
/// zeros. Thread block (i, j), i >= j, makes tile (i, j), an entry in each thread, and mirrors it,
/// so that the matrix stays symmetric to the last bit; each sweeps what it needs of the pivots'
/// columns.
__global__ void __launch_bounds__(tile* tile)
    sweep_kernel(int n, int p, double least, const double* diagonal, const double* from, double* to,
                 EliminationFaults* faults) {
    const int i = int(blockIdx.y), j = int(blockIdx.x), first = p * tile;
    if (j > i) return;
    const int y = int(threadIdx.y), x = int(threadIdx.x);
    __shared__ Tile pivots, left, right;  // Of the columns of the pivots: their rows, i's, j's.
    const auto entry = [&](int r, int c) {
        return r < n && c < n ? from[Offset(r) * n + c] : double(r == c);
    };
    double at_pivots = entry(first + y, first + x), at_left = entry(i * tile + y, first + x),
           at_right = entry(j * tile + y, first + x), own = entry(i * tile + y, j * tile + x);
    for (int k = 0; k < min(tile, n - first); ++k) {
        __syncthreads();
        pivots[y][x] = at_pivots;
        left[y][x] = at_left;
        right[y][x] = at_right;
        __syncthreads();
        const double pivot = pivots[k][k], given = diagonal[first + k];
        const bool own_row = y == k, own_column = x == k;
        if (!(pivot > least * given && given > 0)) {
            if (own_row || own_column) at_pivots = 0;
            if (own_column) at_left = at_right = 0;
            if (i > 0 || !own_row || !own_column) continue;
            faults->dependent += 1;
            if (!(pivot > -1000 * least * given && given > 0)) faults->negative = 1;
            continue;
        }
        const double inverse = 1 / pivot, other = pivots[x][k];
        own -= left[y][k] * right[x][k] * inverse;
        at_left = own_column ? at_left * inverse : at_left - left[y][k] * other * inverse;
        at_right = own_column ? at_right * inverse : at_right - right[y][k] * other * inverse;
        at_pivots = own_row && own_column   ? -inverse
                    : own_row || own_column ? at_pivots * inverse
                                            : at_pivots - pivots[y][k] * other * inverse;
    }
    const auto write = [&](int r, int c, double value) {
        if (r >= n || c >= n) return;
        to[Offset(r) * n + c] = value;
        to[Offset(c) * n + r] = value;
    };
    if (i == p && j == p) return write(first + y, first + x, at_pivots);
    if (i == p) return write(j * tile + y, first + x, at_right);
    if (j == p) return write(i * tile + y, first + x, at_left);
    if (i > j || y >= x) write(i * tile + y, j * tile + x, own);
}

}  // namespace

EliminationFaults invert_symmetric(const Context& context, Buffer<double>& matrix, Offset n,
                                   double least) {
    Buffer<double> diagonal(context, n), other(context, n * n);
    Buffer<EliminationFaults> faults = copy_to_buffer(context, std::vector<EliminationFaults>(1));
    for_each_index(context, n, CopyDiagonal{n, matrix.data(), diagonal.data()});
    const auto tiles = unsigned((n + tile - 1) / tile);
    for (unsigned p = 0; p < tiles; ++p) {
        sweep_kernel<<<dim3(tiles, tiles), dim3(tile, tile), 0, stream_of(context)>>>(
            int(n), int(p), least, diagonal.data(), matrix.data(), other.data(), faults.data());
        TESSERA_CUDA(cudaGetLastError());
        std::swap(matrix, other);
    }
    for_each_index(context, n * n, Negate{matrix.data()});
    return copy_to_host(context, faults)[0];
}

}  // namespace tessera::cuda
