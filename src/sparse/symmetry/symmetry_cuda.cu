#include <bit>

#include "gpu/for_each.cuh"
#include "gpu/sums.cuh"
#include "gpu/warp.cuh"
#include "sparse/symmetry/kernels.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera::cuda {

namespace {

constexpr int tile_threads = 256;
constexpr int entries_per_thread = 8;

/// The row of entry k, one of first_row to last_row, by bisection.
template <class T>
__device__ Index row_of(const CsrView<T>& matrix, Offset k, Index first_row, Index last_row) {
    Index row = first_row, after = last_row + 1;
    while (after - row > 1) {
        const Index middle = row + (after - row) / 2;
        (__ldg(matrix.row_offsets + middle) <= k ? row : after) = middle;
    }
    return row;
}

/// f(row, k, inside) for all entries k, by whole warps: some threads of the last one have none, and
/// are not inside. Then f.finish() by all threads, each of which has an f of its own. A thread
/// block has consecutive entries, so that dense rows are balanced, and finds the few rows that hold
/// them first.
template <class T, class F>
__global__ void __launch_bounds__(tile_threads)
    for_entries_kernel(const __grid_constant__ CsrView<T> matrix, F f) {
    begin_dependent();
    __shared__ Index ends[2];
    const Offset first = Offset(blockIdx.x) * (tile_threads * entries_per_thread);
    const Offset last = min(first + tile_threads * entries_per_thread, matrix.nonzeros) - 1;
    if (threadIdx.x < 2) {
        ends[threadIdx.x] =
            row_of(matrix, threadIdx.x == 0 ? first : last, Index(0), matrix.rows - 1);
    }
    __syncthreads();
    for (Offset begin = first; begin <= last; begin += tile_threads) {
        const Offset k = begin + threadIdx.x;
        f(row_of(matrix, min(k, last), ends[0], ends[1]), k, k <= last);
    }
    f.finish();
}

template <class T, class F>
void for_entries(const Context& context, const CsrView<T>& matrix, const F& f) {
    if (matrix.nonzeros == 0) return;
    launch_dependent(&for_entries_kernel<T, F>,
                     blocks_for(matrix.nonzeros, tile_threads * entries_per_thread), tile_threads,
                     0, stream_of(context), matrix, f);
}

/// Maximum of |a_ij| by rows.
template <class T>
struct RaiseLargest {
    CsrView<T> matrix;
    T* largest;

