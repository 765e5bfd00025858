#include "precond/block_ldlt/symbolic/split_rows.hpp"

#include <algorithm>

namespace tessera::block_ldlt {

SplitSums::SplitSums(const Context& context, const std::vector<Offset>& offsets) {
    const auto count = offsets.size() - 1;
    limit = std::max(longest_piece, 16 * offsets.back() / std::max<Offset>(1, Offset(count)));
    std::vector<Offset> split;
    std::vector<Index> first;
    std::vector<SumPiece> all;
    for (std::size_t i = 0; i < count; ++i) {
        if (offsets[i + 1] - offsets[i] <= limit) continue;
        split.push_back(Offset(i));
        first.push_back(Index(all.size()));
        for (Offset at = offsets[i]; at < offsets[i + 1]; at += longest_piece) {
            all.push_back({Offset(i), at, std::min(at + longest_piece, offsets[i + 1])});
        }
    }
    first.push_back(Index(all.size()));
    items = copy_to_buffer(context, split);
    first_piece = copy_to_buffer(context, first);
    pieces = copy_to_buffer(context, all);
}

SplitSolve::SplitSolve(const Context& context, const std::vector<Offset>& offsets,
                       bool descending) {
    const Index rows = Index(offsets.size()) - 1;
    std::vector<SolveTask> all;
    all.reserve(std::size_t(rows));
    for (Index place = 0; place < rows; ++place) {
        const Index i = descending ? rows - 1 - place : place;
        const Offset begin = offsets[std::size_t(i)], end = offsets[std::size_t(i) + 1];
        if (end - begin <= longest_piece) {
            all.push_back({i, 0, 0, begin, end});
            continue;
        }
        const Index first = pieces;
        for (Offset at = begin; at < end; at += longest_piece) {
            all.push_back({i, pieces++, -1, at, std::min(at + longest_piece, end)});
        }
        all.push_back({i, first, pieces - first, end, end});
    }
    if (pieces > 0) tasks = copy_to_buffer(context, all);
}

}  // namespace tessera::block_ldlt
