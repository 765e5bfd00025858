#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/find_blocks/kernels.hpp"

namespace tessera::cpu {

namespace {

/// One bit per row, set where a supervariable starts; the end of the matrix counts as a start.
class StartMask {
  public:
    explicit StartMask(Index rows) : words_(std::size_t(rows) / 64 + 2) {}

    void set(Index row) { words_[std::size_t(row) / 64] |= std::uint64_t(1) << (row % 64); }

    /// Bit t: a block that starts with row `row` may end at row + 1 + t: at starts of
    /// supervariables, or after `bound` (1..64) rows if there is none among these.
    std::uint64_t ends(Index row, Index bound) const {
        const std::size_t word = std::size_t(row + 1) / 64;
        const int shift = (row + 1) % 64;
        std::uint64_t window = words_[word] >> shift;
        if (shift > 0) window |= words_[word + 1] << (64 - shift);
        window &= ~std::uint64_t(0) >> (64 - bound);
        return window != 0 ? window : std::uint64_t(1) << (bound - 1);
    }

  private:
    std::vector<std::uint64_t> words_;
};

/// The starts among `count` items, from item 0 on, where next(i) is in i+1 .. count. On one thread:
/// finding the marks, on all threads, takes far longer.
template <class Next>
Segmentation segment_greedily(const Context& context, Index count, const Next& next) {
    Segmentation segmentation;
    std::vector<Index> starts;
    for (Index item = 0; item < count;) {
        starts.push_back(item);
        const Index distance = next(item) - item;
        segmentation.largest = std::max(segmentation.largest, distance);
        segmentation.sum_of_squares += Offset(distance) * distance;
        item += distance;
    }
    starts.push_back(count);
    segmentation.starts = copy_to_buffer(context, starts);
    return segmentation;
}

void mark_supervariables(const Context& context, const SquarePattern& pattern, StartMask& mask) {
    const auto [rows, nonzeros, row_offsets, column_indices] = pattern;
    const Offset words = Offset(rows) / 64 + 1;  // Threads share no word.
    parallel_ranges(
        context.threads(), words,
        [rows = rows, row_offsets = row_offsets, column_indices = column_indices, &mask](
            Offset first, Offset last) {
            const Index end = Index(std::min<Offset>(last * 64, rows));
            for (Index i = Index(first * 64); i < end; ++i) {
                const Offset length = row_offsets[i + 1] - row_offsets[i];
                const bool equal =
                    i > 0 && length == row_offsets[i] - row_offsets[i - 1] &&
                    (length == 0 || std::memcmp(column_indices + row_offsets[i],
                                                column_indices + row_offsets[i - 1],
                                                std::size_t(length) * sizeof(Index)) == 0);
                if (!equal) mask.set(i);
            }
        },
        16);
    mask.set(rows);
}

}  // namespace

Segmentation find_blocks(const Context& context, const SquarePattern& pattern, Index bound,
                         Blocking blocking) {
    StartMask mask(pattern.rows);
    mark_supervariables(context, pattern, mask);
    return segment_greedily(context, pattern.rows, [&](Index row) {
        const std::uint64_t ends = mask.ends(row, bound);
        return row + 1 +
               (blocking == Blocking::natural ? std::countr_zero(ends)
                                              : 63 - std::countl_zero(ends));
    });
}

Segmentation group_blocks(const Context& context, const Index* block_offsets, Index count,
                          Index rows) {
    return segment_greedily(context, count, [&](Index block) {
        Index next = block + 1;
        while (next < count && block_offsets[next + 1] - block_offsets[block] <= rows) ++next;
        return next;
    });
}

}  // namespace tessera::cpu
