#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/for_each.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"
#include "precond/rows_of_thread.hpp"
#include "tessera/csr.hpp"

// Loop bodies of for_each_index: one thread per entry, slot or block row of a matrix in its grid.

namespace tessera::incomplete {

/// Pivots of all diagonal blocks.
struct PivotSummary {
    double smallest = std::numeric_limits<double>::infinity();  ///< Smallest magnitude.
    Offset perturbed = 0;                                       ///< Number of raised pivots.
};

/// Adds |i - j| of the entries (i, j) of the rows of a thread to one of RowsOfThread::results sums.
template <class T>
struct SumDistances {
    static constexpr int work = 256;
    RowsOfThread rows;
    CsrView<T> matrix;
    std::uint64_t* sums;

    TESSERA_HOST_DEVICE void operator()(Offset thread) const {
        std::uint64_t own = 0;
        rows.visit(thread, [&](Offset i, Offset lane) {
            for (Offset e = matrix.row_offsets[i] + lane; e < matrix.row_offsets[i + 1];
                 e += rows.lanes) {
                const Index j = matrix.column_indices[e];
                own += std::uint64_t(i < j ? j - i : i - j);
            }
        });
        add_to(sums + thread % RowsOfThread::results, own);
    }
};

/// Sets *fault for a block with an entry on the wrong side of the diagonal blocks, or without any
/// in its own unless that has ones.
template <class T>
struct CheckTriangle {
    static constexpr int work = 256;
    CsrView<T> matrix;
    const Index* block_offsets;
    bool upper, unit_diagonal;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset block) const {
        const Index first = block_offsets[block], end = block_offsets[block + 1];
        bool found = unit_diagonal;
        for (Offset e = matrix.row_offsets[first]; e < matrix.row_offsets[end]; ++e) {
            const Index j = matrix.column_indices[e];
            if (upper ? j < first : j >= end) raise_flag(fault);
            found = found || (j >= first && j < end);
        }
        if (!found) raise_flag(fault);
    }
};

/// Scalings of the rows and columns of a matrix; null: none.
template <class T>
struct Scales {
    const T* rows = nullptr;
    const T* columns = nullptr;
};

/// A scaling, rounded to T and clamped to its range.
template <class T>
struct ClampScale {
    static constexpr int work = 2;
    const double* scaling;
    T* clamped;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        constexpr double smallest = double(std::numeric_limits<T>::min());
        constexpr double largest = double(std::numeric_limits<T>::max());
        const double s = scaling[i];
        clamped[i] = T(s < smallest ? smallest : s > largest ? largest : s);
    }
};

/// Writes the entries of a matrix, scaled, to the blocks of the lists, which are zero, and 1 to the
/// diagonal of padding rows; raises the RowsOfThread::results elements of `largest_bits`, unless it
/// is null, to the bits of the largest magnitudes: nonnegative doubles are ordered as their bits,
/// and NaN is ignored. Entries without a block are left out, as are those above the diagonal of a
/// symmetric matrix.
template <class T>
struct LoadEntries {
    static constexpr int work = 256;
    RowsOfThread slots;
    PatternLists lists;
    const Index* row_in_slot;
    const Index* slot_of_column;
    Scales<T> scales;
    CsrView<T> matrix;
    MatrixBlocks<T> blocks;
    std::uint64_t* largest_bits;

    TESSERA_HOST_DEVICE void operator()(Offset thread) const {
        T largest = T(0);
        slots.visit(thread, [&](Offset slot, Offset lane) { load(Index(slot), lane, largest); });
        if (largest_bits == nullptr) return;
        raise_to(largest_bits + thread % RowsOfThread::results,
                 std::bit_cast<std::uint64_t>(double(largest)));
    }

  private:
    /// Element (0, 0) of a block, null if it is not stored, and the distance of its rows and
    /// columns.
    struct Target {
        T* values;
        Index row_step, column_step;
    };

