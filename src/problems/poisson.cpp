#include "problems/generators.hpp"
#include "problems/grid.hpp"

namespace tessera::problems {

namespace {

/// `points` points on each of the last `dimensions` axes.
Grid cube(Index points, int dimensions) {
    Grid grid{{1, 1, 1}, 1};
    for (int axis = 3 - dimensions; axis < 3; ++axis) grid.points[axis] = points;
    return grid;
}

double cube_unknowns(Index points, int dimensions) {
    double unknowns = 1;
    for (int axis = 0; axis < dimensions; ++axis) unknowns *= double(points);
    return unknowns;
}

/// The matrix with `diagonal` at every point, `before` at its lower and `after` at its upper
/// neighbour on each axis; neighbours beyond the grid carry Dirichlet values and are left out.
template <class T>
CsrMatrix<T> star_stencil(const Context& cpu, const Grid& grid, double diagonal, double before,
                          double after) {
    return assemble<T>(cpu, grid, [&](const Places& places) {
        const std::array<Index, 3> strides = grid.strides();
        PointRows<T> rows;
        const auto add = [&](Index column, double value) {
            rows.columns.push_back(column);
            rows.values.push_back(T(value));
        };
        for (int axis = 0; axis < 3; ++axis) {
            if (has_before(places[axis])) add(-strides[axis], before);
        }
        add(0, diagonal);
        for (int axis = 2; axis >= 0; --axis) {
            if (has_after(places[axis])) add(strides[axis], after);
        }
        return rows;
    });
}

}  // namespace

template <class T>
Problem<T> poisson(const Context& cpu, Spec& spec, int dimensions) {
    const std::string example = spec.name() + ":100";
    const Index size = required_size(spec, example.c_str());
    spec.finish();
    checked_unknowns(spec, cube_unknowns(size, dimensions));
    Problem<T> problem;
    problem.matrix = star_stencil<T>(cpu, cube(size, dimensions), 2 * dimensions, -1, -1);
    return problem;
}

template <class T>
Problem<T> convection(const Context& cpu, Spec& spec) {
    const Index size = required_size(spec, "convection3d:100,strength=10");
    const double strength = spec.real("strength", 10, 0, 1e9);
    spec.finish();
    checked_unknowns(spec, cube_unknowns(size, 3));
    const double upwind = strength / (double(size) + 1);  // h^2 times strength / h
    Problem<T> problem;
    problem.matrix = star_stencil<T>(cpu, cube(size, 3), 6 + 3 * upwind, -1 - upwind, -1);
    return problem;
}

#define TESSERA_INSTANTIATE(T)                                  \
    template Problem<T> poisson<T>(const Context&, Spec&, int); \
    template Problem<T> convection<T>(const Context&, Spec&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::problems
