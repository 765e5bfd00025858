#include "distributed/own_rows.hpp"

#include "base/checks.hpp"

namespace tessera {

namespace {

/// Blocks with the columns of the whole matrix.
GlobalRows global_rows(const Context& context, const Communicator& communicator,
                       const std::vector<Offset>& starts, const CsrView<double>& rows, int block) {
    const auto rank = std::size_t(communicator.rank());
    require(starts.size() == std::size_t(communicator.size()) + 1 &&
                rows.rows == (starts[rank + 1] - starts[rank]) * block &&
                rows.columns == starts.back() * block,
            "rank ", rank, " has ", rows.rows, " rows of ", rows.columns,
            " columns, which are not its nodes of ", block, " rows");
    BsrMatrix<double> blocks = to_bsr(context, rows, block, block);
    const Numbering whole(context, 0, rows.columns / block, {});
    GlobalRows global{
        block, block, {}, global_columns(context, blocks.column_indices().view(), whole), {}};
    global.row_offsets = std::move(blocks.row_offsets());
    global.values = std::move(blocks.values());
    return global;
}

}  // namespace

OwnRows own_rows(const Context& context, const Communicator& communicator,
                 std::vector<Offset> starts, const CsrView<double>& rows, int block) {
    GlobalRows global;
    std::vector<Offset> ghosts;
    on_all_ranks(communicator, [&] {
        global = global_rows(context, communicator, starts, rows, block);
        const auto rank = std::size_t(communicator.rank());
        ghosts = foreign_columns(context, global.rows(), global.row_offsets.data(), global.columns,
                                 starts[rank], global.rows(), starts.back());
    });
    OwnRows made{
        std::make_shared<const Halo>(context, communicator, std::move(starts), std::move(ghosts)),
        {}};
    made.rows = with_local_columns(context, global, made.halo->numbering());
    return made;
}

BsrMatrix<double> own_rows(const Context& context, const Halo& halo, const CsrView<double>& rows,
                           int block) {
    BsrMatrix<double> made;
    on_all_ranks(halo.communicator(), [&] {
        made = with_local_columns(
            context, global_rows(context, halo.communicator(), halo.starts(), rows, block),
            halo.numbering());
    });
    return made;
}

}  // namespace tessera
