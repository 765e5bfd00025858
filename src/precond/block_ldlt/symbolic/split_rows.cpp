#include "precond/block_ldlt/symbolic/split_rows.hpp"

#include <algorithm>

namespace tessera::block_ldlt {

std::vector<SolveTask> solve_tasks(const std::vector<Offset>& offsets, bool descending) {
    const Index rows = Index(offsets.size()) - 1;
    const auto length = [&](Index i) {
        return offsets[std::size_t(i) + 1] - offsets[std::size_t(i)];
    };
    Index pieces = 0;
    for (Index i = 0; i < rows; ++i) {
        if (length(i) > longest_piece) {
            pieces += Index((length(i) + longest_piece - 1) / longest_piece);
        }
    }
    std::vector<SolveTask> tasks;
    if (pieces == 0) return tasks;
    tasks.reserve(std::size_t(rows) + std::size_t(pieces));
    Index piece = 0;
    for (Index place = 0; place < rows; ++place) {
        const Index i = descending ? rows - 1 - place : place;
        const Offset begin = offsets[std::size_t(i)], end = offsets[std::size_t(i) + 1];
        if (length(i) <= longest_piece) {
            tasks.push_back({i, 0, 0, begin, end});
            continue;
        }
        const Index first = piece;
        for (Offset at = begin; at < end; at += longest_piece) {
            tasks.push_back({i, piece++, -1, at, std::min(at + longest_piece, end)});
        }
        tasks.push_back({i, first, piece - first, end, end});
    }
    return tasks;
}

CutSums cut_sums(const std::vector<Offset>& offsets) {
    const auto count = offsets.size() - 1;
    CutSums cut;
    cut.limit = std::max(longest_piece, 16 * offsets.back() / std::max<Offset>(1, Offset(count)));
    for (std::size_t i = 0; i < count; ++i) {
        if (offsets[i + 1] - offsets[i] <= cut.limit) continue;
        cut.items.push_back(Offset(i));
        cut.first_piece.push_back(Index(cut.pieces.size()));
        for (Offset at = offsets[i]; at < offsets[i + 1]; at += longest_piece) {
            const Offset end = std::min(at + longest_piece, offsets[i + 1]);
            cut.pieces.push_back({Offset(i), at, end});
        }
    }
    cut.first_piece.push_back(Index(cut.pieces.size()));
    return cut;
}

}  // namespace tessera::block_ldlt
