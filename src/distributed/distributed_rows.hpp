#pragma once

#include "base/for_each.hpp"
#include "tessera/detail/bsr.hpp"

// Loop bodies of for_each_index on rows and columns of distributed matrices.

namespace tessera::distributed {

/// Where the first number of an ascending part begin .. end - 1 that is not below `limit` is, or
/// `end`. Most parts have none.
template <class T>
TESSERA_HOST_DEVICE Offset first_not_below(T limit, const T* numbers, Offset begin, Offset end) {
    if (begin == end || numbers[end - 1] < limit) return end;
    while (begin < end) {
        const Offset middle = begin + (end - begin) / 2;
        if (numbers[middle] < limit) {
            begin = middle + 1;
        } else {
            end = middle;
        }
    }
    return begin;
}

/// Numbers that lie `stride` bytes apart, one after the other.
template <class T>
struct PackNumbers {
    static constexpr int work = 2;
    const T* first;
    Offset stride;
    T* packed;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        packed[i] = *reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + i * stride);
    }
};

/// Sums of the numbers of every rank, added in the order of ranks.
template <class T>
struct AddRanks {
    static constexpr int work = 16;
    int ranks;
    Offset count;
    const T* gathered;
    T* first;
    Offset stride;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        T sum = gathered[i];
        for (int r = 1; r < ranks; ++r) sum += gathered[r * count + i];
        *reinterpret_cast<T*>(reinterpret_cast<char*>(first) + i * stride) = sum;
    }
};

/// The items of listed nodes, each of `width` numbers.
template <class T>
struct PackItems {
    static constexpr int work = 2;
    int width;
    const Index* nodes;
    const T* from;
    T* packed;
    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        packed[e] = from[Offset(nodes[e / width]) * width + e % width];
    }
};

/// The lengths of rows.
struct RowLengths {
    static constexpr int work = 2;
    const Offset* row_offsets;
    Index* lengths;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        lengths[i] = Index(row_offsets[i + 1] - row_offsets[i]);
    }
};

/// The length of a listed row.
struct ListedLength {
    const Index* rows;
    const Offset* row_offsets;
    TESSERA_HOST_DEVICE Offset operator()(Offset i) const {
        return row_offsets[rows[i] + 1] - row_offsets[rows[i]];
    }
};

/// Copies the items of the blocks of listed rows, `width` numbers each; `lanes` threads share a
/// row.
template <class T>
struct PackRows {
    static constexpr int work = 128;
    int lanes, width;
    const Index* rows;
    const Offset* from_offsets;
    const Offset* to_offsets;
    const T* from;
    T* to;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, row = rows[i], first = from_offsets[row],
                     count = from_offsets[row + 1] - first;
        for (Offset e = place % lanes; e < count * width; e += lanes) {
            to[to_offsets[i] * width + e] = from[first * width + e];
        }
    }
};

/// Numbers a[i] + shift.
struct ShiftOffsets {
    static constexpr int work = 2;
    const Offset* from;
    Offset shift;
    Offset* to;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { to[i] = from[i] + shift; }
};

/// The global numbers of columns in a Numbering.
struct GlobalColumns {
    static constexpr int work = 2;
    Offset first;
    Index own;
    const Offset* ghosts;
    const Index* from;
    Offset* to;
    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        to[k] = from[k] < own ? first + from[k] : ghosts[from[k] - own];
    }
};

/// Columns from a Numbering in another one, where its ghosts have these places.
struct RenumberColumns {
    static constexpr int work = 2;
    Index own;
    const Index* places;
    const Index* from;
    Index* to;
    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        to[k] = from[k] < own ? from[k] : places[from[k] - own];
    }
};

/// Columns in a Numbering from global numbers; sets *fault where there is none.
struct LocalColumns {
    static constexpr int work = 16;
    Offset first;
    Index own, count;  ///< `count` ghosts.
    const Offset* ghosts;
    const Offset* from;
    Index* to;
    int* fault;

    TESSERA_HOST_DEVICE void operator()(Offset k) const {
        const Offset column = from[k];
        if (column >= first && column < first + own) {
            to[k] = Index(column - first);
            return;
        }
        const Offset at = first_not_below(column, ghosts, 0, count);
        const bool found = at < count && ghosts[at] == column;
        if (!found) raise_flag(fault);
        to[k] = found ? own + Index(at) : 0;
    }
};

/// Sorts the columns of each row; `lanes` threads share a row. The place of a block is the number
/// of smaller columns, found in as many steps as the row has blocks.
struct SortBlocks {
    static constexpr int work = 256;
    int lanes;
    const Offset* row_offsets;
    const Index* from_columns;
    Index* to_columns;
    Offset* places;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, first = row_offsets[i], end = row_offsets[i + 1];
        for (Offset k = first + place % lanes; k < end; k += lanes) {
            const Index column = from_columns[k];
            Offset at = first;
            for (Offset other = first; other < end; ++other) at += from_columns[other] < column;
            to_columns[at] = column;
            places[k] = at;
        }
    }
};

