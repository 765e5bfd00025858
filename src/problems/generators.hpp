#pragma once

#include "tessera/meshes.hpp"
#include "tessera/problems.hpp"

/// The generators behind `generate`. Each reads its options, calls Spec::finish before any work,
/// and leaves Problem::name to `generate`. Values are computed in double and rounded to T once.
namespace tessera::problems {

/// Value 0 of the text, 1..2^31 - 1. Throws InvalidArgument with an example when there is none.
Index required_size(Spec& spec, const char* example);

/// Throws InvalidArgument when a problem has more unknowns than Index can number. `unknowns` is a
/// double because the product that gives it may exceed 2^63; it is exact where it matters.
Index checked_unknowns(const Spec& spec, double unknowns);

template <class T>
Problem<T> poisson(const Context& cpu, Spec& spec, int dimensions);
template <class T>
Problem<T> convection(const Context& cpu, Spec& spec);
template <class T>
Problem<T> arrow(const Context& cpu, Spec& spec);
template <class T>
Problem<T> block_diagonal(const Context& cpu, Spec& spec);
template <class T>
Problem<T> random_blocks(const Context& cpu, Spec& spec);
template <class T>
Problem<T> elasticity(const Context& cpu, Spec& spec, int dimensions);
template <class T>
Problem<T> cantilever(const Context& cpu, Spec& spec, int dimensions);
template <class T>
Problem<T> plate_hole(const Context& cpu, Spec& spec);
template <class T>
Problem<T> kkt(const Context& cpu, Spec& spec);
template <class T>
Problem<T> qpband(const Context& cpu, Spec& spec);
template <class T>
Problem<T> bordered(const Context& cpu, Spec& spec);
template <class T>
Problem<T> stokes(const Context& cpu, Spec& spec);
template <class T>
Problem<T> darcy(const Context& cpu, Spec& spec);
template <class T>
Problem<T> helmholtz(const Context& cpu, Spec& spec);
template <class T>
Problem<T> schroedinger(const Context& cpu, Spec& spec);
template <class T>
Problem<T> shell(const Context& cpu, Spec& spec);
template <class T>
Problem<T> circuit(const Context& cpu, Spec& spec);

/// The largest value of `jitter`, which leaves elements a hundredth away from flat.
inline constexpr double largest_jitter = 0.99;

/// The largest value of `grading`, and the inverse of its smallest: of N cells the shortest is at
/// least 1e-6 / N of an axis, 1e5 times what rounding moves its ends for the 32,767 of a square.
inline constexpr double largest_grading = 1e6;

struct GridChoice {
    CellShape element;
    meshes::GridOptions options;
};

/// Reads `element`, and with `may_move` also `jitter`, `grading` and `seed`.
GridChoice grid_choice(Spec& spec, int dimensions, bool may_move);

/// elasticity2d and elasticity3d on any mesh of the unit square or cube.
template <class T>
Problem<T> unit_elasticity(const Context& cpu, const GridChoice& choice, Index size, bool free);

}  // namespace tessera::problems
