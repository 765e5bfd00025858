#pragma once

#include "gpu/load.cuh"
#include "gpu/sums.cuh"
#include "sparse/power_below_root.hpp"
#include "sparse/spmv_sliced/task.hpp"

/// What the products of sliced matrices load and store: columns, values and x of blocks, results of
/// rows.
namespace tessera::cuda {

/// *from where `wanted`, else zero: one predicated instruction, so that many reads can be under
/// way. For what is read once in a product: it takes no place in L1, which x needs, and leaves L2
/// early, unless it `Stays` there.
template <bool Stays = false, class Element>
__device__ __forceinline__ Element load_once(const Element* from, bool wanted = true) {
    Element to;
    if constexpr (sizeof(Element) == 8) {
        unsigned long long bits = 0;
        if constexpr (Stays) {
            asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.b64 %0, [%1]; }"
                         : "+l"(bits)
                         : "l"(from), "r"(int(wanted)));
        } else {
            asm volatile(
                "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L1::no_allocate.b64 %0, "
                "[%1]; }"
                : "+l"(bits)
                : "l"(from), "r"(int(wanted)));
        }
        memcpy(&to, &bits, 8);
    } else if constexpr (sizeof(Element) == 4) {
        unsigned bits = 0;
        if constexpr (Stays) {
            asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.b32 %0, [%1]; }"
                         : "+r"(bits)
                         : "l"(from), "r"(int(wanted)));
        } else {
            asm volatile(
                "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L1::no_allocate.b32 %0, "
                "[%1]; }"
                : "+r"(bits)
                : "l"(from), "r"(int(wanted)));
        }
        memcpy(&to, &bits, 4);
    } else {
        static_assert(sizeof(Element) == 2);
        unsigned short bits = 0;
        if constexpr (Stays) {
            asm volatile("{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.b16 %0, [%1]; }"
                         : "+h"(bits)
                         : "l"(from), "r"(int(wanted)));
        } else {
            asm volatile(
                "{ .reg .pred p; setp.ne.s32 p, %2, 0; @p ld.global.nc.L1::no_allocate.b16 %0, "
                "[%1]; }"
                : "+h"(bits)
                : "l"(from), "r"(int(wanted)));
        }
        memcpy(&to, &bits, 2);
    }
    return to;
}

/// x of a block column where `wanted`, else zeros. Where B does not divide the columns of the
/// matrix, those past its end, whose values are zero, stand for the last one. `Pairs`: B is even
/// and divides the columns, x is aligned to two elements.
template <int B, bool Pairs, class T>
__device__ __forceinline__ void load_x(const T* x, Index block_column, Index columns, bool wanted,
                                       T (&to)[B]) {
    if constexpr (Pairs) {
        using Pair = Pack<T, 2>;
        const Pair* const from = reinterpret_cast<const Pair*>(x) + Offset(block_column) * (B / 2);
#pragma unroll
        for (int c = 0; c < B / 2; ++c) {
            const Pair pair = load_if(wanted, from + c, Pair{});
            to[2 * c] = pair.value[0];
            to[2 * c + 1] = pair.value[1];
        }
    } else {
        const unsigned first = unsigned(block_column) * B;
        const unsigned last = unsigned(columns) - 1;
#pragma unroll
        for (int c = 0; c < B; ++c) {
            to[c] = load_if(wanted, x + (B == 1 ? first : min(first + c, last)), T(0));
        }
    }
}

/// z of the rows from each of `first` on, and their part of r^T z.
template <int B, int Rows, class T>
__device__ __forceinline__ double store_scaled(const ScaledTarget& to, const Offset (&first)[Rows],
                                               Index rows, const T (&values)[Rows][B]) {
    const double factor = widening_factor(to.square);
    double scale[Rows][B], against[Rows][B];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const Offset at = first[i] + j;
            scale[i][j] = load_if(at < rows && to.d != nullptr, to.d + at, 1.0);
            against[i][j] = load_if(at < rows && to.rz != nullptr, to.r + at, 0.0);
        }
    }
    double dot = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < B; ++j) {
            if (first[i] + j >= rows) continue;
            const double value = scale[i][j] * double(values[i][j]) * factor;
            to.z[first[i] + j] = value;
            dot = fma(against[i][j], value, dot);
        }
    }
    return dot;
}

/// SlicedPattern::block_row of blocks of B rows, where slices have `Height` block rows: no division
/// by what only the view knows. The numbers of rows of larger blocks have 32 bits, since registers
/// are short there; with smaller ones 64 bits leave the compiler more of them.
template <int B, int Height>
__device__ __forceinline__ auto block_row(const SlicedPattern& a, Offset p) {
    using Row = std::conditional_t < B<3, Offset, unsigned>;
    const unsigned at = unsigned(p);
    if (a.permutation != nullptr) {
        const unsigned rows = unsigned(a.rows) / B + (unsigned(a.rows) % B != 0);
        return at < rows ? Row(a.permutation[at]) : Row(at);
    }
    const unsigned lane = at % Height;
    return a.paired ? Row(at - lane + lane / 2 + (lane % 2) * (Height / 2)) : Row(at);
}

/// The results of the block rows at `Rows` adjacent positions from p on. What they are made of is
/// read first, so that all of it is under way together. Gives the part of these rows in the dot.
template <int B, int Height, int Rows, class Stored, class T>
__device__ __forceinline__ double store_rows(const SlicedTask<Stored, T>& task, Offset p,
                                             T (&sums)[Rows][B]) {
    const Index rows = task.matrix.rows;
    const SlicedEnd<T>& end = task.end;
    const RecurrenceStep<T>& step = end.step;
    Offset first[Rows];
    T own[Rows][B], before[Rows][B], given[Rows][B];
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        if constexpr (Rows > 1 && Height > 0) {
            first[i] = Offset(block_row<B, Height>(task.matrix, p + i)) * B;
        } else {
            first[i] = task.matrix.block_row(p + i) * B;
        }
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const Offset at = first[i] + j;
            const bool here = at < rows;
            own[i][j] =
                load_if(here && (step.own != T(0) || end.dot != nullptr), task.x + at, T(0));
            before[i][j] = here && step.before != T(0) ? end.y[at] : T(0);
            given[i][j] = load_if(here && step.given != T(0), end.r + at, T(0));
        }
    }
    double dot = 0;
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
#pragma unroll
        for (int j = 0; j < B; ++j) {
            T value = step.product * sums[i][j];
            if (step.own != T(0)) value = fma(step.own, own[i][j], value);
            if (step.before != T(0)) value = fma(step.before, before[i][j], value);
            if (step.given != T(0)) value = fma(step.given, given[i][j], value);
            sums[i][j] = value;
            if (end.wide.z != nullptr || first[i] + j >= rows) continue;
            end.to[first[i] + j] = value;
            dot = fma(double(own[i][j]), double(value), dot);
        }
    }
    return end.wide.z == nullptr ? dot : store_scaled<B>(end.wide, first, rows, sums);
}

/// The block column of a slot, whatever it is kept in.
__device__ __forceinline__ Index load_column(const SlicedPattern& a, Offset slice, Offset slot) {
    return a.column_offsets == nullptr
               ? __ldg(a.block_columns + slot)
               : __ldg(a.first_columns + slice) + __ldg(a.column_offsets + slot);
}

}  // namespace tessera::cuda
