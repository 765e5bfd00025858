#pragma once

#include "base/dispatch.hpp"
#include "precond/incomplete/symbolic/block_pattern.hpp"

namespace tessera::incomplete {

/// Block rows in ascending order of their levels (stable), and levels + 1 starts of levels in it.
struct LevelOrder {
    Buffer<Index> order;
    Buffer<Index> level_offsets;
};

/// The functions of block_pattern.hpp by backend. All wait.
///
/// order_by_levels: the levels of `blocks`. Without a result, which has no level_offsets, where
///   there are more than max_levels, unless that is 0.
/// list_blocks: the lists of `pattern` but for levels and updates; block row order[i] of `blocks`
///   becomes number i, number[order[i]] = i.
/// count_updates: update_offsets of `pattern`. list_updates: left and right.
TESSERA_BACKENDS(BlockRows lower_blocks(const Context& context, const Grid& grid,
                                        const GroupPattern& pattern, bool symmetric);
                 LevelOrder order_by_levels(const Context& context, const BlockRows& blocks,
                                            Index max_levels);
                 void list_blocks(const Context& context, const BlockRows& blocks,
                                  const Buffer<Index>& order, const Buffer<Index>& number,
                                  BlockPattern& pattern);
                 void count_updates(const Context& context, BlockPattern& pattern);
                 void list_updates(const Context& context, BlockPattern& pattern);)

}  // namespace tessera::incomplete
