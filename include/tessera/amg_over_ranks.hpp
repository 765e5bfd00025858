#pragma once

#include "tessera/amg.hpp"
#include "tessera/ranks.hpp"

namespace tessera {

/// Multigrid by smoothed aggregation for a symmetric positive definite matrix over ranks: as an
/// Operator on the own parts of vectors, z = M^-1 r. Aggregates are those of one rank each,
/// prolongators are smoothed with the whole matrix, so that iterations are about those of Amg. All
/// functions that take a Context are collective; errors are thrown on all ranks of the
/// communicator, which must outlive the object. Source: that of Amg, and R. S. Tuminaro and C.
/// Tong, Parallel smoothed aggregation multigrid, Supercomputing (2000).
class TESSERA_API AmgOverRanks final : public Operator<double> {
  public:
    /// `options`, equal on all ranks but for coordinates and near-null vectors, which are those of
    /// own nodes and rows. AmgOptions::block unknowns of a node (0: one) divide the rows of each
    /// rank; all nodes have all of their unknowns (no NodeCoordinates::unknowns). A level of at
    /// most `gather_nodes` nodes is collected on every rank (-1: chosen, more on GPUs).
    /// Blocks until the work is complete. Throws as Amg, and InvalidArgument for options that
    /// differ between ranks.
    AmgOverRanks(const Context& context, const Communicator& communicator, const RowsOfRank& rows,
                 const AmgOptions& options = {}, Offset gather_nodes = -1);
    ~AmgOverRanks() override;

    /// Takes other values on the same pattern, and keeps the aggregates. Blocks until the work is
    /// complete. Throws as the constructor; after that only an update that succeeds lets it be
    /// applied.
    void update(const Context& context, const RowsOfRank& rows);

    Index rows() const override;
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const double> r,
               std::span<double> z) const override;
    bool can_be_captured() const override;
    /// As Amg::recover.
    bool recover(const Context& context, Offset known) const override;
    Offset recoveries() const override;

    /// The options as a text, as Amg::describe.
    std::string describe() const;
    /// Levels of the whole matrix, the same on all ranks, with all of their nodes.
    std::vector<AmgLevel> levels() const;
    /// The nodes of a level on each rank, in their order; empty where every rank has all of them.
    std::vector<Offset> nodes_of_ranks(int level) const;
    double operator_complexity() const;
    /// Name of the near-null vectors: "rigid_body", "translations", "constant" or "given".
    std::string near_null() const;
    /// Name of the type of stored values in the cycle.
    std::string stored_values() const;
    std::vector<std::string> warnings() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace tessera
