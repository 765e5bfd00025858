#include "problems/elasticity/assembly/kernels.hpp"

#include <numeric>

namespace tessera::elasticity {

namespace {

/// visit(row) for the unknowns of the node at a place.
template <class Visit>
void each_row(const Neighbours& neighbours, int d, const System& system, Index place,
              Visit&& visit) {
    const std::size_t node = std::size_t(neighbours.node_at(place));
    for (int i = 0; i < d; ++i) {
        const Index row = system.unknowns[node * d + i];
        if (row >= 0) visit(row);
    }
}

}  // namespace

std::vector<Offset> find_row_offsets(const Context& cpu, const Neighbours& neighbours, int d,
                                     const System& system, Index rows) {
    std::vector<Offset> row_offsets(std::size_t(rows) + 1, 0);
    neighbours.each(cpu, [&](Index place, std::span<const Index> near) {
        Offset length = 0;
        for (const Index other : near) {
            each_row(neighbours, d, system, other, [&](Index) { ++length; });
        }
        each_row(neighbours, d, system, place, [&](Index row) { row_offsets[row + 1] = length; });
    });
    std::partial_sum(row_offsets.begin(), row_offsets.end(), row_offsets.begin());
    return row_offsets;
}

CsrMatrix<double> cpu::make_matrix(const Context& cpu, const Neighbours& neighbours, int d,
                                   const System& system, Index rows) {
    const std::vector<Offset> row_offsets = find_row_offsets(cpu, neighbours, d, system, rows);
    CsrMatrix<double> matrix(cpu, rows, rows, row_offsets.back());
    std::ranges::copy(row_offsets, matrix.row_offsets().data());
    Index* const columns = matrix.column_indices().data();
    double* const values = matrix.values().data();
    neighbours.each(cpu, [&](Index place, std::span<const Index> near) {
        each_row(neighbours, d, system, place, [&](Index row) {
            Offset position = row_offsets[row];
            for (const Index other : near) {
                each_row(neighbours, d, system, other,
                         [&](Index column) { columns[position++] = column; });
            }
            std::fill(values + row_offsets[row], values + position, 0.);
        });
    });
    return matrix;
}

}  // namespace tessera::elasticity
