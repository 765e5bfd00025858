#include "tessera/amg_over_ranks.hpp"

#include "distributed/test_ranks.hpp"
#include "precond/multigrid/test_amg.hpp"
#include "support/messages.hpp"

namespace tessera::test {

namespace {

/// The rows of a rank with own columns, and with those of others.
struct Parts {
    CsrMatrix<double> own, others;
    std::vector<Offset> columns;

    /// Rows first .. end - 1 of a matrix in host memory.
    Parts(const CsrView<double>& a, Index first, Index end) {
        const auto is_own = [&](Index column) { return column >= first && column < end; };
        std::vector<std::vector<Index>> patterns[2];
        std::vector<std::vector<double>> values[2];
        for (Offset k = a.row_offsets[first]; k < a.row_offsets[end]; ++k) {
            if (!is_own(a.column_indices[k])) columns.push_back(a.column_indices[k]);
        }
        std::ranges::sort(columns);
        columns.erase(std::ranges::unique(columns).begin(), columns.end());
        for (Index i = first; i < end; ++i) {
            for (int part = 0; part < 2; ++part) {
                patterns[part].emplace_back();
                values[part].emplace_back();
            }
            for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                const Index column = a.column_indices[k];
                const bool own_column = is_own(column);
                const auto place = std::ranges::lower_bound(columns, column) - columns.begin();
                patterns[!own_column].back().push_back(own_column ? column - first : Index(place));
                values[!own_column].back().push_back(a.values[k]);
            }
        }
        own = make_csr<double>(end - first, end - first, patterns[0], values[0]);
        others = make_csr<double>(end - first, Index(columns.size()), patterns[1], values[1]);
    }
};

/// f(communicator, context, parts in its memory, options) on ranks.
void on_parts(const Body& body, int size,
              const std::function<void(const Communicator&, const Context&, const RowsOfRank&,
                                       const AmgOptions&)>& f) {
    const CsrMatrix<double> matrix = body.matrix();
    const NodeCoordinates points = body.points();
    const auto starts = equal_parts(matrix.rows() / body.block, size);
    on_ranks(size, [&](const Communicator& communicator, const Context& own) {
        const int rank = communicator.rank();
        const auto at = std::size_t(rank);
        const Parts parts(matrix.view(), Index(starts[at]) * body.block,
                          Index(starts[at + 1]) * body.block);
        const CsrMatrix<double> mine = copy_to(own, parts.own), others = copy_to(own, parts.others);
        AmgOptions options;
        options.block = body.block;
        const std::vector<double> all(points.values.begin(), points.values.end());
        if (!all.empty()) {
            const auto part = own_part(all, starts, rank, points.dimensions);
            options.coordinates =
                NodeCoordinates{points.dimensions, std::vector<double>(part.begin(), part.end())};
        }
        f(communicator, own, {mine.view(), others.view(), parts.columns}, options);
    });
}

}  // namespace

TEST(amg_over_ranks, rows_in_two_parts) {
    for (const Body& body : {cube(9), Body{"poisson2d:50", 1, 0, 50, 50}}) {
        const CsrMatrix<double> matrix = body.matrix();
        const Index nodes = matrix.rows() / body.block;
        for (const int size : {1, 3}) {
            SCOPED_TRACE(body.text + " on " + std::to_string(size));
            const auto starts = equal_parts(nodes, size);
            auto random = generator();
            const auto r = random_vector<double>(random, std::size_t(matrix.rows()));
            std::vector<double> z(r.size()), again(r.size());
            on_parts(body, size,
                     [&](const Communicator& communicator, const Context& own,
                         const RowsOfRank& rows, const AmgOptions& options) {
                         const int rank = communicator.rank();
                         AmgOverRanks m(own, communicator, rows, options, 50);
                         EXPECT_EQ(m.rows(), rows.own.rows);
                         Offset all = 0;
                         for (const Offset count : m.nodes_of_ranks(0)) all += count;
                         EXPECT_EQ(all, nodes);
                         EXPECT_EQ(m.levels().front().nodes, nodes);
                         EXPECT_GE(m.levels().size(), 2U);
                         EXPECT_GT(m.operator_complexity(), 1);
                         EXPECT_EQ(m.near_null(), body.block == 1 ? "constant" : "rigid_body");
                         EXPECT_TRUE(m.describe().starts_with("amg,block=")) << m.describe();
                         const Buffer<double> from =
                             copy_to_buffer(own, own_part(r, starts, rank, body.block));
                         Buffer<double> to(own, from.size());
                         m.apply(own, from.view(), to.view());
                         put_part(own, to, starts, rank, body.block, z);
                         m.update(own, rows);
                         m.apply(own, from.view(), to.view());
                         put_part(own, to, starts, rank, body.block, again);
                         if (size > 1) {
                             EXPECT_THROW(m.update(own, {rows.own, {}, {}}), InvalidArgument);
                         }
                     });
            EXPECT_EQ(z, again);
            const CsrView<double> a = matrix.view();
            double energy = 0, work = 0;
            for (Index i = 0; i < a.rows; ++i) {
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    energy += z[std::size_t(i)] * a.values[k] * z[std::size_t(a.column_indices[k])];
                }
                work += r[std::size_t(i)] * z[std::size_t(i)];
            }
            // Rayleigh quotients z^T A z / r^T z of M A, near 1 for a good cycle.
            EXPECT_GT(work, 0);
            EXPECT_LT(energy, 2 * work);
            EXPECT_GT(energy, 0.2 * work);
        }
    }
}

TEST(amg_over_ranks, options_that_differ) {
    std::vector<std::string> messages(3);
    on_parts(cube(4), 3,
             [&](const Communicator& communicator, const Context& own, const RowsOfRank& rows,
                 AmgOptions options) {
                 if (communicator.rank() == 2) options.theta = 0.3;
                 messages[std::size_t(communicator.rank())] = message_of<InvalidArgument>(
                     [&] { const AmgOverRanks m(own, communicator, rows, options); });
             });
    for (const std::string& message : messages)
        expect_contains(message, "rank 2 has other options");
}

}  // namespace tessera::test
