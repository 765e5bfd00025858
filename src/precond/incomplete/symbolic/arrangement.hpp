#pragma once

#include "base/for_each.hpp"
#include "precond/incomplete/symbolic/pattern_view.hpp"

// Loop bodies of for_each_index: one thread per group of rows, slot, block row or level of a grid.

namespace tessera::incomplete {

/// Whether a group of rows starts a line: it is not coupled to the group before it.
struct StartLine {
    static constexpr int work = 16;
    const Offset* offsets;
    const Index* columns;
    Index* starts;

    TESSERA_HOST_DEVICE bool has(Offset i, Offset j) const {
        Offset from = offsets[i], to = offsets[i + 1];
        while (from < to) {
            const Offset middle = (from + to) / 2;
            if (columns[middle] < j) {
                from = middle + 1;
            } else {
                to = middle;
            }
        }
        return from < offsets[i + 1] && columns[from] == j;
    }
    TESSERA_HOST_DEVICE void operator()(Offset g) const {
        starts[g] = g == 0 || !(has(g, g - 1) || has(g - 1, g)) ? 1 : 0;
    }
};

/// The first group of each line, whose number is that of starts before it.
struct PlaceLines {
    static constexpr int work = 3;
    const Index* starts;
    const Offset* lines;  ///< Sums of `starts`.
    Index* first;

    TESSERA_HOST_DEVICE void operator()(Offset g) const {
        if (starts[g] != 0) first[lines[g]] = Index(g);
    }
};

/// Whether a group starts a block: every per_block-th group of a line.
struct StartBlock {
    static constexpr int work = 3;
    Index per_block;
    const Offset* lines;
    const Index* first;
    Index* starts;

    TESSERA_HOST_DEVICE void operator()(Offset g) const {
        starts[g] = (g - first[lines[g + 1] - 1]) % per_block == 0 ? 1 : 0;
    }
};

/// Puts groups of rows into the slots of blocks: per_block consecutive groups each or, with
/// `lines`, by the starts of blocks. A null sequence: ascending groups.
struct PlaceGroups {
    static constexpr int work = 16;
    Index size, per_block, k;
    const Offset* lines;
    const Index* first;
    const Offset* blocks;  ///< Sums of StartBlock.
    const Index* sequence;
    Index* slots;
    Index* slot_of_column;

    TESSERA_HOST_DEVICE void operator()(Offset g) const {
        const bool by_lines = lines != nullptr;
        const Offset block = by_lines ? blocks[g + 1] - 1 : g / per_block;
        const Offset place = by_lines ? (g - first[lines[g + 1] - 1]) % per_block : g % per_block;
        const Offset slot = block * k + place * size;
        const Index column = (sequence != nullptr ? sequence[g] : Index(g)) * size;
        for (Index r = 0; r < size; ++r) {
            slots[slot + r] = column + r;
            slot_of_column[column + r] = Index(slot + r);
        }
    }
};

/// to_s = numbers of slots_s, -1 for padding.
struct NumbersOfSlots {
    static constexpr int work = 3;
    const Index* slots;
    const Index* numbers;
    Index* to;
    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        to[s] = slots[s] < 0 ? -1 : numbers[slots[s]];
    }
};

/// The slots of block row order[i] become those of block row i.
struct ReorderSlots {
    static constexpr int work = 3;
    Index k;
    const Index* order;
    const Index* from;
    Index* to;
    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        to[s] = from[Offset(order[s / k]) * k + s % k];
    }
};

/// slot_of[slots_s] = s, but for padding.
struct FindSlots {
    static constexpr int work = 2;
    const Index* slots;
    Index* slot_of;
    TESSERA_HOST_DEVICE void operator()(Offset s) const {
        if (slots[s] >= 0) slot_of[slots[s]] = Index(s);
    }
};

/// *longest = the length of the longest list, each i for all lists at distance `parts`.
struct FindLongest {
    static constexpr int work = 128;
    Offset parts, count;
    const Offset* offsets;
    Offset* longest;
    TESSERA_HOST_DEVICE void operator()(Offset i) const {
        Offset own = 0;
        for (; i < count; i += parts) {
            const Offset length = offsets[i + 1] - offsets[i];
            own = length > own ? length : own;
        }
        raise_to(longest, own);
    }
};

/// The start of each level.
struct FindLevelStarts {
    static constexpr int work = 3;
    const Index* level_offsets;
    const Offset* column_offsets;
    LevelStart* starts;
    TESSERA_HOST_DEVICE void operator()(Offset l) const {
        starts[l] = {level_offsets[l], column_offsets[level_offsets[l]]};
    }
};

}  // namespace tessera::incomplete