    TESSERA_HOST_DEVICE void load(Index slot, Offset lane, T& largest) const {
        const auto write = [&](T& to, T value) {
            to = value;
            if (std::abs(value) > largest) largest = std::abs(value);
        };
        const Index k = lists.k, row = row_in_slot[slot], block_row = slot / k, in_row = slot % k;
        if (row < 0) {
            if (lane == 0) write(blocks.diagonal[Offset(slot) * k + in_row], T(1));
            return;
        }
        Index last = -1;  // Neighbouring entries are in one block.
        Target target{};
        const Offset end = matrix.row_offsets[row + 1];
        for (Offset e = matrix.row_offsets[row] + lane; e < end; e += slots.lanes) {
            const Index column = matrix.column_indices[e], other = slot_of_column[column];
            if (lists.symmetric && other > slot) continue;
            const Index block_column = other / k;
            if (block_column != last) target = find(block_row, block_column);
            last = block_column;
            if (target.values == nullptr) continue;
            T value = matrix.values[e];
            if (scales.rows != nullptr) value = scales.rows[row] * value * scales.columns[column];
            write(target.values[in_row * target.row_step + other % k * target.column_step], value);
        }
    }
    TESSERA_HOST_DEVICE Target find(Index i, Index j) const {
        const Index k = lists.k;
        if (i == j) return {blocks.diagonal + Offset(i) * k * k, 1, k};
        const bool below = j < i;
        T* const values = below ? blocks.lower : blocks.upper;
        // The block rows or columns in the list of row or column i ascend.
        const Offset* const offsets = below ? lists.row_offsets : lists.column_offsets;
        const auto block_at = [&](Offset e) { return below ? Offset(lists.row_blocks[e]) : e; };
        const Index* const others = below ? lists.columns : lists.rows;
        Offset from = offsets[i], to = offsets[i + 1];
        while (from < to) {
            const Offset middle = (from + to) / 2;
            if (others[block_at(middle)] < j) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        const Offset block = from < offsets[i + 1] ? block_at(from) : -1;
        if (values == nullptr || block < 0 || others[block] != j) return {};
        return {values + block * k * k, below ? 1 : k, below ? k : 1};
    }
};

/// To the order of the factor: x_s = scale_i r_i for the row (or column) i = slots_s of A in slot s
/// (position s of the permuted, padded system); in padding slots w_s, or 0 if w is null. A null
/// scale: 1.
template <class T>
struct GatherVector {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* r;
    const T* w;
    T* x;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        const T padding = w == nullptr ? T(0) : w[s];
        if (row < 0) {
            x[s] = padding;
        } else {
            x[s] = scale == nullptr ? r[row] : scale[row] * r[row];
        }
    }
};

/// Back to the order of A: z_i = scale_i x_s for i = slots_s; padding slots are skipped. A
/// null scale: 1.
template <class T>
struct ScatterVector {
    static constexpr int work = 1;
    const Index* slots;
    const T* scale;
    const T* x;
    T* z;

    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        const Index row = slots[s];
        if (row >= 0) z[row] = scale == nullptr ? x[s] : scale[row] * x[s];
    }
};

/// transposes_b = blocks_b^T for k x k blocks, one element each.
template <class T>
struct TransposeBlocks {
    static constexpr int work = 1;
    Index k;
    const T* blocks;
    T* transposes;

    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        const Offset square = Offset(k) * k, block = e / square, in_block = e % square;
        transposes[e] = blocks[block * square + in_block / k + in_block % k * k];
    }
};

/// Ones on the diagonals of k x k blocks, of which slot s has column s % k.
template <class T>
struct SetUnitDiagonal {
    static constexpr int work = 1;
    Index k;
    T* blocks;

    TESSERA_HOST_DEVICE void operator()(Offset s) const { blocks[s * k + s % k] = T(1); }
};

/// Pivots of the diagonal blocks i, i + parts, ... below `count`; NaN is ignored.
template <class T>
struct SummarisePivots {
    static constexpr int work = 128;
    Offset count, parts;
    const Index* perturbed;
    const T* smallest;
    PivotSummary* summaries;

    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        PivotSummary summary;
        for (Offset e = i; e < count; e += parts) {
            if (double(smallest[e]) < summary.smallest) summary.smallest = double(smallest[e]);
            summary.perturbed += perturbed[e];
        }
        summaries[i] = summary;
    }
};

}  // namespace tessera::incomplete
