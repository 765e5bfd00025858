#include "precond/block_ldlt/solve_tasks.hpp"

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

}  // namespace tessera::block_ldlt
