#include <algorithm>
#include <bit>

#include "base/zeros.hpp"
#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "sparse/bsr/kernels.hpp"
#include "sparse/bsr/rows.hpp"

// Patterns of products of matrices of blocks.
namespace tessera::cuda {

namespace {

/// `Threads` threads of a thread block that find the columns of a row together: a part of a warp,
/// or all threads of the block.
template <int Threads>
struct RowGroup {
    static constexpr int block_threads = Threads > 128 ? Threads : 128;
    static constexpr int per_block = block_threads / Threads;
    static constexpr unsigned lanes =
        Threads < 32 ? Threads : 32;  ///< Lanes of a warp that share a row.
    /// Slots for columns in shared memory.
    static constexpr unsigned slots = Threads < 32 ? 64 : Threads == 32 ? 512 : 2048;
    /// Rows of up to 2^short_exponent columns are kept when these are counted.
    static constexpr int short_exponent = Threads < 32 ? 4 : 6;

    static __device__ unsigned rank() { return threadIdx.x % Threads; }
    static __device__ unsigned lane() { return threadIdx.x % lanes; }
    static __device__ unsigned mask() {
        return (full_warp >> (32 - lanes)) << (threadIdx.x % 32 / lanes * lanes);
    }
    static __device__ void sync() {
        if constexpr (Threads > 32) {
            __syncthreads();
        } else {
            __syncwarp(mask());
        }
    }
    /// Whether a condition is true in any thread of the group.
    static __device__ bool any(bool condition) {
        if constexpr (Threads > 32) return __syncthreads_or(condition) != 0;
        return __any_sync(mask(), condition) != 0;
    }
    /// The sum over the group, in all of its threads. `total` is in shared memory.
    static __device__ Offset sum(Offset own, unsigned long long* total) {
#pragma unroll
        for (unsigned distance = lanes / 2; distance > 0; distance /= 2) {
            own += __shfl_xor_sync(mask(), own, distance);
        }
        if constexpr (Threads > 32) {
            if (rank() == 0) *total = 0;
            sync();
            if (lane() == 0) atomicAdd(total, static_cast<unsigned long long>(own));
            sync();
            own = Offset(*total);
            sync();
        }
        return own;
    }
};

/// Column numbers in an open-addressing table of a power of two of slots, shared by a group.
struct ColumnTable {
    Index* slots;
    unsigned mask;  ///< Slots - 1.

    /// Adds a column and counts it if it is new; false if there is no room.
    __device__ bool insert(Index column, Offset* added) const {
        unsigned at = unsigned(column) * 0x9E3779B1u >> 8 & mask;
        for (unsigned tries = 0; tries <= mask; ++tries) {
            // Most columns are there already, and reading costs less than an atomic operation.
            Index found = *static_cast<volatile Index*>(slots + at);
            if (found == -1) found = atomicCAS(slots + at, -1, column);
            if (found == -1) ++*added;
            if (found == -1 || found == column) return true;
            at = (at + 1) & mask;
        }
        return false;
    }
};

/// What a group shares.
struct GroupState {
    unsigned long long total;
    int written;
};

/// The blocks of a row of B that an entry of A takes.
struct RowTaken {
    const Index* columns = nullptr;
    int length = 0;

