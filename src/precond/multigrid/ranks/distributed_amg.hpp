#pragma once

#include <variant>

#include "distributed/own_rows.hpp"
#include "distributed/sums.hpp"
#include "precond/multigrid/ranks/distributed_hierarchy.hpp"
#include "tessera/amg.hpp"

namespace tessera {

/// Smoothed aggregation for a symmetric positive definite matrix over ranks, as Amg for one: an
/// Operator on the own parts of vectors. All of it is collective.
template <class T>
class DistributedAmg final : public Operator<T> {
  public:
    /// `options`: block is that of the rows; coordinates and near-null vectors are those of own
    /// nodes, which are complete (no NodeCoordinates::unknowns); a rank without nodes gives none.
    /// Automatic near-null vectors are rigid body modes where there are coordinates that fit.
    /// Waits. Throws as Amg, on all ranks.
    DistributedAmg(const Context& context, OwnRows matrix, const AmgOptions& options,
                   const multigrid::RankOptions& ranks);

    /// Takes other values of own rows on the same pattern (own_rows with the halo that the matrix
    /// came with makes them), and keeps the aggregates: what a setup with these would give, to the
    /// last bit. Waits. Throws as the constructor, on all ranks; after that only an update that
    /// succeeds lets it be applied.
    void update(const Context& context, BsrMatrix<double> rows);
    /// Whether own rows are on that pattern, on all ranks.
    bool has_pattern(const Context& context, const BsrView<double>& rows) const {
        return visit([&](const auto& made) { return made.has_pattern(context, rows); });
    }

    Index rows() const override { return rows_; }
    Index columns() const override { return rows_; }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    bool can_be_captured() const override { return communicator_.can_be_captured(); }
    bool recover(const Context& context, Offset known) const override;
    Offset recoveries() const override { return recoveries_; }

    /// Levels over all ranks, those after the gathered one included.
    std::vector<AmgLevel> levels() const;
    /// How many of them are over ranks: those before the gathered one.
    int distributed_levels() const;
    /// Nodes of a level on each rank, in their order; empty for levels after the gathered one.
    std::vector<Offset> nodes_of_ranks(int level) const;
    double operator_complexity() const;
    std::vector<std::string> warnings() const;
    /// Name of the type of stored values in the cycle.
    const char* stored_values() const;
    /// Near-null vectors that were given to any rank, or 0.
    int given_vectors() const {
        return visit([](const auto& made) { return made.given_vectors(); });
    }
    /// What was chosen, unless near-null vectors are given.
    AmgNearNull near_null_kind() const { return near_null_kind_; }

  private:
    template <class C>
    using Pointer = std::unique_ptr<multigrid::DistributedHierarchy<C>>;
    template <class F>
    decltype(auto) visit(F&& f) const {
        return std::visit([&](const auto& made) -> decltype(auto) { return f(*made); }, hierarchy_);
    }

    const Communicator& communicator_;
    SumsOver sums_;
    Index rows_;
    int block_;
    AmgNearNull near_null_kind_ = AmgNearNull::automatic;
    std::variant<Pointer<float>, Pointer<T>> hierarchy_;
    mutable int raised_ = 0;         ///< Times since the last setup or update.
    mutable Offset recoveries_ = 0;  ///< Times at all.
};

}  // namespace tessera
