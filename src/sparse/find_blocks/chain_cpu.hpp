#pragma once

#include <cstring>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/find_blocks/kernels.hpp"

/// Following a chain of items in parallel: by chunks, whose maps from entries to exits compose.
namespace tessera::cpu {

inline constexpr Index chain_reach = 64;  ///< No item's successor is further than that.
inline constexpr Index chain_chunk = 1024;

/// For each possible entry into items first .. last-1 (first item of the chain at or behind first,
/// less first) the exit: the first one at or behind last, less last. From behind, each item takes
/// over the exit of its successor.
template <class Next>
void map_chunk(const Next& next, Index first, Index last, std::uint8_t* exits) {
    std::uint8_t exit_of[chain_chunk];
    for (Index item = last - 1; item >= first; --item) {
        const Index successor = next(item);
        exit_of[item - first] =
            successor < last ? exit_of[successor - first] : std::uint8_t(successor - last);
    }
    std::memcpy(exits, exit_of, std::size_t(std::min(chain_reach, last - first)));
}

/// The chain of `count` items from item 0 on, where next(i) is in i+1 .. min(i+chain_reach, count).
template <class Next>
Chain follow_chain(const Context& context, Index count, const Next& next) {
    struct Part {
        Index items = 0;
        Index largest = 0;
        Offset squares = 0;
    };
    const Offset chunks = (Offset(count) + chain_chunk - 1) / chain_chunk;
    const auto for_chunks = [&](auto&& visit) {
        parallel_ranges(
            context.threads(), chunks,
            [&](Offset first, Offset last) {
                for (Offset chunk = first; chunk < last; ++chunk) {
                    visit(std::size_t(chunk), Index(chunk * chain_chunk),
                          Index(std::min<Offset>((chunk + 1) * chain_chunk, count)));
                }
            },
            16);
    };

    std::vector<std::uint8_t> exits(std::size_t(chunks * chain_reach));
    for_chunks([&](std::size_t chunk, Index first, Index last) {
        map_chunk(next, first, last, exits.data() + chunk * chain_reach);
    });
    std::vector<Index> entries(std::size_t(chunks) + 1);
    for (std::size_t c = 0; c < std::size_t(chunks); ++c) {
        entries[c + 1] = exits[c * chain_reach + std::size_t(entries[c])];
    }

    std::vector<Part> parts(std::size_t(chunks) + 1);
    for_chunks([&](std::size_t chunk, Index first, Index last) {
        Part part;
        for (Index item = first + entries[chunk]; item < last;) {
            const Index distance = next(item) - item;
            ++part.items;
            part.largest = std::max(part.largest, distance);
            part.squares += Offset(distance) * distance;
            item += distance;
        }
        parts[chunk + 1] = part;
    });
    Chain chain;
    for (std::size_t c = 0; c < std::size_t(chunks); ++c) {
        parts[c + 1].items += parts[c].items;
        chain.largest = std::max(chain.largest, parts[c + 1].largest);
        chain.squares += parts[c + 1].squares;
    }

    chain.starts = Buffer<Index>(context, Offset(parts.back().items) + 1);
    for_chunks([&](std::size_t chunk, Index first, Index last) {
        Index* to = chain.starts.data() + parts[chunk].items;
        for (Index item = first + entries[chunk]; item < last; item = next(item)) *to++ = item;
    });
    chain.starts.data()[parts.back().items] = count;
    return chain;
}

}  // namespace tessera::cpu
