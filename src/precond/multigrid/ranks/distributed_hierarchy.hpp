#pragma once

#include <string>

#include "distributed/own_rows.hpp"
#include "precond/multigrid/cycle.hpp"
#include "precond/multigrid/level_setup.hpp"
#include "precond/multigrid/ranks/gathered_level.hpp"
#include "precond/multigrid/ranks/level_products.hpp"

namespace tessera::multigrid {

/// Where the levels of a hierarchy over ranks end.
struct RankOptions {
    /// A level of at most so many nodes is gathered on every rank.
    Offset gather_nodes = 0;
};

/// Smoothed aggregation over ranks. Every rank makes aggregates of its own nodes; the prolongator
/// is smoothed with the whole matrix, so that its rows have columns of neighbours. A small level is
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
    /// Whether there is a cycle: not after an update that failed.
    bool complete() const { return complete_; }
    /// Near-null vectors of the options, on any rank.
    int given_vectors() const { return given_vectors_; }
    /// Whether own rows have the pattern that the hierarchy was made for, on all ranks. Collective.
    bool has_pattern(const Context& context, const BsrView<double>& rows) const;
    /// Takes the values of another matrix, for which has_pattern is true; keeps the aggregates.
    /// After an exception the hierarchy is not complete. Collective; waits.
    void update(const Context& context, BsrMatrix<double> rows);

  private:
    const Communicator& communicator() const { return levels_.front().halo->communicator(); }
    std::vector<Offset> sums(const Context& context, std::span<const Offset> mine) const;
    void agree_on_inputs(const Context& context);
    void make_near_null(const Context& context);
    void scale_level(const Context& context, std::size_t level);
    bool coarsen(const Context& context);
    void set_matrix_and_bound(const Context& context, std::size_t level);
    DeviceVectors make_next(const Context& context, DistributedLevel& level,
                            DistributedLevel& coarse);
    void make_aggregates(const Context& context, double theta);
    void gather(const Context& context);
    void finish(const Context& context);
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
    int given_vectors_ = 0;  ///< Near-null vectors of the options, on any rank.
    bool complete_ = false;
    // Between two levels.
    DeviceVectors near_null_;
    DeviceCoordinates coordinates_;  ///< Own nodes, then ghosts.
    Buffer<double> norms_;
    std::vector<std::string> warnings_;
    std::size_t setup_warnings_ = 0;  ///< Number of the first warnings, which updates keep.
};

}  // namespace tessera::multigrid
