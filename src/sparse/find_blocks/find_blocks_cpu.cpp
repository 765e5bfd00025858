#include <bit>
#include <cstring>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/find_blocks/kernels.hpp"

namespace tessera::cpu {

namespace {

/// Rows of a chunk: a multiple of the 64 rows of a mask word, at least the largest bound.
constexpr Index chunk_rows = 1024;
constexpr Offset chunks_per_part = 16;

/// One bit per row, set where a supervariable starts; the end of the matrix counts as a start.
class StartMask {
  public:
    explicit StartMask(Index rows) : rows_(rows), words_(std::size_t(rows) / 64 + 2) {}

    void set(Index row) { words_[std::size_t(row) / 64] |= std::uint64_t(1) << (row % 64); }

    /// The block start that follows the block start `row`.
    Index next(Index row, Index bound, bool agglomerate) const {
        const Index first = row + 1;  // Bit t of the window is row first + t.
        const std::size_t word = std::size_t(first) / 64;
        const int shift = first % 64;
        std::uint64_t window = words_[word] >> shift;
        if (shift > 0) window |= words_[word + 1] << (64 - shift);
        window &= (std::uint64_t(1) << bound) - 1;
        if (window == 0) return row + bound;
        return first + (agglomerate ? 63 - std::countl_zero(window) : std::countr_zero(window));
    }

    Index rows() const { return rows_; }

  private:
    Index rows_;
    std::vector<std::uint64_t> words_;
};

void mark_supervariables(const Context& context, const Offset* row_offsets,
                         const Index* column_indices, StartMask& mask) {
    const Index rows = mask.rows();
    const Offset words = Offset(rows) / 64 + 1;  // Threads share no word.
    parallel_ranges(
        context.threads(), words,
        [&](Offset first, Offset last) {
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
        chunk_rows / 64);
    mask.set(rows);
}

/// For each possible entry into rows first .. last-1 (first block start at or behind first, less
/// first) the exit: the first block start at or behind last, less last. From behind, each row takes
/// over the exit of its successor.
void map_chunk(const StartMask& mask, Index first, Index last, Index bound, bool agglomerate,
               std::uint8_t* exits) {
    std::uint8_t exit_of[chunk_rows];
    for (Index row = last - 1; row >= first; --row) {
        const Index next = mask.next(row, bound, agglomerate);
        exit_of[row - first] = next < last ? exit_of[next - first] : std::uint8_t(next - last);
    }
    std::memcpy(exits, exit_of, std::size_t(std::min(bound, last - first)));
}

/// Calls visit(start) for the block starts in first + entry .. last - 1.
template <class Visit>
void walk_chunk(const StartMask& mask, Index first, Index last, Index entry, Index bound,
                bool agglomerate, Visit&& visit) {
    for (Index row = first + entry; row < last; row = mask.next(row, bound, agglomerate)) {
        visit(row);
    }
}

BlockStatistics statistics_of_range(const Index* block_offsets, Offset first, Offset last) {
    BlockStatistics sum;
    for (Offset b = first; b < last; ++b) {
        const Index size = block_offsets[b + 1] - block_offsets[b];
        sum.largest = std::max(sum.largest, size);
        sum.entries += Offset(size) * size;
    }
    return sum;
}

}  // namespace

Buffer<Index> find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                          const Index* column_indices, Index bound, bool agglomerate) {
    StartMask mask(rows);
    mark_supervariables(context, row_offsets, column_indices, mask);

    const Offset chunks = (Offset(rows) + chunk_rows - 1) / chunk_rows;
    const auto chunk_first = [&](Offset chunk) {
        return Index(std::min<Offset>(chunk * chunk_rows, rows));
    };
    const auto for_chunks = [&](auto&& visit) {
        parallel_ranges(
            context.threads(), chunks,
            [&](Offset first, Offset last) {
                for (Offset chunk = first; chunk < last; ++chunk) {
                    visit(chunk, chunk_first(chunk), chunk_first(chunk + 1));
                }
            },
            chunks_per_part);
    };

    std::vector<std::uint8_t> exits(std::size_t(chunks * bound));
    for_chunks([&](Offset chunk, Index first, Index last) {
        map_chunk(mask, first, last, bound, agglomerate, exits.data() + chunk * bound);
    });
    std::vector<Index> entries(std::size_t(chunks) + 1);
    for (Offset chunk = 0; chunk < chunks; ++chunk) {
        const std::size_t c = std::size_t(chunk);
        entries[c + 1] = exits[c * std::size_t(bound) + std::size_t(entries[c])];
    }

    std::vector<Index> starts(std::size_t(chunks) + 1);
    for_chunks([&](Offset chunk, Index first, Index last) {
        Index count = 0;
        walk_chunk(mask, first, last, entries[std::size_t(chunk)], bound, agglomerate,
                   [&](Index) { ++count; });
        starts[std::size_t(chunk) + 1] = count;
    });
    for (std::size_t c = 0; c < std::size_t(chunks); ++c) starts[c + 1] += starts[c];

    Buffer<Index> block_offsets(context, Offset(starts.back()) + 1);
    for_chunks([&](Offset chunk, Index first, Index last) {
        Index* to = block_offsets.data() + starts[std::size_t(chunk)];
        walk_chunk(mask, first, last, entries[std::size_t(chunk)], bound, agglomerate,
                   [&](Index row) { *to++ = row; });
    });
    block_offsets.data()[starts.back()] = rows;
    return block_offsets;
}

BlockStatistics block_statistics(const Context& context, const Index* block_offsets, Index count) {
    std::vector<BlockStatistics> parts(std::size_t(context.threads()));
    parallel_parts(context.threads(), count, context.threads(),
                   [&](Offset part, Offset first, Offset last) {
                       parts[std::size_t(part)] = statistics_of_range(block_offsets, first, last);
                   });
    BlockStatistics total;
    for (const BlockStatistics& part : parts) {
        total.largest = std::max(total.largest, part.largest);
        total.entries += part.entries;
    }
    return total;
}

void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* inverse_offsets) {
    std::vector<Offset> before(std::size_t(context.threads()) + 1);
    const auto for_parts = [&](auto&& visit) {
        parallel_parts(context.threads(), count, context.threads(), visit);
    };
    for_parts([&](Offset part, Offset first, Offset last) {
        before[std::size_t(part) + 1] = statistics_of_range(block_offsets, first, last).entries;
    });
    for (std::size_t part = 1; part < before.size(); ++part) before[part] += before[part - 1];
    for_parts([&](Offset part, Offset first, Offset last) {
        Offset sum = before[std::size_t(part)];
        for (Offset b = first; b < last; ++b) {
            inverse_offsets[b] = sum;
            const Index size = block_offsets[b + 1] - block_offsets[b];
            sum += Offset(size) * size;
        }
    });
    inverse_offsets[count] = before.back();
}

}  // namespace tessera::cpu
