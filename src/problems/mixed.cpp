#include "problems/draws.hpp"
#include "problems/generators.hpp"
#include "problems/row_lists.hpp"

namespace tessera::problems {

namespace {

/// n x n cells of the unit square: a normal velocity on each inner face, x before y, then a
/// pressure in each cell. Faces across x are numbered (a, b), a = 0..n-2, b = 0..n-1, those across
/// y with the ranges exchanged, cells (a, b); b is fastest.
struct StaggeredGrid {
    Offset cells;

    Offset faces() const { return cells * (cells - 1); }
    Offset unknowns() const { return 2 * faces() + cells * cells; }
    Offset x_face(Offset a, Offset b) const { return a * cells + b; }
    Offset y_face(Offset a, Offset b) const { return faces() + a * (cells - 1) + b; }
    Offset pressure(Offset a, Offset b) const { return 2 * faces() + a * cells + b; }
};

/// Cells on a side; two at least, so that there is a face.
Index required_cells(Spec& spec, const char* example) {
    const Index cells = required_size(spec, example);
    if (cells < 2) throw InvalidArgument(spec.name() + " needs 2 cells on a side at least");
    return cells;
}

/// minus the divergence, times `scale`, in the row of a pressure or (transposed) of a face.
void add_divergence(const StaggeredGrid& grid, double scale, Offset a, Offset b, RowList& row) {
    if (a > 0) row.add(grid.x_face(a - 1, b), scale);
    if (a + 1 < grid.cells) row.add(grid.x_face(a, b), -scale);
    if (b > 0) row.add(grid.y_face(a, b - 1), scale);
    if (b + 1 < grid.cells) row.add(grid.y_face(a, b), -scale);
}

/// The system [M -B^T; -B -c I] with rows(face, is_x, a, b, list) for M. Without c the pressures
/// have a common constant and the last of them is left out.
template <class T, class FaceRow>
CsrMatrix<T> assemble_mixed(const Context& cpu, const Spec& spec, const StaggeredGrid& grid,
                            double divergence, double corner, FaceRow&& face_row) {
    const double size = 3 * double(grid.cells) * double(grid.cells);
    checked_unknowns(spec, size);
    const Offset unknowns = grid.unknowns() - (corner == 0 ? 1 : 0);
    return assemble_rows<T>(cpu, Index(unknowns), [&](Index i, RowList& row) {
        const Offset n = grid.cells, faces = grid.faces();
        if (i < faces) {
            const Offset a = i / n, b = i % n;
            face_row(true, a, b, row);
            row.add(grid.pressure(a, b), -divergence);
            row.add(grid.pressure(a + 1, b), divergence);
        } else if (i < 2 * faces) {
            const Offset a = (i - faces) / (n - 1), b = (i - faces) % (n - 1);
            face_row(false, a, b, row);
            row.add(grid.pressure(a, b), -divergence);
            row.add(grid.pressure(a, b + 1), divergence);
        } else {
            add_divergence(grid, divergence, (i - 2 * faces) / n, (i - 2 * faces) % n, row);
            row.add(i, -corner);
        }
    });
}

}  // namespace

template <class T>
Problem<T> stokes(const Context& cpu, Spec& spec) {
    const StaggeredGrid grid{required_cells(spec, "stokes:100")};
    const double beta = spec.real("beta", 0, 0, 1e300);
    spec.finish();
    const double n = double(grid.cells);
    Problem<T> problem;
    problem.matrix = assemble_mixed<T>(
        cpu, spec, grid, n, beta, [&](bool is_x, Offset a, Offset b, RowList& row) {
            const auto face = [&](Offset c, Offset d) {
                return is_x ? grid.x_face(c, d) : grid.y_face(c, d);
            };
            const Offset a_end = is_x ? grid.cells - 1 : grid.cells;
            const Offset b_end = is_x ? grid.cells : grid.cells - 1;
            // A wall along the velocity is half a cell away from it.
            const Offset along = is_x ? b : a;
            const int walls = (along == 0) + (along + 1 == grid.cells);
            if (a > 0) row.add(face(a - 1, b), -n * n);
            if (a + 1 < a_end) row.add(face(a + 1, b), -n * n);
            if (b > 0) row.add(face(a, b - 1), -n * n);
            if (b + 1 < b_end) row.add(face(a, b + 1), -n * n);
            row.add(face(a, b), (4 + walls) * n * n);
        });
    return problem;
}

template <class T>
Problem<T> darcy(const Context& cpu, Spec& spec) {
    const StaggeredGrid grid{required_cells(spec, "darcy:100,contrast=4")};
    const double contrast = spec.real("contrast", 4, 0, 300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const double h = 1 / double(grid.cells);
    const auto resistance = [&](Offset a, Offset b) {
        return 1 / Draws(seed, a * grid.cells + b).power_of_ten(contrast / 2);
    };
    Problem<T> problem;
    problem.matrix =
        assemble_mixed<T>(cpu, spec, grid, h, 0, [&](bool is_x, Offset a, Offset b, RowList& row) {
            const double next = is_x ? resistance(a + 1, b) : resistance(a, b + 1);
            row.add(is_x ? grid.x_face(a, b) : grid.y_face(a, b),
                    h * h * ((resistance(a, b) + next) / 2));
        });
    return problem;
}

#define TESSERA_INSTANTIATE(T)                            \
    template Problem<T> stokes<T>(const Context&, Spec&); \
    template Problem<T> darcy<T>(const Context&, Spec&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::problems