    RowTaken() = default;
    template <class T>
    __device__ RowTaken(const BsrView<T>& a, const BsrView<T>& b, Offset k, Offset a_end) {
        if (k >= a_end) return;
        const Index row = a.column_indices[k];
        const Offset begin = b.row_offsets[row];
        columns = b.column_indices + begin;
        length = int(b.row_offsets[row + 1] - begin);
    }
    /// The value of another lane of a group.
    template <class Group>
    __device__ RowTaken of_lane(int lane) const {
        RowTaken other;
        other.columns = reinterpret_cast<const Index*>(__shfl_sync(
            Group::mask(), reinterpret_cast<unsigned long long>(columns), lane, Group::lanes));
        other.length = __shfl_sync(Group::mask(), length, lane, Group::lanes);
        return other;
    }
};

/// A power of two of at least 32 slots for some columns, at most `most`.
__device__ inline unsigned slots_for(Offset columns, unsigned most) {
    unsigned slots = 32;
    while (slots < most && slots / 4 * 3 < columns) slots *= 2;
    return slots;
}

/// The blocks of all rows of B that block row i of A takes.
template <int Threads, class T>
__device__ Offset blocks_taken(const BsrView<T>& a, const BsrView<T>& b, Index i,
                               GroupState* state) {
    using Group = RowGroup<Threads>;
    Offset blocks = 0;
    const Offset a_end = a.row_offsets[i + 1];
    for (Offset k = a.row_offsets[i] + Group::rank(); k < a_end; k += Threads) {
        blocks += RowTaken(a, b, k, a_end).length;
    }
    return Group::sum(blocks, &state->total);
}

/// The distinct columns of block row i of A B, 2^exponent lanes for a row of B. Returns their
/// number, or -1 where the table has no room for them.
template <int Threads, class T>
__device__ Index collect_columns(const BsrView<T>& a, const BsrView<T>& b, Index i, int exponent,
                                 const ColumnTable& table, GroupState* state) {
    using Group = RowGroup<Threads>;
    const unsigned rank = Group::rank(), lane = Group::lane();
    const int sharers = 1 << exponent, share = int(lane) & (sharers - 1);
    for (unsigned s = rank; s <= table.mask; s += Threads) table.slots[s] = -1;
    Group::sync();
    Offset added = 0;
    bool fits = true;
    const Offset a_end = a.row_offsets[i + 1];
    for (Offset first = a.row_offsets[i] + (rank - lane); first < a_end; first += Threads) {
        const RowTaken row(a, b, first + lane, a_end);
        const unsigned count = unsigned(min(Offset(Group::lanes), a_end - first));
        for (unsigned done = 0; done < count; done += Group::lanes >> exponent) {
            const RowTaken taken = row.of_lane<Group>(int(done + (lane >> exponent)));
            for (int t = share; fits && t < taken.length; t += sharers) {
                fits = table.insert(taken.columns[t], &added);
            }
            // The vote also brings lanes together again whose loops have parted.
            fits = __all_sync(Group::mask(), fits) != 0;
        }
        if (!fits) break;
    }
    Group::sync();
    if (Group::any(!fits)) return -1;
    return Index(Group::sum(added, &state->total));
}

/// Writes the columns in a table in ascending order; `list` has room for them.
template <int Threads>
__device__ void write_columns(const ColumnTable& table, Index count, Index* list, Index* to,
                              GroupState* state) {
    using Group = RowGroup<Threads>;
    const unsigned rank = Group::rank(), before = (1u << threadIdx.x % 32) - 1;
    int written = 0;  // Columns written by a group within a warp.
    if (Threads > 32 && rank == 0) state->written = 0;
    Group::sync();
    for (unsigned first = 0; first <= table.mask; first += Threads) {
        const unsigned s = first + rank;
        const Index column = s <= table.mask ? table.slots[s] : -1;
        const unsigned used = __ballot_sync(Group::mask(), column >= 0) & Group::mask();
        int place = written;
        if constexpr (Threads > 32) {
            if (Group::lane() == 0) place = atomicAdd(&state->written, __popc(used));
            place = __shfl_sync(Group::mask(), place, 0, Group::lanes);
        }
        written += __popc(used);
        if (column >= 0) list[place + __popc(used & before)] = column;
    }
    Group::sync();
    for (Index e = Index(rank); e < count; e += Threads) {
        const Index column = list[e];
        Index place = 0;
        for (Index other = 0; other < count; ++other) place += list[other] < column;
        to[place] = column;
    }
    Group::sync();
}

/// What a kernel finds while it counts.
struct Found {
    int overflow;  ///< Whether a row does not fit.
    int longer;    ///< Whether a row fits that is not kept.
};

/// Where the tables of a kernel are, and what rows it takes.
struct Tables {
    Index* memory;      ///< Null: in shared memory.
    unsigned slots;     ///< Maximum slots of a table, followed by as many for a list.
    Index min_columns;  ///< Rows with fewer columns are not written by this kernel.
    Index* kept;        ///< The columns of each row with up to `max_kept`, in as many places.
    Index max_kept;
    Found* found;
};

/// A column that was kept.
struct CopyKept {
    static constexpr int work = 2;
    int exponent;  ///< 2^exponent places for a row.
    const Index *kept, *counts;
    const Offset* offsets;
    Index* columns;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place >> exponent, e = place - (i << exponent);
        const Index count = counts[i];
        if (e < count && count <= 1 << exponent) columns[offsets[i] + e] = kept[place];
    }
};

/// Counts the columns of the block rows with the count -1, or writes them in ascending order
/// (`columns` not null). Rows that do not fit keep the count -1.
template <int Threads, class T>
__global__ void __launch_bounds__(RowGroup<Threads>::block_threads)
    product_pattern_kernel(const __grid_constant__ BsrView<T> a,
                           const __grid_constant__ BsrView<T> b, Index* counts,
                           const Offset* offsets, Index* columns, Tables tables, int exponent) {
    using Group = RowGroup<Threads>;
    __shared__ Index small[Group::per_block][2 * Group::slots];
    __shared__ GroupState states[Group::per_block];
    const unsigned number = threadIdx.x / Threads;
    const Offset group = Offset(blockIdx.x) * Group::per_block + number;
    GroupState* const state = states + number;
    Index* const memory =
        tables.memory != nullptr ? tables.memory + group * 2 * tables.slots : small[number];
    for (Offset i = group; i < a.block_rows; i += Offset(gridDim.x) * Group::per_block) {
        const Index known = counts[i];
        if (columns == nullptr) {
            if (known >= 0) continue;
        } else if (known < tables.min_columns || unsigned(known) > tables.slots) {
            continue;
        }
        // Short rows have no need of a better guess.
        const Offset guess = columns != nullptr ? 2 * Offset(known)
                             : Threads < 32     ? Offset(tables.slots)
                                                : blocks_taken<Threads>(a, b, Index(i), state);
        const unsigned slots = slots_for(guess, tables.slots);
        const ColumnTable table{memory, slots - 1};
        const Index count = collect_columns<Threads>(a, b, Index(i), exponent, table, state);
        if (columns != nullptr) {
            write_columns<Threads>(table, count, memory + slots, columns + offsets[i], state);
            continue;
        }
        const bool keeps = count >= 0 && count <= tables.max_kept;
        if (keeps) {
            write_columns<Threads>(table, count, memory + slots, tables.kept + i * tables.max_kept,
                                   state);
        }
        if (Group::rank() == 0) {
            counts[i] = count;
            if (count < 0) tables.found->overflow = 1;
            if (count >= 0 && !keeps) tables.found->longer = 1;
        }
    }
}

/// The columns of the rows of A B, by kernels for shorter and then for longer rows.
template <class T>
class ProductPattern {
  public:
    ProductPattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b)
        : context_(context),
          a_(a),
          b_(b),
          counts_(context, a.block_rows),
          exponent_(b.blocks <= b.block_rows              ? 0
                    : b.blocks < 5 * Offset(b.block_rows) ? 2
                                                          : 3) {}

