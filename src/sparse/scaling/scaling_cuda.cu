#include <limits>

#include "base/check_cuda.hpp"
#include "gpu/scan.cuh"
#include "sparse/scaling/row_checks.hpp"

namespace tessera::cuda {

namespace {

constexpr int threads_a_block = 256;
constexpr int warp = 32;

template <class T>
__global__ void __launch_bounds__(threads_a_block)
    invert_root_diagonal_kernel(CsrView<T> matrix, T* diagonal, ScalingFault* faults) {
    for_elements<1>(matrix.rows, [&](Offset row) {
        const Index i = Index(row);
        const Offset at = find_entry(matrix, i, i);
        const T root = sqrt(at < 0 ? T(0) : matrix.values[at]);
        const bool good = is_positive(root);
        faults[i] = good ? ScalingFault::none : ScalingFault::not_positive;
        diagonal[i] = good ? T(1) / root : std::numeric_limits<T>::quiet_NaN();
    });
}

/// f(row, entry) for all entries, a group of eight threads a row.
template <class T, class F>
__device__ void for_entries(const CsrView<T>& matrix, F&& f) {
    constexpr int lanes = 8;
    const Offset row = (Offset(blockIdx.x) * threads_a_block + threadIdx.x) / lanes;
    if (row >= matrix.rows) return;
    const Offset end = matrix.row_offsets[row + 1];
    for (Offset k = matrix.row_offsets[row] + threadIdx.x % lanes; k < end; k += lanes) {
        f(Index(row), k);
    }
}

template <class T>
__global__ void __launch_bounds__(threads_a_block)
    scale_points_kernel(CsrView<T> matrix, const T* __restrict__ diagonal, T* scaled) {
    for_entries(matrix, [&](Index i, Offset k) {
        scaled[k] = matrix.values[k] * (diagonal[i] * diagonal[matrix.column_indices[k]]);
    });
}

template <class T>
__global__ void __launch_bounds__(threads_a_block)
    scale_blocks_kernel(CsrView<T> matrix, ScalingFactors<T> factors, T* scaled) {
    for_entries(matrix,
                [&](Index i, Offset k) { scaled[k] = scaled_entry(matrix, factors, i, k); });
}

/// One warp a block, whose lower triangle lies in shared memory, row by row.
template <class T>
__global__ void __launch_bounds__(warp)
    factor_blocks_kernel(CsrView<T> matrix, const Index* starts, ScalingFactors<T> factors,
                         ScalingFault* faults) {
    extern __shared__ char shared_bytes[];
    T* const a = reinterpret_cast<T*>(shared_bytes);
    const Index first = starts[blockIdx.x];
    const int size = int(starts[blockIdx.x + 1] - first);
    const int lane = int(threadIdx.x);
    bool full = true;
    for (int i = lane; i < size; i += warp) {
        const bool good = is_full_row(matrix, factors, first + i);
        faults[first + i] = good ? ScalingFault::none : ScalingFault::not_full;
        full = full && good;
    }
    full = __all_sync(~0u, full);
    for (int entry = lane; entry < size * size; entry += warp) {
        const int i = entry / size, j = entry % size;
        const Offset at = full && j <= i ? find_entry(matrix, first + i, first + j) : Offset(-1);
        a[entry] = at < 0 ? T(0) : matrix.values[at];
    }
    __syncwarp();
    int failed = full ? -1 : size;
    for (int k = 0; k < size && failed < 0; ++k) {
        const T pivot = a[k * size + k];
        if (!is_positive(pivot)) {
            failed = k;
            break;
        }
        const T root = sqrt(pivot);
        __syncwarp();
        for (int i = k + lane; i < size; i += warp)
            a[i * size + k] = i == k ? root : a[i * size + k] / root;
        __syncwarp();
        for (int i = k + 1 + lane; i < size; i += warp) {
            for (int j = k + 1; j <= i; ++j) a[i * size + j] -= a[i * size + k] * a[j * size + k];
        }
        __syncwarp();
    }
    if (failed < 0) {
        // Column by column of the inverse; each lane has its own, and the rows above i are not
        // read.
        for (int i = 0; i < size; ++i) {
            const T reciprocal = T(1) / a[i * size + i];
            __syncwarp();
            for (int base = 0; base <= i; base += warp) {
                const int j = base + lane;
                T sum = T(0);
                if (j < i) {
                    for (int k = j; k < i; ++k) sum += a[i * size + k] * a[k * size + j];
                }
                __syncwarp();
                // Row i keeps L until every column of this stretch is done: stretches run upwards,
                // and a column j reads the places k >= j only.
                if (j < i) a[i * size + j] = -sum * reciprocal;
                if (j == i) a[i * size + i] = reciprocal;
                __syncwarp();
            }
        }
    } else if (full && lane == 0) {
        faults[first + failed] = ScalingFault::not_positive;
    }
    for (int entry = lane; entry < size * size; entry += warp) {
        const int i = entry / size, j = entry % size;
        if (j > i) continue;
        const T value = failed < 0 ? a[entry] : std::numeric_limits<T>::quiet_NaN();
        factors.values[factors.offsets[first + i] + j] = value;
        factors.transposed_values[factors.transposed[first + j] + (i - j)] = value;
    }
}

constexpr int rows_a_block = threads_a_block / 8;

struct BlockEntries {
    const Index* starts;
    __device__ Offset operator()(Offset b) const { return triangle(starts[b + 1] - starts[b]); }
};

/// Eight threads a block.
__global__ void __launch_bounds__(threads_a_block)
    fill_patterns_kernel(const Index* starts, Index count, const Offset* entries,
                         FactorPatterns to) {
    constexpr int lanes = 8;
    const Offset b = (Offset(blockIdx.x) * threads_a_block + threadIdx.x) / lanes;
    if (b == count && threadIdx.x % lanes == 0) {
        to.lower_offsets[starts[b]] = to.upper_offsets[starts[b]] = entries[b];
    }
    if (b >= count) return;
    fill_factor_pattern(to, starts[b], starts[b + 1] - starts[b], entries[b],
                        Index(threadIdx.x % lanes), lanes);
}

/// numbers: the first row that is not full, the rows that are not positive, and the first of these;
/// firsts as unsigned numbers, the largest one where there is none.
__global__ void __launch_bounds__(threads_a_block)
    summarise_kernel(const ScalingFault* faults, Index rows, unsigned* numbers) {
    for_elements<4>(rows, [&](Offset i) {
        const ScalingFault fault = faults[i];
        if (fault == ScalingFault::not_full) atomicMin(numbers, unsigned(i));
        if (fault != ScalingFault::not_positive) return;
        atomicAdd(numbers + 1, 1u);
        atomicMin(numbers + 2, unsigned(i));
    });
}

}  // namespace

Offset factor_entries(const Context& context, const Index* starts, Index count, Offset* entries) {
    exclusive_scan(context, count, BlockEntries{starts}, entries);
    Offset total = 0;
    copy_to_host(context, std::span<const Offset>(entries + count, 1),
                 std::span<Offset>(&total, 1));
    return total;
}

void fill_patterns(const Context& context, const Index* starts, Index count, const Offset* entries,
                   const FactorPatterns& to) {
    fill_patterns_kernel<<<blocks_for((Offset(count) + 1) * 8, threads_a_block), threads_a_block, 0,
                           stream_of(context)>>>(starts, count, entries, to);
    TESSERA_CUDA(cudaGetLastError());
}

FaultSummary summarise(const Context& context, const ScalingFault* faults, Index rows) {
    if (rows == 0) return {};
    Buffer<unsigned> numbers(context, 3);
    const unsigned none[3] = {~0u, 0, ~0u};
    copy_from_host(context, std::span<const unsigned>(none), numbers.view());
    summarise_kernel<<<blocks_for(rows, 4 * threads_a_block), threads_a_block, 0,
                       stream_of(context)>>>(faults, rows, numbers.data());
    TESSERA_CUDA(cudaGetLastError());
    const auto found = copy_to_host(context, numbers);
    return {Index(found[0]), Index(found[1]), Index(found[2])};
}

template <class T>
void invert_root_diagonal(const Context& context, const CsrView<T>& matrix, T* diagonal,
                          ScalingFault* faults) {
    if (matrix.rows == 0) return;
    invert_root_diagonal_kernel<<<blocks_for(matrix.rows, threads_a_block), threads_a_block, 0,
                                  stream_of(context)>>>(matrix, diagonal, faults);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void scale_points(const Context& context, const CsrView<T>& matrix, const T* diagonal, T* scaled) {
    if (matrix.rows == 0) return;
    scale_points_kernel<<<blocks_for(matrix.rows, rows_a_block), threads_a_block, 0,
                          stream_of(context)>>>(matrix, diagonal, scaled);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void factor_blocks(const Context& context, const CsrView<T>& matrix, const Index* starts,
                   Index count, Index largest, const ScalingFactors<T>& factors,
                   ScalingFault* faults) {
    if (count == 0) return;
    const int bytes = int(largest) * int(largest) * int(sizeof(T));
    factor_blocks_kernel<<<unsigned(count), warp, bytes, stream_of(context)>>>(matrix, starts,
                                                                               factors, faults);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T>
void scale_blocks(const Context& context, const CsrView<T>& matrix,
                  const ScalingFactors<T>& factors, T* scaled) {
    if (matrix.rows == 0) return;
    scale_blocks_kernel<<<blocks_for(matrix.rows, rows_a_block), threads_a_block, 0,
                          stream_of(context)>>>(matrix, factors, scaled);
    TESSERA_CUDA(cudaGetLastError());
}

TESSERA_INSTANTIATE_SCALING(float)
TESSERA_INSTANTIATE_SCALING(double)

}  // namespace tessera::cuda
