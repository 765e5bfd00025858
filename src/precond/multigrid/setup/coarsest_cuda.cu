#include <utility>

#include "base/zeros.hpp"
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

/// The whole of -A for a symmetric A in its lower triangle.
struct NegateAndMirror {
    static constexpr int work = 1;
    Offset rows;
    const double* lower;
    double* values;
    __device__ void operator()(Offset e) const {
        const Offset i = e / rows, j = e % rows;
        values[e] = -lower[i > j ? e : j * rows + i];
    }
};

/// Pivots that are swept at a time; a thread block of pivots^2 threads has `parts` x `parts` tiles
/// of as many rows and columns.
constexpr int pivots = 16, parts = 4, block_rows = pivots * parts;

/// Sweeps the pivots of diagonal tile p, `from` to `to`, lower triangles: after all tiles A has
/// become -A^-1. A pivot that is a rounding error, relative to the diagonal at first, leaves a row
/// and a column of zeros. A thread block makes block_rows rows and columns, in each thread an entry
/// of each tile, and sweeps what it needs of the pivots' columns itself.
__global__ void __launch_bounds__(pivots* pivots)
    sweep_kernel(int n, int p, double tolerance, const double* diagonal, const double* from,
                 double* to, EliminationFaults* faults) {
    const int i = int(blockIdx.y) * block_rows, j = int(blockIdx.x) * block_rows;
    if (j > i) return;
    const int y = int(threadIdx.y), x = int(threadIdx.x), first = p * pivots;
    // Column k of the pivots' columns before it is swept: the pivots' rows, i's, j's; 1 / pivot.
    __shared__ double at_pivots[pivots][pivots], left[pivots][block_rows],
        right[pivots][block_rows], inverses[pivots];
    const auto entry = [&](int r, int c) {
        return r < n && c < n ? from[Offset(max(r, c)) * n + min(r, c)] : double(r == c);
    };
    double own_pivots = entry(first + y, first + x), own_left[parts], own_right[parts];
#pragma unroll
    for (int t = 0; t < parts; ++t) {
        own_left[t] = entry(i + t * pivots + y, first + x);
        own_right[t] = entry(j + t * pivots + y, first + x);
    }
    const int count = min(pivots, n - first);
    for (int k = 0; k < count; ++k) {
        const bool own_row = y == k, own_column = x == k;
        if (own_column) {
            at_pivots[k][y] = own_pivots;
#pragma unroll
            for (int t = 0; t < parts; ++t) {
                left[k][t * pivots + y] = own_left[t];
                right[k][t * pivots + y] = own_right[t];
            }
        }
        __syncthreads();
        const double pivot = at_pivots[k][k], given = diagonal[first + k];
        const bool dependent = !(pivot > tolerance * given && given > 0);
        const double inverse = dependent ? 0 : 1 / pivot, factor = at_pivots[k][x] * inverse;
#pragma unroll
        for (int t = 0; t < parts; ++t) {
            const int row = t * pivots + y;
            own_left[t] = own_column ? own_left[t] * inverse : own_left[t] - left[k][row] * factor;
            own_right[t] =
                own_column ? own_right[t] * inverse : own_right[t] - right[k][row] * factor;
        }
        own_pivots = own_row && own_column   ? -inverse
                     : own_row || own_column ? own_pivots * inverse
                                             : own_pivots - at_pivots[k][y] * factor;
        if (own_row && own_column) {
            inverses[k] = inverse;
            if (dependent && i == 0) {
                faults->dependent += 1;
                if (!(pivot > -1000 * tolerance * given && given > 0)) faults->negative = 1;
            }
        }
    }
    __syncthreads();
    double own[parts][parts];
#pragma unroll
    for (int e = 0; e < parts * parts; ++e) {
        own[e / parts][e % parts] = entry(i + e / parts * pivots + y, j + e % parts * pivots + x);
    }
    for (int k = 0; k < count; ++k) {
#pragma unroll
        for (int e = 0; e < parts * parts; ++e) {
            own[e / parts][e % parts] -=
                left[k][e / parts * pivots + y] * inverses[k] * right[k][e % parts * pivots + x];
        }
    }
    const auto write = [&](int r, int c, double value) {
        if (r < n && c <= r) to[Offset(r) * n + c] = value;
    };
#pragma unroll
    for (int e = 0; e < parts * parts; ++e) {
        const int row = i + e / parts * pivots, column = j + e % parts * pivots;
        if (row == first && column == first) {
            write(first + y, first + x, own_pivots);
        } else if (row == first) {  // The mirror image of a tile of the pivots' columns.
            write(first + x, column + y, own_right[e % parts]);
        } else if (column == first) {
            write(row + y, first + x, own_left[e / parts]);
        } else {
            write(row + y, column + x, own[e / parts][e % parts]);
        }
    }
}

}  // namespace

EliminationFaults invert_symmetric(const Context& context, Buffer<double>& matrix, Offset n,
                                   double tolerance) {
    Buffer<double> diagonal(context, n), other(context, n * n);
    Buffer<EliminationFaults> faults = zeros<EliminationFaults>(context, 1);
    for_each_index(context, n, CopyDiagonal{n, matrix.data(), diagonal.data()});
    const auto blocks = unsigned((n + block_rows - 1) / block_rows);
    for (int p = 0; p * pivots < int(n); ++p) {
        sweep_kernel<<<dim3(blocks, blocks), dim3(pivots, pivots), 0, stream_of(context)>>>(
            int(n), p, tolerance, diagonal.data(), matrix.data(), other.data(), faults.data());
        TESSERA_CUDA(cudaGetLastError());
        std::swap(matrix, other);
    }
    for_each_index(context, n * n, NegateAndMirror{n, matrix.data(), other.data()});
    std::swap(matrix, other);
    return copy_to_host(context, faults)[0];
}

}  // namespace tessera::cuda
