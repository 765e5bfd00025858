#pragma once

#include "batched/factor/factor_launch.cuh"
#include "gpu/pack.cuh"
#include "gpu/tiles/runs.cuh"

/// Factorisations of matrices of 8 or 16 rows, all in one run of memory: a matrix of 8 rows by one
/// lane, one of 16 rows by a group of 2, 4 or 8; whole rows in registers, everything unrolled, with
/// the bits of the other kernels.
namespace tessera::batched::cuda {

namespace {

/// A Divisor that is well inside the range, or makes `plain` false and means nothing.
template <class T>
struct PlainDivisor {
    T d;
    T reciprocal;

    __device__ __forceinline__ PlainDivisor(T given, bool& plain)
        : d(given), reciprocal(fast_reciprocal(given)) {
        plain = plain && (high_word(d) & 0x7fffffffu) - plain_low<T> < plain_span<T>;
    }
    __device__ __forceinline__ T quotient(T a) const {
        const T rough = a * reciprocal;  // As minus_quotient.
        return fma(fma(-rough, d, a), reciprocal, rough);
    }
};

/// A matrix of 8 rows in the registers of one lane. In shared memory the 32 of a warp lie so far
/// apart that lanes read their own ones in units of 16 bytes without conflicts.
template <class T>
struct LaneMatrix {
    static constexpr int n = 8;
    static constexpr int lanes = 1;
    static constexpr int rows = n;
    static constexpr int matrices = 32;  ///< A warp.
    static constexpr int width = pack_width<T>;
    static constexpr int stride = n * n + width;
    static constexpr int bytes = matrices * stride * int(sizeof(T));  ///< A warp.
    using Run = WarpRun<T, n, matrices, 1, width>;

    T a[n * n];
    int row[n];  ///< The row in each position.
    T* staged;

    __device__ __forceinline__ LaneMatrix(T* memory, int m) : staged(memory + m * stride) {
#pragma unroll
        for (int k = 0; k < n * n; k += width) {
            const auto pack = *reinterpret_cast<const Pack16<T>*>(staged + k);
#pragma unroll
            for (int e = 0; e < width; ++e) a[k + e] = pack.value[e];
        }
    }
    static __device__ __forceinline__ void load(const T* from, int here, T* memory) {
        Run::load(from, here, memory);
    }
    static __device__ __forceinline__ void store(T* to, int here, const T* memory) {
        Run::store(to, here, memory);
    }
    /// Where value e of matrix m is in shared memory.
    static __device__ __forceinline__ int place(int m, int e) { return m * stride + e; }
    __device__ __forceinline__ int original_row(int s) const { return row[s]; }
    /// Writes the factors to shared memory.
    __device__ __forceinline__ void put() {
#pragma unroll
        for (int k = 0; k < n * n; k += width) {
            Pack16<T> pack;
#pragma unroll
            for (int e = 0; e < width; ++e) pack.value[e] = a[k + e];
            *reinterpret_cast<Pack16<T>*>(staged + k) = pack;
        }
    }
};

/// A matrix of 16 rows in the registers of a group of `Lanes` lanes, `rows` of them each.
/// Eliminations write the factors to shared memory as they go.
template <class T, int Lanes>
struct GroupMatrix {
    static constexpr int n = 16;
    static constexpr int lanes = Lanes;
    static constexpr int rows = n / Lanes;                   ///< A lane.
    static constexpr int width = pack_width<T>;              ///< Adjacent rows of a lane.
    static constexpr int turn = width * Lanes;               ///< Rows that all lanes have of these.
    static constexpr int matrices = 32 / Lanes;              ///< A warp.
    static constexpr int chunks = n * n / width;             ///< Of 16 bytes, a matrix.
    static constexpr int column_chunks = n / width;          ///< A column.
    static constexpr int pitch_chunks = chunks + Lanes % 8;  ///< From matrix to matrix.
    static constexpr int bytes = matrices * pitch_chunks * 16;  ///< A warp.
    static_assert(rows % width == 0);

    T a[rows][n];
    unsigned long long order;  ///< The rows in this lane's positions, four bits each, at the end.
    T* staged;
    int lane;

