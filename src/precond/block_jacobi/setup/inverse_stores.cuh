#pragma once

#include "precond/block_jacobi/kernels.hpp"
#include "precond/block_jacobi/storage/block_formats.hpp"

/// Output of the setup kernels: inverses in working precision or in their storage formats, and the
/// report of each block.
namespace tessera::cuda {

/// Inverses in working precision.
template <class T>
struct WorkingStore {
    static constexpr bool reduced = false;
    T* inverses;
    bool want_largest;

    /// f(write) for a block of n rows, whose values start at `entry`: write(column, row, value).
    template <class F>
    __device__ __forceinline__ void operator()(Index, Offset entry, int n, F&& f) const {
        T* const to = inverses + entry;
        f([&](int column, int row, T value) { to[column * n + row] = value; });
    }
    __device__ __forceinline__ void report_range(Index, T) const {}
};

/// Inverses in their storage formats.
template <class T>
struct FormatStore {
    static constexpr bool reduced = true;
    static constexpr bool want_largest = true;
    ReducedStore store;

    template <class F>
    __device__ __forceinline__ void operator()(Index b, Offset, int n, F&& f) const {
        std::byte* const to = store.bytes + store.blocks.starts[b] * store.blocks.unit;
        with_format<T>(store.blocks.format_of(b), [&](auto known) {
            constexpr BlockPrecision in = decltype(known)::value;
            auto* const values = reinterpret_cast<StoredBits<in>*>(to);
            f([&](int column, int row, T value) { values[column * n + row] = narrow<in>(value); });
        });
    }
    /// `largest`: the largest magnitude in the inverse, if that is finite.
    __device__ __forceinline__ void report_range(Index b, T largest) const {
        if (is_outside(store.blocks.format_of(b), double(largest)))
            atomicOr(&store.summary->outside, 1);
    }
};

/// Reports block b: info, reciprocal condition number and the largest magnitude in its inverse.
template <class T>
__device__ __forceinline__ void report_block(const SetupResults<T>& results, Offset b, int info,
                                             T reciprocal_condition, T largest) {
    results.info[b] = info;
    results.reciprocal_condition[b] = reciprocal_condition;
    if (results.largest != nullptr) results.largest[b] = largest;
    if (results.summary == nullptr) return;
    if (info != 0) atomicAdd(&results.summary->singular, 1);
    if (results.formats != nullptr &&
        !still_fits_format<T>(results.formats[b], double(reciprocal_condition), double(largest),
                              results.accuracy)) {
        atomicAdd(&results.summary->misfits, 1);
    }
}

/// Reports block b from the properties of the block and of its inverse of n rows.
template <class T, class Block, class Inverse>
__device__ __forceinline__ void report_inverse(const SetupResults<T>& results, Offset b, int n,
                                               int info, const Block& block,
                                               const Inverse& inverse) {
    if (info == 0 && !inverse.finite) info = n;
    report_block(results, b, info, info == 0 ? T(1) / block.norm / inverse.norm : T(0),
                 info == 0 ? inverse.largest : T(0));
}

/// f(store) with the store of a job.
template <bool Reduced, class T, class F>
void with_store(const SetupJob<T>& job, F&& f) {
    if constexpr (Reduced) {
        f(FormatStore<T>{job.reduced});
    } else {
        f(WorkingStore<T>{job.inverses, job.results.largest != nullptr});
    }
}

}  // namespace tessera::cuda
