#include <bit>

#include "sparse/find_blocks/chain_cpu.hpp"

namespace tessera::cpu {

namespace {

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
        window &= ~std::uint64_t(0) >> (64 - bound);
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
        16);
    mask.set(rows);
}

Offset entries_of_range(const Index* block_offsets, Offset first, Offset last) {
    Offset sum = 0;
    for (Offset b = first; b < last; ++b) {
        const Offset size = block_offsets[b + 1] - block_offsets[b];
        sum += size * size;
    }
    return sum;
}

}  // namespace

Chain find_blocks(const Context& context, Index rows, const Offset* row_offsets,
                  const Index* column_indices, Index bound, bool agglomerate) {
    StartMask mask(rows);
    mark_supervariables(context, row_offsets, column_indices, mask);
    return follow_chain(context, rows,
                        [&](Index row) { return mask.next(row, bound, agglomerate); });
}

Chain group_blocks(const Context& context, const Index* block_offsets, Index count, Index rows) {
    return follow_chain(context, count, [&](Index block) {
        Index next = block + 1;
        while (next < count && block_offsets[next + 1] - block_offsets[block] <= rows) ++next;
        return next;
    });
}

void block_entry_offsets(const Context& context, const Index* block_offsets, Index count,
                         Offset* entry_offsets) {
    std::vector<Offset> before(std::size_t(context.threads()) + 1);
    const auto for_parts = [&](auto&& visit) {
        parallel_parts(context.threads(), count, context.threads(), visit);
    };
    for_parts([&](Offset part, Offset first, Offset last) {
        before[std::size_t(part) + 1] = entries_of_range(block_offsets, first, last);
    });
    for (std::size_t part = 1; part < before.size(); ++part) before[part] += before[part - 1];
    for_parts([&](Offset part, Offset first, Offset last) {
        Offset sum = before[std::size_t(part)];
        for (Offset b = first; b < last; ++b) {
            entry_offsets[b] = sum;
            const Index size = block_offsets[b + 1] - block_offsets[b];
            sum += Offset(size) * size;
        }
    });
    entry_offsets[count] = before.back();
}

}  // namespace tessera::cpu