    __device__ __forceinline__ GroupMatrix(T* memory, int m)
        : staged(memory + m * pitch_chunks * width), lane(int(threadIdx.x) % Lanes) {
        const auto* const packs = reinterpret_cast<const Pack16<T>*>(staged);
#pragma unroll
        for (int j = 0; j < n; ++j) {
#pragma unroll
            for (int i = 0; i < rows; i += width) {
                const int c = (lane + i / width * Lanes) ^ swap(j);
                const auto pack = packs[j * column_chunks + c];
#pragma unroll
                for (int e = 0; e < width; ++e) a[i + e][j] = pack.value[e];
            }
        }
    }
    /// Row i of a lane.
    static __device__ __forceinline__ int row_of(int lane, int i) {
        return width * lane + i % width + turn * (i / width);
    }
    /// Whose row r is, and which one there.
    static __device__ __forceinline__ constexpr unsigned owner(unsigned r) {
        return r / width % Lanes;
    }
    static constexpr int index(int r) { return r % width + width * (r / turn); }
    /// Chunks of column j are exchanged, so that lanes that write one row meet in fewer banks.
    static __device__ __forceinline__ constexpr int swap(unsigned j) { return int(j % Lanes); }
    /// Value (i, j) of a matrix.
    static __device__ __forceinline__ int place_of(int i, int j) {
        return n * j + (i ^ (width * swap(j)));
    }
    static __device__ __forceinline__ int place(int m, int e) {
        return m * pitch_chunks * width + place_of(e % n, e / n);
    }
    __device__ __forceinline__ int original_row(int s) const { return int(order >> 4 * s) & 15; }
    __device__ __forceinline__ void put() {}
    static __device__ __forceinline__ void load(const T* from, int here, T* memory) {
        for_chunks(here, [&](int chunk, int at) {
            copy_to_shared<16>(reinterpret_cast<int4*>(memory) + at,
                               reinterpret_cast<const int4*>(from) + chunk);
        });
    }
    static __device__ __forceinline__ void store(T* to, int here, const T* memory) {
        for_chunks(here, [&](int chunk, int at) {
            reinterpret_cast<int4*>(to)[chunk] = reinterpret_cast<const int4*>(memory)[at];
        });
    }