    /// The number of columns of each row.
    const Index* count() {
        if (a_.block_rows == 0) return nullptr;
        TESSERA_CUDA(cudaMemsetAsync(counts_.data(), 0xff,
                                     std::size_t(counts_.size()) * sizeof(Index),
                                     stream_of(context_)));  // -1
        const double taken = double(a_.blocks) / a_.block_rows * double(b_.blocks) / b_.block_rows;
        const unsigned few = RowGroup<8>::slots;  // A table of half of them is cleared faster.
        if (taken < few && fits<8>(taken < few / 4 ? few / 2 : few)) return counts_.data();
        // So many warps fill a GPU.
        if (a_.block_rows > 8192 ? fits<32>(RowGroup<32>::slots)
                                 : fits<256>(RowGroup<256>::slots)) {
            return counts_.data();
        }
        // Rows with many columns take turns in some tables that have room for all.
        constexpr unsigned max_slots = 1u << 31;
        const unsigned slots =
            std::bit_ceil(std::min(unsigned(b_.block_columns), max_slots / 2) * 2);
        large_blocks_ = std::clamp((1u << 23) / slots, 16u, 1024u);
        large_ = Buffer<Index>(context_, Offset(large_blocks_) * 2 * slots);
        fits<256>(slots);
        return counts_.data();
    }
    /// Writes them; after `count`.
    void write(const Offset* offsets, Index* columns) {
        for_each_index(context_, kept_.size(),
                       CopyKept{kept_exponent_, kept_.data(), counts_.data(), offsets, columns});
        for (const auto& [run, tables] : runs_) (this->*run)(tables, offsets, columns);
    }

