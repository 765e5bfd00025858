#pragma once

#include "precond/multigrid/setup/prolongator.hpp"
#include "tessera/amg.hpp"

// Steps of the setup of a level. With a halo the level is over ranks: matrices have own rows and
// the columns of its numbering, and the step is collective.
namespace tessera::multigrid {

/// A level is built again with half of theta if all levels together have more than max_complexity
/// times the entries of the matrix, or its rows more blocks than max_blocks_per_row on average. If
/// they have twice as many even then, there is no such level.
inline constexpr double max_complexity = 3.5;
inline constexpr double max_blocks_per_row = 200;
inline constexpr double min_theta = 1e-4;
/// A matrix with a smaller eigenvalue is not stored in 16 bits: their rounding, 5e-4 of 1, disturbs
/// vectors of so little energy. On a GPU 16 bits gain less. Measured: docs/decisions/multigrid.md.
inline double min_eigenvalue_for_f16(const Context& context) {
    return context.on_gpu() ? 1e-6 : 1e-7;
}

/// Throws InvalidArgument for options that do not fit a matrix of so many nodes.
void check_options(Index nodes, const AmgOptions& options);

/// The coordinates of the options, which must be finite.
DeviceCoordinates coordinates_of(const Context& context, const AmgOptions& options);

/// Type of the stored values in the cycle before it is known how small eigenvalues are. On a CPU,
/// conversions of blocks that are single numbers cost more time than they save: with f16 the solve
/// of poisson3d:100 takes 0.6 to 0.8 instead of 0.55 s.
ValueFormat first_values(const Context& context, const BsrView<double>& matrix,
                         const AmgOptions& options);

/// The near-null space of the options; zero for unknowns that are coupled to no other one.
DeviceVectors near_null_space(const Context& context, const BsrView<double>& matrix,
                              const AmgOptions& options, const DeviceCoordinates& coordinates,
                              const Communicator* communicator = nullptr);

/// Scales a matrix so that its diagonal blocks are identities, and writes the scaling, allocated if
/// it is empty, with that of ghosts after that of own nodes, and the norms of the scaled blocks
/// unless `norms` is empty. Returns whether a pivot is a rounding error, within `pivot_error`.
/// Throws NotPositiveDefinite, which names `level`, for lower ones.
bool scale_matrix(const Context& context, BsrMatrix<double>& matrix, Buffer<double>& scaling,
                  double pivot_error, std::size_t level, Buffer<double>& norms,
                  const Halo* halo = nullptr);

/// Scales a matrix by such a scaling.
void apply_scaling(const Context& context, BsrMatrix<double>& matrix,
                   const Buffer<double>& scaling);

/// B_i becomes S_i^-T B_i for the near-null vectors B of a level.
void scale_near_null(const Context& context, const BsrView<double>& matrix,
                     const Buffer<double>& scaling, DeviceVectors& near_null);

/// AmgOptions::second_pass of a level. `repeated`: its theta is smaller than that of the options.
int min_neighbours_of_pass_2(const AmgOptions& options, bool finest, bool repeated, int columns,
                             Offset nodes);

}  // namespace tessera::multigrid
