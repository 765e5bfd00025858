#pragma once

#include <vector>

#include "tessera/csr.hpp"
#include "tessera/mesh.hpp"

// Which rank owns which nodes of a matrix that one process has as a whole; in host memory.
namespace tessera {

/// An order of nodes in which those of a rank follow one another, and where each rank begins.
struct NodePartition {
    std::vector<Index> order;    ///< Node order[k] of the matrix is node k over ranks.
    std::vector<Offset> starts;  ///< Rank r owns starts[r] .. starts[r + 1] - 1 of these.
    std::vector<Index> places;   ///< Node i of the matrix is node places[i] over ranks.
};

/// Recursive bisection: nodes are cut across the axis along which they extend most, into parts of
/// sizes that differ by one node at most. The nodes of a rank keep their order. `values` of the
/// coordinates have `dimensions` numbers for each node, all finite.
NodePartition bisect_coordinates(const NodeCoordinates& coordinates, int ranks);

/// Parts of equal size of an order in which neighbours are near each other, for a matrix with a
/// symmetric pattern and `block` rows for each node: that of the matrix if its cuts are no larger
/// than those of a cube, else reverse Cuthill-McKee. The nodes of a rank keep their
/// order in the matrix.
NodePartition cut_ordering(const Context& cpu, const CsrView<double>& matrix, int block, int ranks);

/// The rows of a rank, with columns in the order of the partition.
CsrMatrix<double> rows_of_rank(const Context& cpu, const CsrView<double>& matrix, int block,
                               const NodePartition& partition, int rank);

/// The items of the nodes of a rank, each of `width` numbers, and their way back to the whole.
std::vector<double> items_of_rank(const Context& cpu, std::span<const double> all, int width,
                                  const NodePartition& partition, int rank);
void put_items_of_rank(const Context& cpu, std::span<const double> own, int width,
                       const NodePartition& partition, int rank, std::span<double> all);

}  // namespace tessera
