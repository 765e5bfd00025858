#include <algorithm>
#include <cstdint>

#include "gpu/for_each.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Values of products of matrices of blocks.
namespace tessera::cuda {

namespace {

constexpr int product_threads = 128;

/// The first of `length` ascending columns that is not below `column`; `length`: none.
__device__ inline int place_of(const Index* columns, int length, Index column) {
    int low = 0, high = length;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (columns[middle] < column) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/// The products of blocks that a warp sums: of some blocks of a row of A with those blocks of B
/// that are in some columns of a row of C, ordered by column.
template <int Numbers, class T>
struct ProductList {
    static constexpr int most = 32;   ///< Blocks of A.
    static constexpr int slots = 64;  ///< Columns.
    Offset first[most];               ///< By block of A: of the blocks of B in the columns.
    int starts[most + 1];             ///< How many of them there are before.
    Index columns[slots];
    unsigned hits[slots];              ///< Bit k: block k of A contributes ...
    std::uint8_t places[most][slots];  ///< ... with this one of the blocks in the columns.
    int before[slots + 1];             ///< Products of the columns before.
    T heads[32][Numbers];              ///< See sum_products_kernel.

    /// `count` blocks of A from `begin` on, the first `used` columns.
    __device__ void read(const BsrView<T>& a, const BsrView<T>& b, Offset begin, int count,
                         int used) {
        const int lane = int(threadIdx.x) % 32;
        int length = 0;
        if (lane < count) {
            const Index row = a.column_indices[begin + lane];
            const Offset start = b.row_offsets[row];
            const Index* const found = b.column_indices + start;
            const int all = int(b.row_offsets[row + 1] - start);
            const int low = place_of(found, all, columns[0]);
            first[lane] = start + low;
            length = place_of(found + low, all - low, columns[used - 1] + 1);
        }
        starts[lane + 1] = warp_inclusive_scan(length);
        if (lane == 0) starts[0] = 0;
        for (int s = lane; s < slots; s += 32) hits[s] = 0;
        __syncwarp();
        for (int p = lane; p < starts[count]; p += 32) {
            int k = 0;
            for (int step = most / 2; step > 0; step /= 2) {
                if (k + step < count && starts[k + step] <= p) k += step;
            }
            const int t = p - starts[k];
            const int slot = place_of(columns, used, b.column_indices[first[k] + t]);
            places[k][slot] = std::uint8_t(t);
            atomicOr(hits + slot, 1u << k);
        }
        __syncwarp();
        const int even = __popc(hits[2 * lane]), odd = __popc(hits[2 * lane + 1]);
        const int sum = warp_inclusive_scan(even + odd);
        before[2 * lane + 1] = sum - odd;
        before[2 * lane + 2] = sum;
        if (lane == 0) before[0] = 0;
        __syncwarp();
    }
};

/// `count` consecutive numbers, the constant N if that is not 0; two at a time where N is even.
template <int N, class T, int Room>
__device__ void load(const T* from, int count, T (&to)[Room]) {
    if constexpr (N > 0 && N % 2 == 0) {
        struct alignas(2 * sizeof(T)) Pair {
            T first, second;
        };
#pragma unroll
        for (int e = 0; e < N; e += 2) {
            const Pair pair = *reinterpret_cast<const Pair*>(from + e);
            to[e] = pair.first;
            to[e + 1] = pair.second;
        }
    } else {
#pragma unroll
        for (int e = 0; e < Room; ++e) {
            if (e < count) to[e] = from[e];
        }
    }
}

/// C = A B: a warp for some columns of a row of C, `parts` warps for a row. The threads that share
/// a block, one or three of its rows each, are a worker; workers get equal shares of the list of
/// products. Sizes are constants where they are not 0.
template <int Height, int Inner, int Width, class T>
__global__ void __launch_bounds__(product_threads)
    sum_products_kernel(const __grid_constant__ BsrView<T> a, const __grid_constant__ BsrView<T> b,
                        const __grid_constant__ BsrView<T> c, T* values, bool upper, int parts) {
    const int height = Height > 0 ? Height : a.height, inner = Inner > 0 ? Inner : a.width,
              width = Width > 0 ? Width : b.width;
    constexpr int inner_room = Inner > 0 ? Inner : max_bsr_block,
                  room = Width > 0 ? Width : max_bsr_block, own_rows = Height == 6 ? 3 : 1;
    using List = ProductList<own_rows * room, T>;
    __shared__ List lists[product_threads / 32];
    List& list = lists[threadIdx.x / 32];
    const Offset warp = (Offset(blockIdx.x) * product_threads + threadIdx.x) / 32;
    const Index i = Index(warp / parts);
    if (i >= a.block_rows) return;
    const int lane = int(threadIdx.x) % 32, team = height / own_rows, worker = lane / team,
              member = lane % team, workers = 32 / team;
    const Offset row_end = c.row_offsets[i + 1], a_begin = a.row_offsets[i],
                 a_end = a.row_offsets[i + 1];
    Offset row_begin = c.row_offsets[i];
    if (upper) {
        row_begin += place_of(c.column_indices + row_begin, int(row_end - row_begin), i);
    }
    const int length = int(row_end - row_begin), share_of_row = (length + parts - 1) / parts,
              last = min(length, int(warp % parts + 1) * share_of_row);
    for (int group = int(warp % parts) * share_of_row; group < last; group += List::slots) {
        const int used = min(List::slots, last - group);
        for (int s = lane; s < used; s += 32) {
            list.columns[s] = c.column_indices[row_begin + group + s];
        }
        __syncwarp();
        const auto entries = [&](int slot) {
            return values + ((row_begin + group + slot) * height + member * own_rows) * width;
        };
        for (Offset begin = a_begin; begin < a_end; begin += List::most) {
            list.read(a, b, begin, int(min(Offset(List::most), a_end - begin)), used);
            const auto add = [&](int slot, const T(&sums)[own_rows][room]) {
                T* const to = entries(slot);
#pragma unroll
                for (int e = 0; e < own_rows * room; ++e) {
                    T* const entry = to + e / room * width + e % room;
                    if (e % room >= width) continue;
                    *entry = (begin == a_begin ? T(0) : *entry) + sums[e / room][e % room];
                }
            };
            const int total = list.before[used], share = (total + workers - 1) / workers;
            int at = min(worker * share, total);
            const int end = worker < workers ? min(at + share, total) : at;
            // The last column that begins at `at` or before it.
            int slot = place_of(list.before, used + 1, at + 1) - 1;
            unsigned open = slot < used ? list.hits[slot] : 0;
            for (int skip = slot < used ? at - list.before[slot] : 0; skip > 0; --skip) {
                open &= open - 1;
            }
            // Sums of a column that the worker before began go to `heads`; who began it adds them.
            bool is_head = open != 0 && at > list.before[slot], is_open = false;
            T sums[own_rows][room] = {};
            const auto put_head = [&] {
#pragma unroll
                for (int e = 0; e < own_rows * room; ++e) {
                    list.heads[lane][e] = sums[e / room][e % room];
                }
            };
            while (at < end) {
                const int k = __ffs(int(open)) - 1;
                const Offset block = list.first[k] + list.places[k][slot];
                T left[own_rows][inner_room], right[room];
#pragma unroll
                for (int r = 0; r < own_rows; ++r) {
                    const Offset row = (begin + k) * height + member * own_rows + r;
                    load<Inner>(a.values + row * inner, inner, left[r]);
                }
#pragma unroll
                for (int n = 0; n < inner_room; ++n) {
                    if (n >= inner) continue;
                    load<Width>(b.values + (block * inner + n) * width, width, right);
#pragma unroll
                    for (int e = 0; e < own_rows * room; ++e) {
                        if (e % room < width) {
                            sums[e / room][e % room] += left[e / room][n] * right[e % room];
                        }
                    }
                }
                open &= open - 1;
                is_open = ++at < list.before[slot + 1];
                if (is_open) continue;
                if (is_head) {
                    put_head();
                } else {
                    add(slot, sums);
                }
                is_head = false;
#pragma unroll
                for (int e = 0; e < own_rows * room; ++e) sums[e / room][e % room] = 0;
                if (at == end) break;
                do {
                    open = list.hits[++slot];
                } while (open == 0);
            }
            if (is_open && is_head) put_head();
            __syncwarp();
            if (is_open && !is_head) {
                for (int next = worker + 1; next * share < list.before[slot + 1]; ++next) {
#pragma unroll
                    for (int e = 0; e < own_rows * room; ++e) {
                        sums[e / room][e % room] += list.heads[next * team + member][e];
                    }
                }
                add(slot, sums);
            }
            const T zeros[own_rows][room] = {};
            for (int s = worker; worker < workers && s < used; s += workers) {
                if (begin == a_begin && list.hits[s] == 0) add(s, zeros);
            }
            __syncwarp();
        }
    }
}

/// C = A B of single entries: every lanes-th entry of a row of C.
template <class T>
struct SumEntries {
    static constexpr int work = 64;
    int lanes;
    BsrView<T> a, b, c;
    T* values;
    bool upper;

    __device__ void operator()(Offset place) const {
        const Offset i = place / lanes;
        for (Offset to = c.row_offsets[i] + place % lanes; to < c.row_offsets[i + 1]; to += lanes) {
            const Index column = c.column_indices[to];
            if (upper && column < i) continue;
            T sum = 0;
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index row = a.column_indices[k];
                const Offset begin = b.row_offsets[row];
                const int length = int(b.row_offsets[row + 1] - begin);
                const int at = place_of(b.column_indices + begin, length, column);
                if (at < length && b.column_indices[begin + at] == column) {
                    sum += a.values[k] * b.values[begin + at];
                }
            }
            values[to] = sum;
        }
    }
};

}  // namespace

template <class T>
void sum_products(const Context& context, const BsrView<T>& a, const BsrView<T>& b,
                  const BsrView<T>& c, T* values, bool upper) {
    if (a.block_rows == 0) return;
    // Short rows of single entries: several threads look for the terms of one.
    if (a.block_size() * b.block_size() == 1 && a.blocks < 32 * Offset(a.block_rows)) {
        constexpr int lanes = 4;
        return for_each_index(context, Offset(a.block_rows) * lanes,
                              SumEntries<T>{lanes, a, b, c, values, upper});
    }
    auto* kernel = &sum_products_kernel<0, 0, 0, T>;
    const auto use = [&](int height, int inner, int width, auto* chosen) {
        if (a.height == height && a.width == inner && b.width == width) kernel = chosen;
    };
    // The unknowns of a node and the near-null vectors of elasticity and diffusion.
    use(1, 1, 1, &sum_products_kernel<1, 1, 1, T>);
    use(2, 2, 3, &sum_products_kernel<2, 2, 3, T>);
    use(3, 2, 3, &sum_products_kernel<3, 2, 3, T>);
    use(3, 3, 3, &sum_products_kernel<3, 3, 3, T>);
    use(3, 3, 6, &sum_products_kernel<3, 3, 6, T>);
    use(6, 3, 6, &sum_products_kernel<6, 3, 6, T>);
    use(6, 6, 6, &sum_products_kernel<6, 6, 6, T>);
    // Warps that fill the GPU, if rows of the product have at least 2 blocks for each.
    constexpr Offset warps = 16384;
    const Offset parts = std::max<Offset>(
        1, std::min((warps + a.block_rows - 1) / a.block_rows, c.blocks / a.block_rows / 2));
    kernel<<<blocks_for(a.block_rows * parts, product_threads / 32), product_threads, 0,
             stream_of(context)>>>(a, b, c, values, upper, int(parts));
    TESSERA_CUDA(cudaGetLastError());
}

template void sum_products(const Context&, const BsrView<float>&, const BsrView<float>&,
                           const BsrView<float>&, float*, bool);
template void sum_products(const Context&, const BsrView<double>&, const BsrView<double>&,
                           const BsrView<double>&, double*, bool);

}  // namespace tessera::cuda
