#include "distributed/joined_rows.hpp"

#include <algorithm>
#include <iterator>

#include "base/checks.hpp"
#include "distributed/distributed_rows.hpp"

namespace tessera {

using namespace distributed;

void JoinedRows::set(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
                     const Numbering& columns, Offset all) {
    set_pattern(context, halo, own, columns, all);
    Buffer<double> values(context, view().entries());
    copy<double>(context, own.values().view(),
                 values.view().first(std::size_t(own.view().entries())));
    take_values(context, halo, own, std::move(values));
}

void JoinedRows::take_values(const Context& context, const Halo& halo, const BsrMatrix<double>& own,
                             Buffer<double> values) {
    const BsrView<double> from = own.view(), to = view();
    const int size = to.block_size();
    require(from.block_size() == size && from.blocks + places_.size() == to.blocks &&
                values.size() == to.entries(),
            "rows of new values must have the pattern of the first");
    Buffer<double> received(context, places_.size() * size);
    halo.exchange_rows(context, messages_, from.row_offsets, size, std::as_const(values).data(),
                       received.data());
    place_blocks(context, size, places_, received.data(), values.data() + from.entries());
    rows_.values() = std::move(values);
}

/// Own columns keep their order in any numbering with the same own columns; those of ghosts' rows
/// come in the numbering of their owners, and are sorted.
void JoinedRows::set_pattern(const Context& context, const Halo& halo,
                             const BsrMatrix<double>& own_rows, const Numbering& columns,
                             Offset all) {
    if (has_pattern_) return;
    const BsrView<double> own = own_rows.view();
    messages_ = halo.row_messages(context, own.row_offsets);
    const Buffer<Offset> ghost_columns = halo.columns_of_ghosts(context, messages_, own, columns);
    std::vector<Offset> ghosts;
    std::ranges::set_union(columns.ghosts,
                           foreign_columns(context, halo.ghosts(), messages_.row_offsets.data(),
                                           ghost_columns, columns.first, columns.own, all),
                           std::back_inserter(ghosts));
    columns_ = Numbering(context, columns.first, columns.own, std::move(ghosts));
    rows_ = BsrMatrix<double>(context, halo.nodes(), columns_.nodes(), own.height, own.width,
                              own.blocks + ghost_columns.size(), false);
    copy<Offset>(context, {own.row_offsets, std::size_t(own.block_rows) + 1},
                 rows_.row_offsets().view().first(std::size_t(own.block_rows) + 1));
    for_each_index(context, messages_.row_offsets.size(),
                   ShiftOffsets{messages_.row_offsets.data(), own.blocks,
                                rows_.row_offsets().data() + own.block_rows});
    Index* const columns_of_rows = rows_.column_indices().data();
    renumber_columns(context, {own.column_indices, std::size_t(own.blocks)}, columns, columns_,
                     columns_of_rows);
    places_ = Buffer<Offset>(context, ghost_columns.size());
    sort_columns(context, halo.ghosts(), messages_.row_offsets.data(), ghost_columns, columns_,
                 columns_of_rows + own.blocks, places_.data());
    has_pattern_ = true;
}

}  // namespace tessera
