#include "precond/incomplete/symbolic/gpu_schedule.hpp"

#include "base/for_each.hpp"
#include "base/zeros.hpp"
#include "gpu/tuning/incomplete_h200.hpp"
#include "precond/incomplete/symbolic/arrangement.hpp"

namespace tessera::incomplete {

namespace {

/// f(begin, end) for the pieces of a list.
template <class F>
void split(Offset begin, Offset end, F&& f) {
    for (; begin < end; begin += max_piece) f(begin, std::min(begin + max_piece, end));
}

}  // namespace

Offset longest_list(const Context& context, const Buffer<Offset>& offsets) {
    constexpr Offset max_parts = 1 << 16;
    const Offset count = offsets.size() - 1, parts = std::min(count, max_parts);
    Buffer<Offset> longest = zeros<Offset>(context, 1);
    for_each_index(context, parts, FindLongest{parts, count, offsets.data(), longest.data()});
    return read_value(context, longest.data());
}

std::vector<LevelGroup> find_level_groups(const Context& context, const BlockPattern& pattern,
                                          Index k, bool symmetric) {
    std::vector<LevelGroup> groups;
    if (!symmetric) return {{0, pattern.levels(), false}};
    const auto row_offsets = copy_to_host(context, pattern.row_offsets);
    const auto update_offsets = copy_to_host(context, pattern.update_offsets);
    const Offset tile = std::max(1, k / 8);
    for (Index l = 0; l < pattern.levels(); ++l) {
        const auto [first, begin] = pattern.level_starts[l];
        const auto [last, end] = pattern.level_starts[l + 1];
        Offset products = (last - first) * cuda::level_row_products + end - begin, longest = 0;
        const auto add_lists = [&](const std::vector<Offset>& offsets, Offset from, Offset to) {
            products += offsets[to] - offsets[from];
            for (Offset i = from; i < to; ++i) {
                longest = std::max(longest, offsets[i + 1] - offsets[i]);
            }
        };
        add_lists(row_offsets, first, last);
        add_lists(update_offsets, begin, end);
        const bool batched =
            products * tile * tile <= cuda::max_level_products && longest <= max_piece;
        if (groups.empty() || groups.back().batched != batched) groups.push_back({l, l, batched});
        groups.back().last = l + 1;
    }
    return groups;
}

SplitSums::SplitSums(const Context& context, const Buffer<Offset>& in_context) {
    const Offset count = in_context.size() - 1;
    const Offset all_items = read_value(context, in_context.data() + count);
    limit = std::max(max_piece, 16 * all_items / std::max<Offset>(1, count));
    if (longest_list(context, in_context) <= limit) return;
    const auto offsets = copy_to_host(context, in_context);
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

SplitSolve::SplitSolve(const Context& context, const Buffer<Offset>& in_context, bool descending) {
    if (longest_list(context, in_context) <= max_piece) return;
    const auto offsets = copy_to_host(context, in_context);
    const Index rows = Index(offsets.size()) - 1;
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
