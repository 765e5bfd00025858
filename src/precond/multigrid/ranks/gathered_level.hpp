#pragma once

#include "precond/multigrid/hierarchy.hpp"

namespace tessera::multigrid {

/// A level of all ranks, collected on each, from where every rank goes on alone with a Hierarchy:
/// as an Operator its cycle for the own parts of vectors over ranks. All ranks compute the same.
template <class C>
class GatheredLevel final : public Operator<C> {
  public:
    /// The own rows of a matrix, its near-null vectors and coordinates (of own nodes, and perhaps
    /// others) if there are any. `options` but for these, as for a Hierarchy. Collective; waits.
    GatheredLevel(const Context& context, const Halo& halo, const BsrMatrix<double>& matrix,
                  const DeviceVectors& near_null, const DeviceCoordinates* coordinates,
                  const AmgOptions& options, double rounding);

    /// Takes new values on the same pattern, with their near-null vectors. Collective; waits.
    void update(const Context& context, const BsrMatrix<double>& matrix,
                const DeviceVectors& near_null);

    const Hierarchy<C>& hierarchy() const { return *hierarchy_; }
    /// The own part of Cycle::smooth_vector of the hierarchy, and its energy. Needs
    /// hierarchy().ends_directly().
    Buffer<C> smooth_vector(const Context& context, C* energy) const;
    /// Raises the bounds of eigenvalues to `factor` times what they were at first.
    void raise_bounds(double factor) { hierarchy_->raise_bounds(factor); }

    Index rows() const override { return own_rows_; }
    Index columns() const override { return own_rows_; }
    void apply(const Context& context, std::span<const C> b, std::span<C> z) const override;
    bool can_be_captured() const override { return halo_.communicator().can_be_captured(); }

  private:
    void set_near_null(const Context& context, const DeviceVectors& near_null);

    const Halo& halo_;
    AmgOptions options_;
    std::unique_ptr<Hierarchy<C>> hierarchy_;
    std::vector<Offset> nodes_of_ranks_, rows_of_ranks_;
    int block_;
    Offset first_row_;
    Index own_rows_;
};

}  // namespace tessera::multigrid
