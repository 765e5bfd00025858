#include <algorithm>

#include "base/checks.hpp"
#include "base/phases.hpp"
#include "sparse/find_blocks/kernels.hpp"
#include "tessera/detail/blocks.hpp"

namespace tessera {

const char* to_string(Blocking blocking) {
    return blocking == Blocking::natural ? "natural" : "supervariable";
}

template <class T>
BlockPartition find_blocks(const Context& context, const CsrView<T>& matrix, Index bound,
                           Blocking blocking) {
    check_matrix("find_blocks", matrix);
    check_memory(context, "find_blocks", matrix);
    check_square("find_blocks", matrix.rows, matrix.columns);
    require(bound >= 1 && bound <= largest_block_bound,
            "find_blocks: the bound on the rows of a block must be within 1..64");
    const double bytes =
        double(matrix.rows + 1) * sizeof(Offset) + double(matrix.nonzeros) * sizeof(Index);
    const Phase phase(context, "find_blocks", bytes, PhaseStep::find_blocks);
    BlockPartition blocks;
    blocks.rows = matrix.rows;
    blocks.options =
        std::to_string(bound) +
        (blocking == Blocking::supervariable ? "" : std::string(",blocks=") + to_string(blocking));
    const SquarePattern pattern{matrix.rows, matrix.nonzeros, matrix.row_offsets,
                                matrix.column_indices};
    Segmentation segmentation = TESSERA_RUN(find_blocks, context, pattern, bound, blocking);
    blocks.count = Index(segmentation.starts.size() - 1);
    blocks.largest = segmentation.largest;
    blocks.entries = segmentation.sum_of_squares;
    blocks.block_offsets = std::move(segmentation.starts);
    return blocks;
}

BlockPartition uniform_partition(const Context& context, Index rows, Index size) {
    require(rows >= 0, "uniform_partition: the number of rows is negative");
    require(size >= 1 && size <= largest_block_bound,
            "uniform_partition: the rows of a block must be within 1..64");
    std::vector<Index> offsets;
    offsets.reserve(std::size_t(rows / size) + 2);
    for (Offset row = 0; row < rows; row += size) offsets.push_back(Index(row));
    offsets.push_back(rows);
    BlockPartition blocks = blocks_from_offsets(context, rows, offsets);
    blocks.options = std::to_string(size) + ",blocks=uniform:" + std::to_string(size);
    return blocks;
}

BlockPartition blocks_from_offsets(const Context& context, Index rows,
                                   std::span<const Index> block_offsets) {
    require(rows >= 0, "blocks_from_offsets: the number of rows is negative");
    require(!block_offsets.empty() && block_offsets.data() != nullptr && block_offsets.front() == 0,
            "blocks_from_offsets: the first offset must be 0");
    BlockPartition blocks;
    blocks.rows = rows;
    blocks.count = Index(block_offsets.size() - 1);
    for (std::size_t b = 0; b + 1 < block_offsets.size(); ++b) {
        // 64-bit arithmetic: the caller's offsets are not validated yet.
        const Offset size = Offset(block_offsets[b + 1]) - block_offsets[b];
        if (size < 1 || size > largest_block_bound) {
            throw InvalidArgument("blocks_from_offsets: block " + std::to_string(b) + " has " +
                                  std::to_string(size) + " rows; it must have 1.." +
                                  std::to_string(largest_block_bound));
        }
        blocks.largest = std::max(blocks.largest, Index(size));
        blocks.entries += size * size;
    }
    if (block_offsets.back() != rows) {
        throw InvalidArgument("blocks_from_offsets: the blocks end at row " +
                              std::to_string(block_offsets.back()) + ", the matrix at row " +
                              std::to_string(rows));
    }
    blocks.options = std::to_string(std::max<Index>(blocks.largest, 1)) + ",blocks=given";
    blocks.block_offsets = Buffer<Index>(context, Offset(block_offsets.size()));
    copy_from_host(context, block_offsets, blocks.block_offsets.view());
    return blocks;
}

Buffer<Index> group_blocks(const Context& context, const BlockPartition& blocks, Index rows) {
    require(rows >= 1 && rows <= largest_block_bound,
            "group_blocks: the rows of a group must be within 1..64");
    return TESSERA_RUN(group_blocks, context, blocks.block_offsets.data(), blocks.count, rows)
        .starts;
}

void block_entry_offsets(const Context& context, const BlockPartition& blocks,
                         std::span<Offset> entry_offsets) {
    require(entry_offsets.size() == std::size_t(blocks.count) + 1,
            "block_entry_offsets: there must be one more offset than blocks");
    exclusive_scan(context, blocks.count, BlockEntries{blocks.block_offsets.data()},
                   entry_offsets.data());
}

template BlockPartition find_blocks<float>(const Context&, const CsrView<float>&, Index, Blocking);
template BlockPartition find_blocks<double>(const Context&, const CsrView<double>&, Index,
                                            Blocking);

}  // namespace tessera