  private:
    template <int Threads>
    void launch(const Tables& tables, const Offset* offsets, Index* columns) {
        using Group = RowGroup<Threads>;
        const unsigned blocks =
            tables.memory != nullptr ? large_blocks_ : blocks_for(a_.block_rows, Group::per_block);
        product_pattern_kernel<Threads, T>
            <<<blocks, Group::block_threads, 0, stream_of(context_)>>>(
                a_, b_, counts_.data(), offsets, columns, tables, exponent_);
        TESSERA_CUDA(cudaGetLastError());
    }
    /// Counts the rows that are left; whether they have room in so many slots. Waits.
    template <int Threads>
    bool fits(unsigned slots) {
        Buffer<Found> found = zeros<Found>(context_, 1);
        Tables tables{large_.data(), slots, least_, nullptr, 0, found.data()};
        if (least_ == 0) {
            kept_exponent_ = RowGroup<Threads>::short_exponent;
            kept_ = Buffer<Index>(context_, Offset(a_.block_rows) << kept_exponent_);
            tables.kept = kept_.data();
            tables.max_kept = tables.min_columns = 1 << kept_exponent_;
            ++tables.min_columns;
        }
        launch<Threads>(tables, nullptr, nullptr);
        const Found seen = read_value(context_, found.data());
        if (seen.longer != 0) runs_.push_back({&ProductPattern::launch<Threads>, tables});
        least_ = Index(slots) + 1;
        return seen.overflow == 0;
    }

    const Context& context_;
    const BsrView<T>&a_, &b_;
    Buffer<Index> counts_, large_;
    Buffer<Index> kept_;  ///< By the first kernel that counts.
    int kept_exponent_ = 0;
    Index least_ = 0;  ///< Rows with fewer columns are counted.
    int exponent_;     ///< 2^exponent_ lanes share a row of B.
    unsigned large_blocks_ = 0;
    std::vector<std::pair<void (ProductPattern::*)(const Tables&, const Offset*, Index*), Tables>>
        runs_;
};

}  // namespace

template <class T>
BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    ProductPattern<T> pattern(context, a, b);
    Buffer<Offset> offsets(context, Offset(a.block_rows) + 1);
    exclusive_scan(context, a.block_rows, CountAt{pattern.count()}, offsets.data());
    const Offset blocks = read_value(context, offsets.data() + a.block_rows);
    BsrMatrix<T> product(context, a.block_rows, b.block_columns, a.height, b.width, blocks, false);
    pattern.write(offsets.data(), product.column_indices().data());
    product.row_offsets() = std::move(offsets);
    return product;
}

template BsrMatrix<float> product_pattern(const Context&, const BsrView<float>&,
                                          const BsrView<float>&);
template BsrMatrix<double> product_pattern(const Context&, const BsrView<double>&,
                                           const BsrView<double>&);

}  // namespace tessera::cuda
