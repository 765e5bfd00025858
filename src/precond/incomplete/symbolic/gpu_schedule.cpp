#include "precond/incomplete/symbolic/gpu_schedule.hpp"

#include "gpu/tuning/incomplete_h200.hpp"

namespace tessera::incomplete {

namespace {

/// f(begin, end) for the pieces of a list.
template <class F>
void split(Offset begin, Offset end, F&& f) {
    for (; begin < end; begin += max_piece) f(begin, std::min(begin + max_piece, end));
}

}  // namespace

std::vector<LevelGroup> find_level_groups(const BlockPattern& pattern, Index k, bool symmetric) {
    std::vector<LevelGroup> groups;
    if (!symmetric) return {{0, pattern.levels(), false}};
    const Offset tile = std::max(1, k / 8);
    for (Index l = 0; l < pattern.levels(); ++l) {
        const Offset first = pattern.level_offsets[l], last = pattern.level_offsets[l + 1];
        const Offset begin = pattern.column_offsets[first], end = pattern.column_offsets[last];
        Offset products = (last - first) * cuda::level_row_products + end - begin, longest = 0;
        const auto add_lists = [&](const std::vector<Offset>& offsets, Offset from, Offset to) {
            products += offsets[to] - offsets[from];
            for (Offset i = from; i < to; ++i) {
                longest = std::max(longest, offsets[i + 1] - offsets[i]);
            }
        };
        add_lists(pattern.row_offsets, first, last);
        add_lists(pattern.update_offsets, begin, end);
        const bool batched =
            products * tile * tile <= cuda::max_level_products && longest <= max_piece;
        if (groups.empty() || groups.back().batched != batched) groups.push_back({l, l, batched});
        groups.back().last = l + 1;
    }
    return groups;
}

SplitSums::SplitSums(const Context& context, const std::vector<Offset>& offsets) {
    const auto count = Offset(offsets.size()) - 1;
    limit = std::max(max_piece, 16 * offsets.back() / std::max<Offset>(1, count));
    std::vector<Offset> split_items;
    std::vector<Index> first;
    std::vector<SumPiece> all;
    for (Offset i = 0; i < count; ++i) {
        if (offsets[i + 1] - offsets[i] <= limit) continue;
        split_items.push_back(i);
        first.push_back(Index(all.size()));
        split(offsets[i], offsets[i + 1], [&](Offset begin, Offset end) {
            all.push_back({i, begin, end});
        });
    }
    first.push_back(Index(all.size()));
    items = copy_to_buffer(context, split_items);
    first_piece = copy_to_buffer(context, first);
    pieces = copy_to_buffer(context, all);
}

SplitSolve::SplitSolve(const Context& context, const std::vector<Offset>& offsets,
                       bool descending) {
    const Index rows = Index(offsets.size()) - 1;
    Offset longest = 0;
    for (Index i = 0; i < rows; ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
    if (longest <= max_piece) return;
    std::vector<SolveTask> all;
    all.reserve(std::size_t(rows));
    for (Index step = 0; step < rows; ++step) {
        const Index i = descending ? rows - 1 - step : step;
        Offset unsplit = offsets[i];
        const Index first = pieces;
        if (offsets[i + 1] - offsets[i] > max_piece) {
            split(offsets[i], offsets[i + 1], [&](Offset begin, Offset end) {
                all.push_back({i, pieces++, -1, begin, end});
            });
            unsplit = offsets[i + 1];
        }
        all.push_back({i, first, pieces - first, unsplit, offsets[i + 1]});
    }
    tasks = copy_to_buffer(context, all);
}

}  // namespace tessera::incomplete
