#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/parallel.hpp"
#include "tessera/csr.hpp"

namespace tessera::problems {

/// Where a point stands on one axis of a grid.
enum class Place : std::uint8_t { first, inside, last, only };

inline bool has_before(Place place) { return place == Place::inside || place == Place::last; }
inline bool has_after(Place place) { return place == Place::first || place == Place::inside; }

using Places = std::array<Place, 3>;

/// A box of points with the same number of unknowns each; the last axis is numbered fastest, the
/// unknowns of a point follow each other. Fewer than three dimensions leave the leading axes with
/// one point.
struct Grid {
    std::array<Index, 3> points;
    Index unknowns_a_point = 1;

    Index point_count() const { return points[0] * points[1] * points[2]; }
    /// Unknowns between neighbours on each axis.
    std::array<Index, 3> strides() const {
        return {points[1] * points[2] * unknowns_a_point, points[2] * unknowns_a_point,
                unknowns_a_point};
    }
    Place place(int axis, Index point) const {
        if (points[axis] == 1) return Place::only;
        return point == 0 ? Place::first : point + 1 == points[axis] ? Place::last : Place::inside;
    }
};

/// The matrix rows of one point, which hold at every point that stands at the same places.
template <class T>
struct PointRows {
    std::vector<Index> columns;  ///< Relative to the first unknown of the point, ascending.
    std::vector<T> values;       ///< columns.size() values for each unknown of the point.
};

/// The matrix whose rows at a point are rows_at(places of the point); rows_at is asked once for
/// each of the at most 27 combinations of places that occur. Rows are written where they belong,
/// in parallel and once.
template <class T, class RowsAt>
CsrMatrix<T> assemble(const Context& cpu, const Grid& grid, RowsAt&& rows_at) {
    const Index middle = grid.points[1];
    const Index fast = grid.points[2];
    std::array<PointRows<T>, 64> table;
    const auto index = [](Places p) { return (int(p[0]) * 4 + int(p[1])) * 4 + int(p[2]); };
    const auto places_of_line = [&](Index line) {
        return Places{grid.place(0, line / middle), grid.place(1, line % middle), Place::only};
    };
    // Entries of the points before point k of a line.
    const auto entries_before = [&](Places places, Index k) {
        const auto entries = [&](Index point) {
            places[2] = grid.place(2, point);
            return Offset(table[index(places)].values.size());
        };
        const Index inside = std::max(std::min(k, fast - 1) - 1, 0);
        return (k > 0 ? entries(0) : 0) + (inside > 0 ? inside * entries(1) : 0) +
               (k == fast && fast > 1 ? entries(fast - 1) : 0);
    };

    const Index lines = grid.points[0] * middle;
    std::vector<Offset> line_starts(std::size_t(lines) + 1, 0);
    for (Index line = 0; line < lines; ++line) {
        Places places = places_of_line(line);
        for (const Index point : {Index(0), Index(1), fast - 1}) {
            places[2] = grid.place(2, std::min(point, fast - 1));
            PointRows<T>& rows = table[index(places)];
            if (rows.columns.empty()) rows = rows_at(places);
        }
        line_starts[line + 1] = line_starts[line] + entries_before(places, fast);
    }

    const Index unknowns = grid.unknowns_a_point;
    const Index count = grid.point_count();
    CsrMatrix<T> matrix(cpu, count * unknowns, count * unknowns, line_starts[lines]);
    Offset* row_offsets = matrix.row_offsets().data();
    Index* column_indices = matrix.column_indices().data();
    T* values = matrix.values().data();
    row_offsets[matrix.rows()] = line_starts[lines];
    const auto fill = [&](Offset first, Offset last) {
        Offset line = first / fast;
        Index k = Index(first % fast);
        Places places = places_of_line(Index(line));
        Offset at = line_starts[line] + entries_before(places, k);
        for (Offset point = first; point < last; ++point) {
            places[2] = grid.place(2, k);
            const PointRows<T>& rows = table[index(places)];
            const Offset length = Offset(rows.columns.size());
            const Index base = Index(point * unknowns);
            for (Index row = 0; row < unknowns; ++row, at += length) {
                row_offsets[base + row] = at;
                for (Offset j = 0; j < length; ++j) column_indices[at + j] = base + rows.columns[j];
                std::copy_n(rows.values.data() + row * length, length, values + at);
            }
            if (++k == fast && ++line < lines) {
                k = 0;
                places = places_of_line(Index(line));
            }
        }
    };
    parallel_ranges(cpu.threads(), count, fill, 1024);
    return matrix;
}

}  // namespace tessera::problems
