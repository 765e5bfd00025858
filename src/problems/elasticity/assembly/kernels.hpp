#pragma once

#include "base/dispatch.hpp"
#include "problems/elasticity/assembly/element_sums.hpp"

namespace tessera::elasticity {

/// A matrix of zeros in the memory of the Context, whose rows have the unknowns of the neighbours.
TESSERA_BACKENDS(CsrMatrix<double> make_matrix(const Context& context, const Neighbours& neighbours,
                                               int d, const System& system, Index rows);)

namespace cuda {
/// Adds the stiffnesses of all elements that are not changed to the matrix of a system: in batches,
/// first each element by one warp; then the sums, the rows of each node by one warp in the order of
/// the elements.
void add_stiffnesses(const Context& context, const ElementData& data,
                     std::span<const unsigned char> changed, const NodeElements& node_elements,
                     System& system);
}  // namespace cuda

}  // namespace tessera::elasticity
