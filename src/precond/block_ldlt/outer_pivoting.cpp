#include "precond/block_ldlt/outer_pivoting.hpp"

#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"

namespace tessera::block_ldlt {

PushedBlocks::PushedBlocks(Index block_rows)
    : order(std::size_t(block_rows)),
      position(std::size_t(block_rows)),
      pushes(std::size_t(block_rows), 0) {
    std::iota(order.begin(), order.end(), 0);
    std::iota(position.begin(), position.end(), 0);
}

void PushedBlocks::push(std::span<const Index> blocks) {
    for (const Index block : blocks) ++pushes[std::size_t(block)];
    std::ranges::stable_sort(order, {}, [&](Index block) { return pushes[std::size_t(block)]; });
    for (std::size_t p = 0; p < order.size(); ++p) position[std::size_t(order[p])] = Index(p);
}

BlockRows reorder_blocks(const BlockRows& blocks, const PushedBlocks& pushed, int threads) {
    const std::size_t m = pushed.order.size();
    // f(later position, earlier position) for each block.
    const auto visit = [&](auto&& f) {
        for (std::size_t i = 0; i < m; ++i) {
            for (Offset b = blocks.offsets[i]; b < blocks.offsets[i + 1]; ++b) {
                const Index j = blocks.columns[std::size_t(b)];
                const auto [first, last] =
                    std::minmax(pushed.position[i], pushed.position[std::size_t(j)]);
                f(std::size_t(last), first);
            }
        }
    };
    BlockRows result;
    result.offsets.assign(m + 1, 0);
    visit([&](std::size_t row, Index) { ++result.offsets[row + 1]; });
    std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
    result.columns.resize(blocks.columns.size());
    std::vector<Offset> next(result.offsets.begin(), result.offsets.end() - 1);
    visit(
        [&](std::size_t row, Index column) { result.columns[std::size_t(next[row]++)] = column; });
    parallel_ranges(
        threads, Offset(m),
        [&](Offset first, Offset last) {
            for (Offset i = first; i < last; ++i) {
                std::sort(result.columns.begin() + result.offsets[std::size_t(i)],
                          result.columns.begin() + result.offsets[std::size_t(i) + 1]);
            }
        },
        1024);
    return result;
}

Grid reorder_grid(const Grid& grid, const PushedBlocks& pushed) {
    std::vector<Index> slots;
    slots.reserve(grid.slots.size());
    for (const Index block : pushed.order) {
        const auto first = grid.slots.begin() + Offset(block) * grid.k;
        slots.insert(slots.end(), first, first + grid.k);
    }
    return make_grid(grid.k, grid.rows, std::move(slots));
}

}  // namespace tessera::block_ldlt