/// Blocks of `size` numbers at their places.
struct PlaceBlocks {
    static constexpr int work = 3;
    int size;
    const Offset* places;
    const double* from;
    double* to;
    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        to[places[e / size] * size + e % size] = from[e];
    }
};

/// How many columns of a row are those of other ranks.
struct CountForeign {
    static constexpr int work = 32;
    Offset first;
    Index own;
    const Offset* row_offsets;
    const Offset* columns;
    Index* counts;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Index count = 0;
        for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
            count += columns[k] < first || columns[k] >= first + own;
        }
        counts[i] = count;
    }
};

/// Copies them.
struct CopyForeign {
    static constexpr int work = 32;
    Offset first;
    Index own;
    const Offset* row_offsets;
    const Offset* columns;
    const Offset* positions;
    Offset* to;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Offset at = positions[i];
        for (Offset k = row_offsets[i]; k < row_offsets[i + 1]; ++k) {
            if (columns[k] < first || columns[k] >= first + own) to[at++] = columns[k];
        }
    }
};

/// Marks listed numbers.
struct MarkListed {
    static constexpr int work = 4;
    const Offset* list;
    int* marks;
    TESSERA_HOST_DEVICE void operator()(Offset k) const { raise_flag(marks + list[k]); }
};

/// Collects the numbers that are marked.
struct CopyMarked {
    static constexpr int work = 2;
    const int* marks;
    const Offset* positions;
    Offset* to;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (marks[i] != 0) to[positions[i]] = i;
    }
};

/// The number of blocks of a listed row (null: of all) with columns from `first` to before `end`;
/// columns ascend.
struct CountInRange {
    static constexpr int work = 8;
    BsrView<double> matrix;
    Index first, end;
    Index* counts;
    const Index* rows = nullptr;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        const Offset row = rows == nullptr ? i : rows[i], row_end = matrix.row_offsets[row + 1];
        Offset from = matrix.row_offsets[row];
        if (first > 0) from = first_not_below(first, matrix.column_indices, from, row_end);
        counts[i] = Index(first_not_below(end, matrix.column_indices, from, row_end) - from);
    }
};

/// Copies these blocks, of listed rows (null: of all), with columns from 0 on; `lanes` threads
/// share a row, whose columns ascend.
struct CopyRange {
    static constexpr int work = 128;
    int lanes;
    BsrView<double> matrix;
    Index first;
    const Index* rows;
    const Offset* to_offsets;
    Index* columns;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, row = rows == nullptr ? i : rows[i];
        Offset begin = matrix.row_offsets[row];
        if (first > 0) {
            begin =
                first_not_below(first, matrix.column_indices, begin, matrix.row_offsets[row + 1]);
        }
        const Offset to = to_offsets[i], count = to_offsets[i + 1] - to;
        const int size = matrix.block_size();
        for (Offset k = place % lanes; k < count; k += lanes) {
            columns[to + k] = matrix.column_indices[begin + k] - first;
        }
        if (matrix.values == nullptr) return;
        for (Offset e = place % lanes; e < count * size; e += lanes) {
            values[to * size + e] = matrix.values[begin * size + e];
        }
    }
};

/// 1 for rows with such blocks.
struct HasBlocks {
    const Index* counts;
    TESSERA_HOST_DEVICE Offset operator()(Offset i) const { return counts[i] > 0; }
};

/// The rows with such blocks.
struct ListRows {
    static constexpr int work = 4;
    const Index* counts;
    const Offset* positions;
    Index* rows;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        if (counts[i] > 0) rows[positions[i]] = Index(i);
    }
};

/// Offsets of the rows of two matrices side by side.
struct AddOffsets {
    static constexpr int work = 3;
    const Offset* a;
    const Offset* b;
    Offset* to;
    TESSERA_HOST_DEVICE void operator()(Offset i) const { to[i] = a[i] + b[i]; }
};

/// The entries of a row of both; `lanes` threads share it. Column j of `others` becomes places[j].
struct JoinRows {
    static constexpr int work = 128;
    int lanes;
    CsrView<double> own, others;
    const Index* places;
    const Offset* row_offsets;
    Index* columns;
    double* values;

    TESSERA_HOST_DEVICE void operator()(Offset place) const {
        const Offset i = place / lanes, first = own.row_offsets[i],
                     count = own.row_offsets[i + 1] - first, second = others.row_offsets[i];
        const Offset to = row_offsets[i], end = row_offsets[i + 1];
        for (Offset k = to + place % lanes; k < end; k += lanes) {
            const Offset at = k - to;
            const bool is_own = at < count;
            columns[k] = is_own ? own.column_indices[first + at]
                                : places[others.column_indices[second + at - count]];
            values[k] = is_own ? own.values[first + at] : others.values[second + at - count];
        }
    }
};

/// y of listed nodes += alpha x.
template <class T>
struct AddListed {
    static constexpr int work = 4;
    int height;
    const Index* nodes;
    T alpha;
    const T* x;
    T* y;
    TESSERA_HOST_DEVICE void operator()(Offset e) const {
        T& sum = y[Offset(nodes[e / height]) * height + e % height];
        sum += alpha * x[e];
    }
};

}  // namespace tessera::distributed