    __device__ void operator()(Index row, Offset k, bool inside) const {
        using Bits = std::conditional_t<sizeof(T) == 8, unsigned long long, unsigned>;
        T* const to = largest + row;
        T value = inside ? std::abs(matrix.values[k]) : T(0);
        if (isnan(value)) value = 0;
        // One lane for all where they have entries of one row, as most warps do.
        if (__all_sync(full_warp, row == __shfl_sync(full_warp, row, 0))) {
            value = lanes_max(value);
            if (threadIdx.x % 32 != 0) return;
        }
        // Skips most atomics of a dense row. Nonnegative numbers are ordered by their bits.
        if (value > *static_cast<volatile T*>(to)) {
            atomicMax(reinterpret_cast<Bits*>(to), std::bit_cast<Bits>(value));
        }
    }
    __device__ void finish() const {}
};

/// Mixes 64 bits so that each bit of x changes about half of those of the result.
__device__ __forceinline__ unsigned long long mixed(unsigned long long x) {
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/// Sums 64 mixed bits of the place and the value of all entries above the diagonal, less those of
/// the mirrored places below: 0, modulo 2^64, for symmetric matrices, and by chance for one in 2^64
/// of the others.
template <class T>
struct SumMirrored {
    CsrView<T> matrix;
    unsigned long long* sum;
    int* not_finite;
    unsigned long long own = 0;  ///< The sum of this thread.

    __device__ void operator()(Index i, Offset k, bool inside) {
        if (!inside) return;
        const Index j = matrix.column_indices[k];
        const double value = double(matrix.values[k]) + 0.0;  // -0 becomes 0.
        if (!isfinite(value)) raise_flag(not_finite);
        if (i == j) return;
        const auto low = unsigned(min(i, j)), high = unsigned(max(i, j));
        const unsigned long long place = static_cast<unsigned long long>(low) << 32 | high;
        const auto bits = mixed(mixed(place) + std::bit_cast<unsigned long long>(value));
        own += i < j ? bits : 0 - bits;
    }
    __device__ void finish() const {
        static_assert(tile_threads == sum_threads);
        __shared__ unsigned long long shared[tile_threads / 32];
        const unsigned long long all = block_sum(own, shared);
        if (threadIdx.x == 0 && all != 0) atomicAdd(sum, all);
    }
};

/// Whether all entries are finite and equal to their mirror images, by their sum alone: each entry
/// is read once, and none is searched.
template <class T>
bool are_mirrored(const Context& context, const CsrView<T>& matrix) {
    struct Found {
        unsigned long long sum;
        int not_finite;
    };
    Buffer<Found> found = copy_to_buffer(context, std::vector{Found{0, 0}});
    for_entries(context, matrix,
                SumMirrored<T>{matrix, &found.data()->sum, &found.data()->not_finite});
    const Found result = copy_to_host(context, found)[0];
    return result.sum == 0 && result.not_finite == 0;
}

/// What CheckEntry finds. `excess`: entries below the diagonal less those above it with a mirror
/// image; at 0 all of them are mirror images.
struct Findings {
    unsigned long long first_fault, excess;
    int unpaired;
};

/// Compares the entries on and above the diagonal with their mirror images, and with `below` those
/// below it, too.
template <class T>
struct CheckEntry {
    CsrView<T> matrix;
    const T* largest;
    Findings* findings;
    bool below;
    long long own_excess = 0;  ///< The excess of this thread.

    __device__ bool found_fault_up_to(Offset k) const {
        return *static_cast<volatile unsigned long long*>(&findings->first_fault) <=
               static_cast<unsigned long long>(k);
    }
    __device__ void operator()(Index i, Offset k, bool inside) {
        if (!inside) return;
        const Index j = matrix.column_indices[k];
        own_excess += j < i;
        if (j < i && !below) return;
        const Offset mirror = find_csr_entry(matrix, j, i);
        own_excess -= j > i && mirror >= 0;
        const Mirrored mirrored = compare_mirror_image(matrix, largest, i, j, k, mirror);
        if (mirrored == Mirrored::unpaired) raise_flag(&findings->unpaired);
        if (mirrored == Mirrored::no && !found_fault_up_to(k)) {
            atomicMin(&findings->first_fault, static_cast<unsigned long long>(k));
        }
    }
    __device__ void finish() const {
        static_assert(tile_threads == sum_threads);
        __shared__ long long shared[tile_threads / 32];
        const long long sum = block_sum(own_excess, shared);
        // Adds a negative number modulo 2^64.
        if (threadIdx.x == 0 && sum != 0) {
            atomicAdd(&findings->excess, static_cast<unsigned long long>(sum));
        }
    }
};

template <class T>
Findings check_entries(const Context& context, const CsrView<T>& matrix, const T* largest,
                       bool below) {
    Buffer<Findings> findings = copy_to_buffer(
        context, std::vector{Findings{static_cast<unsigned long long>(matrix.nonzeros), 0, 0}});
    for_entries(context, matrix, CheckEntry<T>{matrix, largest, findings.data(), below});
    return copy_to_host(context, findings)[0];
}

}  // namespace

template <class T>
SymmetryFindings compare_mirror_images(const Context& context, const CsrView<T>& matrix, bool) {
    // Many matrices are symmetric to the last bit.
    if (are_mirrored(context, matrix)) return {matrix.nonzeros, false};
    Buffer<T> largest(context, matrix.rows);
    fill(context, T(0), largest.view());
    for_entries(context, matrix, RaiseLargest<T>{matrix, largest.data()});
    Findings found = check_entries<T>(context, matrix, largest.data(), false);
    if (found.excess != 0) found = check_entries<T>(context, matrix, largest.data(), true);
    const auto first_fault = Offset(found.first_fault);
    return {first_fault, first_fault == matrix.nonzeros && found.unpaired != 0};
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&, bool);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&,
                                                        bool);

}  // namespace tessera::cuda
