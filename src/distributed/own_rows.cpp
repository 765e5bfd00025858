#include "distributed/own_rows.hpp"

#include "base/checks.hpp"

namespace tessera {

OwnRows own_rows(const Context& context, const Communicator& communicator,
                 std::vector<Offset> starts, const CsrView<double>& rows, int block) {
    const auto rank = std::size_t(communicator.rank());
    GlobalRows global;
    std::vector<Offset> ghosts;
    on_all_ranks(communicator, [&] {
        require(starts.size() == std::size_t(communicator.size()) + 1 &&
                    rows.rows == (starts[rank + 1] - starts[rank]) * block &&
                    rows.columns == starts.back() * block,
                "rank ", rank, " has ", rows.rows, " rows of ", rows.columns,
                " columns, which are not its nodes of ", block, " rows");
        const Numbering whole(context, 0, rows.columns / block, {});
        global = with_global_columns(context, to_bsr(context, rows, block, block), whole);
        ghosts = foreign_columns(context, global, starts[rank],
                                 Index(starts[rank + 1] - starts[rank]), starts.back());
    });
    OwnRows made{
        std::make_shared<const Halo>(context, communicator, std::move(starts), std::move(ghosts)),
        {}};
    made.rows = with_local_columns(context, global, made.halo->numbering());
    return made;
}

}  // namespace tessera
