#pragma once

#include <numeric>
#include <vector>

#include "base/parallel.hpp"

namespace tessera {

/// Lists of distinct numbers, one per row, ascending: row i has items[offsets[i]] ..
/// items[offsets[i + 1] - 1].
struct GatheredRows {
    std::vector<Offset> offsets;
    std::vector<Index> items;
};

/// gather(i, list) appends the numbers of row i, in any order, duplicates allowed; each range of
/// rows is gathered once, by one thread.
template <class Gather>
GatheredRows gather_rows(int threads, Offset rows, Gather&& gather) {
    GatheredRows result;
    result.offsets.assign(std::size_t(rows) + 1, 0);
    const Offset parts = std::clamp<Offset>(rows / 1024, 1, threads);
    std::vector<std::vector<Index>> lists(static_cast<std::size_t>(parts));
    parallel_parts(threads, rows, parts, [&](Offset part, Offset first, Offset last) {
        std::vector<Index>& list = lists[std::size_t(part)];
        for (Offset i = first; i < last; ++i) {
            if (i % 256 == 0) check_time();
            const Offset before = Offset(list.size());
            gather(i, list);
            std::sort(list.begin() + before, list.end());
            list.erase(std::unique(list.begin() + before, list.end()), list.end());
            result.offsets[std::size_t(i) + 1] = Offset(list.size()) - before;
        }
    });
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    result.items.resize(std::size_t(result.offsets.back()));
    parallel_parts(threads, rows, parts, [&](Offset part, Offset first, Offset) {
        std::ranges::copy(lists[std::size_t(part)],
                          result.items.begin() + result.offsets[std::size_t(first)]);
    });
    return result;
}

/// Prefetches the CSR rows that are read next, for loops over rows in another order, which would
/// miss the cache twice per row: row_at(n) is the n-th row that is read (-1: none), the one at `at`
/// is next. Inlined, as compilers drop calls that only prefetch.
template <class Csr, class RowAt>
[[gnu::always_inline]] inline void prefetch_rows(const Csr& matrix, Offset at, Offset count,
                                                 RowAt&& row_at) {
    constexpr Offset step = 8;
    if (at + 2 * step >= count) return;
    const Index far = row_at(at + 2 * step), near = row_at(at + step);
    if (far >= 0) __builtin_prefetch(matrix.row_offsets + far);
    if (near >= 0) __builtin_prefetch(matrix.column_indices + matrix.row_offsets[near]);
}

}  // namespace tessera
