#pragma once

#include <algorithm>

#include "base/parallel.hpp"

namespace tessera::cpu {

/// f(first, last) for ranges of blocks with about equal numbers of bytes, in parallel. Block b
/// starts at starts[b] units of `unit` bytes, count + 1 of them.
template <class F>
void for_block_ranges(const Context& context, Index count, const Offset* starts, int unit, F&& f) {
    if (count == 0) return;
    const Offset units = starts[count];
    const Offset parts =
        std::clamp<Offset>(units * unit / (8 * parallel_grain), 1, context.threads());
    const auto boundary = [&](Offset part) {
        if (part == parts) return count;
        return Index(std::lower_bound(starts, starts + count, units * part / parts) - starts);
    };
    parallel_parts(context.threads(), parts, parts,
                   [&](Offset part, Offset, Offset) { f(boundary(part), boundary(part + 1)); });
}

}  // namespace tessera::cpu
