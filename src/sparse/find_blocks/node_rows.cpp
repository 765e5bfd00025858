#include "sparse/find_blocks/node_rows.hpp"

#include <algorithm>
#include <numeric>

#include "tessera/detail/blocks.hpp"

namespace tessera {

namespace {

/// Whether blocks of B rows, larger than the `natural` ones, would have few more entries.
template <int B>
bool has_little_fill(const Context& context, const CsrPattern& pattern, Index natural) {
    constexpr Offset sample = 2000;
    constexpr double max_fill = 1.25;
    const Offset block_rows = pattern.rows / B;
    if (pattern.rows % B != 0 || natural <= block_rows) return false;
    const Offset stride = std::max<Offset>(1, block_rows / sample);
    const Offset count = (block_rows + stride - 1) / stride;
    Buffer<Index> entries(context, count), blocks(context, count);
    for_each_index(context, count, SampleBlocks<B>{pattern, stride, entries.data(), blocks.data()});
    const auto sum = [&](const Buffer<Index>& counts) {
        const std::vector<Index> host = copy_to_host(context, counts);
        return std::accumulate(host.begin(), host.end(), 0.);
    };
    return B * B * sum(blocks) <= max_fill * sum(entries);
}

}  // namespace

Index rows_of_joined_nodes(const Context& context, const BlockPartition& natural) {
    for (const Index rows : {3, 2}) {
        const Offset nodes = natural.rows / rows;
        const bool are_few = nodes >= natural.count && 4 * nodes <= 5 * Offset(natural.count);
        if (!are_few || natural.rows % rows != 0 || natural.largest % rows != 0) continue;
        const std::vector<Index> offsets = copy_to_host(context, natural.block_offsets);
        if (std::ranges::all_of(offsets, [=](Index row) { return row % rows == 0; })) return rows;
    }
    return 1;
}

template <class T>
Index node_rows(const Context& context, const CsrView<T>& matrix, const BlockPartition& natural) {
    if (natural.count == 0) return 1;
    if (are_nodes(natural)) return natural.largest;
    if (const Index joined = rows_of_joined_nodes(context, natural); joined > 1) return joined;
    const CsrPattern pattern{matrix.rows, matrix.columns, matrix.row_offsets,
                             matrix.column_indices};
    return has_little_fill<3>(context, pattern, natural.count)   ? 3
           : has_little_fill<2>(context, pattern, natural.count) ? 2
                                                                 : 1;
}

template Index node_rows(const Context&, const CsrView<float>&, const BlockPartition&);
template Index node_rows(const Context&, const CsrView<double>&, const BlockPartition&);

}  // namespace tessera
