#pragma once

#include "base/host_memory/host_memory.hpp"
#include "tessera/mesh.hpp"

/// Estimates of host memory in bytes. Doubles because sizes from outside may exceed 2^63.
namespace tessera::problems {

/// A mesh with elements of one shape, while they are collected in an array that doubles.
inline double mesh_bytes(CellShape shape, double nodes, double elements) {
    constexpr int doubling = 2;
    return nodes * dimensions(shape) * double(sizeof(double)) +
           elements * node_count(shape) * double(sizeof(Index)) * doubling;
}

/// The nodes that share an element with a node, summed over the nodes of a grid, over the sum of
/// the elements' nodes.
inline double neighbours_per_place(CellShape shape) {
    switch (shape) {
        case CellShape::quadrilateral8:
        case CellShape::quadrilateral9:
        case CellShape::prism15:
            return 8;
        case CellShape::hexahedron20:
            return 12;
        case CellShape::hexahedron27:
            return 19;
        default:
            return 4;
    }
}

/// The vectors of elasticity::assemble, without the matrix: of each displacement its unknown and
/// five numbers; of each node the start of its list of elements, twice, its connected part and the
/// end of its list of neighbours; of each node of an element its place in the list of elements, and
/// its neighbours.
inline double assembly_bytes(int dimensions, double nodes, double element_nodes,
                             double neighbours) {
    return nodes * dimensions * double(sizeof(Index) + 5 * sizeof(double)) +
           nodes * double(3 * sizeof(Offset) + sizeof(Index)) +
           (element_nodes + neighbours) * double(sizeof(Index));
}

}  // namespace tessera::problems
