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

/// The vectors of elasticity::assemble, without the matrix: of each displacement its unknown and
/// five numbers; of each node the start of its list of elements, twice, its connected part and the
/// end of its list of neighbours; of each node of an element its place in these lists, which have
/// about four times as many neighbours.
inline double assembly_bytes(int dimensions, double nodes, double element_nodes) {
    return nodes * dimensions * double(sizeof(Index) + 5 * sizeof(double)) +
           nodes * double(3 * sizeof(Offset) + sizeof(Index)) +
           element_nodes * double(5 * sizeof(Index));
}

}  // namespace tessera::problems
