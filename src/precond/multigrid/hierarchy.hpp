#pragma once

#include <functional>
#include <optional>
#include <string>

#include "precond/multigrid/cycle.hpp"
#include "precond/multigrid/setup/prolongator.hpp"

namespace tessera::multigrid {

/// How often and how far a bound that turned out too low is raised.
inline constexpr int max_recoveries = 4;
inline constexpr double recovery_factor = 1.25;

/// A level of a hierarchy: its matrix, scaled so that diagonal blocks are identities, and the
/// transfer to the next level.
struct Level {
    BsrMatrix<double> matrix;  ///< S A S^T; released on a first level that can be made anew.
    Index nodes = 0;           ///< Block rows of `matrix`.
    int block = 1;             ///< Rows of a block.
    Offset blocks = 0;
    Buffer<double> scaling;  ///< S = L^-1 of each diagonal block L L^T, row-major.
    double lambda = 0;       ///< Upper bound of the eigenvalues of `matrix`.
    Aggregates aggregates;
    /// The prolongator P, P^T, A P and, moved to the next level, P^T A P: while the next level is
    /// made, and their patterns from the first update on, for further ones.
    TripleProduct<double> products;
    Offset prolongator_blocks = 0;

    Level() = default;
    explicit Level(BsrMatrix<double> given)
        : matrix(std::move(given)),
          nodes(matrix.view().block_rows),
          block(matrix.view().height),
          blocks(matrix.blocks()) {}
    Index rows() const { return nodes * block; }
    double entries() const { return double(blocks) * block * block; }
};

/// Smoothed aggregation for a symmetric positive definite matrix: the setup in double, and a cycle
/// in C. Source: Vanek, Mandel and Brezina, Algebraic multigrid by smoothed aggregation for second
/// and fourth order elliptic problems, Computing 56 (1996).
template <class C>
class Hierarchy {
  public:
    /// Makes the first matrix again, which is not kept then; empty: it is kept.
    using FirstMatrix = std::function<BsrMatrix<double>(const Context&)>;

    /// The options must outlive it. Near-null vectors are `near_null` or, if that is empty, rigid
    /// body modes with near_null_kind = rigid_body, else translations. `rounding`: the unit
    /// roundoff of the matrix.
    Hierarchy(const Context& context, BsrMatrix<double> matrix, const AmgOptions& options,
              double rounding, FirstMatrix again = {});

    Index rows() const { return levels_.front().rows(); }
    /// An approximation of the inverse of the first scaled matrix.
    const Cycle<C>& cycle() const { return cycle_; }
    /// The scaling S of the first matrix: S^T M S approximates its inverse for M = cycle().
    const Buffer<double>& scaling() const { return levels_.front().scaling; }
    int block() const { return levels_.front().block; }
    /// Whether the last level of a matrix that is not singular is solved directly.
    bool ends_directly() const { return solves_last_level() && !singular_; }
    /// Whether there is a cycle: not after an update that failed.
    bool complete() const { return complete_; }
    /// Makes the cycle again, in another precision.
    template <class D>
    std::unique_ptr<Cycle<D>> make_cycle(const Context& context) const;
    /// Sets the upper bounds of eigenvalues in a cycle to those of the levels times a factor.
    template <class D>
    void set_bounds(Cycle<D>& cycle, double factor) const;
    /// Sets the bounds in cycle().
    void raise_bounds(double factor) { set_bounds(cycle_, factor); }
    /// Takes the values of another matrix of the same pattern; keeps the aggregates.
    /// After an exception the hierarchy is not complete.
    void update(const Context& context, BsrMatrix<double> matrix, FirstMatrix again = {});

    const std::vector<Level>& levels() const { return levels_; }
    /// Stored entries of all levels divided by those of the first.
    double operator_complexity() const;
    const std::vector<std::string>& warnings() const { return warnings_; }

  private:
    void scale_level(const Context& context, std::size_t level, DeviceVectors& near_null);
    void release(BsrMatrix<double>& matrix) const;
    bool has_first_matrix() const { return levels_.front().matrix.blocks() > 0 || !first_matrix_; }
    BsrMatrix<double> scaled_first_matrix(const Context& context) const;
    void restore_first_level(const Context& context, DeviceVectors& near_null);
    void release_first_matrix(const Level& level);
    TentativeProlongator make_prolongator(const Context& context, const Level& level,
                                          const BsrView<double>& matrix,
                                          const DeviceVectors& near_null,
                                          BsrMatrix<double>& prolongator) const;
    bool choose_aggregates(const Context& context, Level& level, double theta,
                           const DeviceCoordinates& coordinates, int columns);
    std::optional<DeviceVectors> make_products(const Context& context, Level& level,
                                               DeviceVectors& near_null, double max_operations);
    void warn_of_dropped(const std::vector<Index>& dropped, int columns);
    void set_matrix_and_bound(const Context& context, std::size_t level);
    bool coarsen(const Context& context, DeviceVectors& near_null, DeviceCoordinates& coordinates);
    bool end_coarsening(Level& level);
    bool solves_last_level() const;
    void finish(const Context& context, DeviceVectors near_null);
    void choose_values(const Context& context);

    const AmgOptions& options_;
    double rounding_;
    FirstMatrix first_matrix_;
    std::vector<Level> levels_;
    Cycle<C> cycle_;
    /// Stored values of the matrices in the cycle. An update may replace f16, not return to it.
    ValueFormat values_;
    Buffer<double> norms_;  ///< Block norms of the last level, between its scaling and aggregation.
    DeviceVectors coarsest_near_null_;
    bool complete_ = false;
    bool keeps_patterns_ = false;         ///< The patterns of products.
    bool singular_ = false;               ///< The matrix is singular up to rounding.
    const char* stopped_by_ = "levels=";  ///< Why there is no coarser level.
    std::vector<std::string> warnings_;
    std::size_t setup_warnings_ = 0;  ///< Number of the first warnings, which updates keep.
};

}  // namespace tessera::multigrid