  private:
    /// copy(chunk of the run, its place in shared memory) for what this lane copies of `here`
    /// matrices.
    template <class Copy>
    static __device__ __forceinline__ void for_chunks(int here, Copy&& copy) {
        const int thread = int(threadIdx.x) % 32;
        constexpr int columns = 32 / column_chunks;  // That a warp copies at once.
        static_assert(columns % Lanes == 0 || Lanes % columns == 0);
#pragma unroll
        for (int m = 0; m < matrices; ++m) {
#pragma unroll
            for (int c = 0; c < chunks; c += 32) {
                const int column = (c + thread) / column_chunks;
                if (m < here) {
                    copy(m * chunks + c + thread, m * pitch_chunks + ((c + thread) ^ swap(column)));
                }
            }
        }
    }
};

/// The matrices of a warp whose bit is set in `odd`, those that a group could not finish, by the
/// teams of the general kernel. Apart, so that what is rarely wanted takes no registers.
template <class Method, int n, class T>
__device__ __noinline__ void factorise_odd(const FactorJob<T>& job, unsigned odd, Offset first,
                                           unsigned char* memory) {
    using Team = WarpTeam<n>;
    const Team team;
    const int number = int(threadIdx.x) % 32 / n;
    const auto mine = team_memory<T, Team>(memory, factor_bytes<T>(n, n), number, n);
    while (odd != 0) {
        int m = __ffs(int(odd)) - 1;
        bool here = false;
        for (int k = 0; k < 32 / n && odd != 0; ++k, odd &= odd - 1) {
            if (k != number) continue;
            m = __ffs(int(odd)) - 1;
            here = true;
        }
        __syncwarp();
        factorise<Method, T, Team, SharedRows<T>>(team, mine, job, false, n, first + m, here);
    }
}

/// The permutations of matrix b, of which this lane writes `Matrix::rows` positions.
template <class Matrix>
__device__ __forceinline__ void write_permutations(const PermutationsView<Index>& p, Offset b,
                                                   const Matrix& matrix) {
    const int first = int(threadIdx.x) % Matrix::lanes * Matrix::rows;
    const Offset start = (p.offsets != nullptr ? p.offsets[b] : b * p.stride) + first;
    const bool packs = p.offsets == nullptr && p.stride % 4 == 0 && Matrix::rows % 4 == 0;
    const auto write = [&](Index* to, auto&& of) {
        if (to == nullptr) return;
        if (packs && reinterpret_cast<unsigned long long>(to) % 16 == 0) {
#pragma unroll
            for (int s = 0; s < Matrix::rows; s += 4) {
                *reinterpret_cast<int4*>(to + start + s) =
                    make_int4(of(s), of(s + 1), of(s + 2), of(s + 3));
            }
        } else {
#pragma unroll
            for (int s = 0; s < Matrix::rows; ++s) to[start + s] = of(s);
        }
    };
    write(p.rows, [&](int s) { return matrix.original_row(s); });
    write(p.columns, [&](int s) { return first + s; });
}

/// LDU or LL^T by Method, fully unrolled; one matrix per Matrix::lanes lanes, whole rows in
/// registers, staged in shared memory by cp.async. A matrix with a pivot near the ends of the range
/// (Method::eliminate returns false) is left unwritten and factored by Method::General.
template <class Method, class Matrix, class T, int blocks>
__global__ void __launch_bounds__(factor_threads, blocks)
    factor_groups_kernel(const __grid_constant__ FactorJob<T> job) {
    constexpr int n = Matrix::n;
    constexpr int matrices = Matrix::matrices;
    extern __shared__ __align__(16) unsigned char group_memory[];
    begin_dependent();
    const int warp = int(threadIdx.x) / 32;
    const int lane = int(threadIdx.x) % 32;
    unsigned char* const memory = group_memory + warp * Matrix::bytes;
    T* const staged = reinterpret_cast<T*>(memory);
    const Offset first = (Offset(blockIdx.x) * (factor_threads / 32) + warp) * matrices;
    const int here = int(min(Offset(matrices), job.a.count - first));
    if (here <= 0) return;
    Matrix::load(job.a.values + first * (n * n), here, staged);
    wait_for_copies();
    const int m = lane / Matrix::lanes;
    const Offset b = first + min(m, here - 1);
    const T tau = threshold_of(job.options, b, T(1));
    Matrix matrix(staged, Matrix::lanes == 1 ? min(m, here - 1) : m);
    __syncwarp();  // Lanes without a matrix have read the last one.
    const bool plain = Method::eliminate(matrix, tau) || m >= here;
    if (plain && m < here) matrix.put();
    __syncwarp();
    if (plain && m < here) {
        if (job.results.info != nullptr && lane % Matrix::lanes == 0) job.results.info[b] = 0;
        write_permutations(job.permutations, b, matrix);
    }
    const unsigned odd = __ballot_sync(full_warp, !plain && lane % Matrix::lanes == 0);
    T* const to = job.f.values + first * (n * n);
    if (odd == 0) return Matrix::store(to, here, staged);
    // In place the others must still be there when their turn comes.
    unsigned left = 0;
    for (int k = 0; k < here; ++k) {
        if ((odd >> k * Matrix::lanes & 1) != 0) {
            left |= 1u << k;
            continue;
        }
        for (int e = lane; e < n * n; e += 32) to[k * n * n + e] = staged[Matrix::place(k, e)];
    }
    __syncwarp();
    factorise_odd<typename Method::General, n>(job, left, first, memory);
}

/// False where the batch is no run of matrices of Matrix::n rows, or asks for more than factors,
/// permutations and info.
template <class Method, class Matrix, int blocks, class T>
bool factorise_by_groups(const Context& context, const FactorJob<T>& job) {
    if (job.a.size != Matrix::n || !is_aligned_run(job.a) || !is_aligned_run(job.f) ||
        is_told(job.results) || job.options.relative) {
        return false;
    }
    static_assert(Matrix::bytes >= factor_bytes<T>(Matrix::n, Matrix::n));
    constexpr int warps = factor_threads / 32;
    launch_dependent(factor_groups_kernel<Method, Matrix, T, blocks>,
                     blocks_for(job.a.count, warps * Matrix::matrices), factor_threads,
                     warps * Matrix::bytes, stream_of(context), job);
    return true;
}

}  // namespace

}  // namespace tessera::batched::cuda
