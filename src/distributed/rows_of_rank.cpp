#include <limits>

#include "base/checks.hpp"
#include "distributed/distributed_rows.hpp"
#include "distributed/own_rows.hpp"

namespace tessera {

namespace {

void check_parts(const Communicator& communicator, const RowsOfRank& rows, int block) {
    check_matrix("own rows", rows.own);
    require_argument("matrix", rows.own.rows == rows.own.columns && rows.own.rows % block == 0,
                     "rank ", communicator.rank(), " has ", rows.own.rows, " rows of ",
                     rows.own.columns, " own columns, which are no whole nodes of ", block);
    require_argument(
        "matrix",
        rows.others.nonzeros == 0 || (rows.others.rows == rows.own.rows &&
                                      rows.others.columns == Offset(rows.columns_of_others.size())),
        "the columns of other ranks do not fit the rows of rank ", communicator.rank());
}

/// Where the nodes of each rank begin, and their number.
std::vector<Offset> first_nodes(const Context& context, const Communicator& communicator,
                                const RowsOfRank& rows, int block) {
    on_all_ranks(communicator, [&] { check_parts(communicator, rows, block); });
    return starts_of_ranks(communicator, context, rows.own.rows / block);
}

/// Both parts in one matrix, with the columns of others after the own ones; `places`: of the
/// columns of others.
CsrMatrix<double> joined_rows(const Context& context, const RowsOfRank& rows, Index columns,
                              const std::vector<Index>& places) {
    const Index count = rows.own.rows;
    CsrMatrix<double> made(context, count, columns, rows.own.nonzeros + rows.others.nonzeros);
    const Buffer<Index> columns_of_others = copy_to_buffer(context, places);
    for_each_index(context, Offset(count) + 1,
                   distributed::AddOffsets{rows.own.row_offsets, rows.others.row_offsets,
                                           made.row_offsets().data()});
    const int lanes = sharing_threads(context, count, 8);
    for_each_index(context, Offset(count) * lanes,
                   distributed::JoinRows{lanes, rows.own, rows.others, columns_of_others.data(),
                                         made.row_offsets().data(), made.column_indices().data(),
                                         made.values().data()});
    return made;
}

/// The nodes that have columns of other ranks, ascending.
std::vector<Offset> nodes_of_others(const RowsOfRank& rows, int block) {
    std::vector<Offset> nodes;
    for (const Offset column : rows.columns_of_others) {
        if (nodes.empty() || nodes.back() != column / block) nodes.push_back(column / block);
    }
    return nodes;
}

BsrMatrix<double> blocks_of(const Context& context, const Halo& halo, const RowsOfRank& rows,
                            int block) {
    require(Offset(halo.nodes()) * block <= std::numeric_limits<Index>::max(),
            "a rank has more than 2^31 - 1 rows with those of others that it needs");
    const Index columns = halo.nodes() * block;
    if (rows.others.nonzeros == 0) {
        CsrView<double> own = rows.own;
        own.columns = columns;
        return to_bsr(context, own, block, block);
    }
    std::vector<Index> places;
    const std::vector<Offset>& others = rows.columns_of_others;
    Index node = halo.own() - 1;
    for (std::size_t j = 0; j < others.size(); ++j) {
        if (j == 0 || others[j] / block != others[j - 1] / block) ++node;
        places.push_back(node * block + Index(others[j] % block));
    }
    return to_bsr(context, joined_rows(context, rows, columns, places).view(), block, block);
}

}  // namespace

OwnRows own_rows(const Context& context, const Communicator& communicator, const RowsOfRank& rows,
                 int block) {
    std::vector<Offset> starts = first_nodes(context, communicator, rows, block);
    OwnRows made{std::make_shared<const Halo>(context, communicator, std::move(starts),
                                              nodes_of_others(rows, block)),
                 {}};
    on_all_ranks(communicator, [&] { made.rows = blocks_of(context, *made.halo, rows, block); });
    return made;
}

BsrMatrix<double> own_rows(const Context& context, const Halo& halo, const RowsOfRank& rows,
                           int block) {
    BsrMatrix<double> made;
    on_all_ranks(halo.communicator(), [&] {
        check_parts(halo.communicator(), rows, block);
        require(rows.own.rows == Offset(halo.own()) * block &&
                    nodes_of_others(rows, block) == halo.numbering().ghosts,
                "rank ", halo.communicator().rank(), " has other rows or columns than before");
        made = blocks_of(context, halo, rows, block);
    });
    return made;
}

}  // namespace tessera
