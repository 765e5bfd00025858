#include <bit>

#include "sparse/find_blocks/chain_cpu.hpp"
#include "sparse/find_blocks/similar_cpu.hpp"

namespace tessera::cpu {

namespace {

void mark_supervariables(const Context& context, const CsrPattern& pattern, StartMask& mask) {
    const auto [rows, nonzeros, row_offsets, column_indices] = pattern;
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

Chain find_blocks(const Context& context, const CsrPattern& pattern, Index bound,
                  Blocking blocking) {
    StartMask mask(pattern.rows);
    mark_supervariables(context, pattern, mask);
    if (blocking == Blocking::similar) {
        const std::vector<std::uint8_t> steps = similar_steps(context, pattern, mask, bound);
        return follow_chain(context, pattern.rows,
                            [&](Index row) { return row + steps[std::size_t(row)]; });
    }
    return follow_chain(context, pattern.rows, [&](Index row) {
        const std::uint64_t ends = mask.ends(row, bound);
        return row + 1 +
               (blocking == Blocking::natural ? std::countr_zero(ends)
                                              : 63 - std::countl_zero(ends));
    });
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
