#pragma once

#include <string>

#include "distributed/own_rows.hpp"
#include "precond/multigrid/cycle.hpp"
#include "precond/multigrid/level_setup.hpp"
#include "precond/multigrid/ranks/gathered_level.hpp"

namespace tessera::multigrid {

/// Where the levels of a hierarchy over ranks end.
struct RankOptions {
    /// A level of at most so many nodes is gathered on every rank.
    Offset gather_nodes = 0;
};

/// Own rows of a level over ranks, scaled so that diagonal blocks are identities.
struct DistributedLevel {
    std::shared_ptr<const Halo> halo;
    BsrMatrix<double> matrix;  ///< S A S^T
    Buffer<double> scaling;    ///< S for own nodes and ghosts.
    double lambda = 0;         ///< Upper bound of the eigenvalues of the whole matrix.
    Offset blocks = 0, prolongator_blocks = 0;  ///< Sums over all ranks.
};

/// Smoothed aggregation over ranks. Every rank makes aggregates of its own nodes; the prolongator
/// is smoothed with the whole matrix, so that its rows have columns of neighbours: for P = (I -
/// omega A) T, A P and P^T (A P) a rank fetches the rows of its ghosts, of T, of P and of A P. Own
/// rows of all products come out complete, in an order of sums that is fixed. A small level is
/// gathered on all ranks, each of which goes on with a Hierarchy. All decisions are made from
/// numbers that are equal on all ranks.
template <class C>
class DistributedHierarchy {
  public:
    /// Options have the coordinates and near-null vectors of own nodes; automatic choices are made.
    /// Collective; waits.
    DistributedHierarchy(const Context& context, OwnRows matrix, const AmgOptions& options,
                         const RankOptions& ranks, double rounding);

    /// An approximation of the inverse of the first scaled matrix.
    const Cycle<C>& cycle() const { return cycle_; }
    /// The scaling S of the first matrix, as of Hierarchy; own nodes come first.
    const Buffer<double>& scaling() const { return levels_.front().scaling; }
    /// The levels over ranks; the last one is that which is gathered.
    const std::vector<DistributedLevel>& levels() const { return levels_; }
    const GatheredLevel<C>& gathered() const { return *gathered_; }
    double operator_complexity() const;
    const std::vector<std::string>& warnings() const { return warnings_; }
    void raise_bounds(double factor);

  private:
    const Communicator& communicator() const { return levels_.front().halo->communicator(); }
    Offset sum(const Context& context, Offset mine) const;
    void agree_on_inputs(const Context& context);
    void scale_last(const Context& context);
    bool coarsen(const Context& context);
    void set_matrix_and_bound(const Context& context);
    Aggregates make_aggregates(const Context& context, double theta, Offset& all);
    void make_products(const Context& context, const Aggregates& aggregates,
                       TentativeProlongator& tentative, DistributedLevel& coarse);
    void gather(const Context& context);
    void choose_values(const Context& context);
    void spread_coordinates(const Context& context, const Buffer<double>& own);

    AmgOptions options_;
    RankOptions ranks_;
    double rounding_;
    std::vector<DistributedLevel> levels_;
    Cycle<C> cycle_;
    GatheredLevel<C>* gathered_ = nullptr;       ///< The cycle has it.
    ValueFormat values_ = ValueFormat::working;  ///< The type of stored values in the cycle.
    bool has_coordinates_ = false;
    // Between two levels.
    DeviceVectors near_null_;
    DeviceCoordinates coordinates_;  ///< Own nodes, then ghosts.
    Buffer<double> norms_;
    BsrMatrix<double> prolongator_, restriction_;  ///< To the level that is scaled next.
    std::vector<std::string> warnings_;
};

}  // namespace tessera::multigrid
