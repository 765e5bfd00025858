#include "problems/generators/generators.hpp"

namespace tessera::problems {

namespace {

/// The rows of J, and its columns: pairs of index and value, ascending.
struct Constraints {
    using List = std::vector<std::pair<Index, double>>;
    std::vector<List> rows;
    std::vector<List> columns;
};

/// `entries` numbers +-1 per row, at distinct variables, and a 1 in each column.
Constraints sparse_constraints(std::uint64_t seed, Index count, Index variables, Index entries) {
    Constraints constraints{std::vector<Constraints::List>(std::size_t(count)),
                            std::vector<Constraints::List>(std::size_t(variables))};
    const auto find = [](Constraints::List& row, Index variable) {
        return std::ranges::find(row, variable, &std::pair<Index, double>::first);
    };
    for (Index i = 0; i < count; ++i) {
        RandomStream random(seed, i);
        Constraints::List& row = constraints.rows[i];
        while (Index(row.size()) < entries) {
            const Index variable = random.integer(0, variables - 1);
            const double sign = random.integer(0, 1) == 0 ? -1 : 1;
            if (find(row, variable) == row.end()) row.emplace_back(variable, sign);
        }
    }
    for (Index j = 0; j < variables; ++j) {
        Constraints::List& row =
            constraints.rows[RandomStream(seed, Offset(count) + j).integer(0, count - 1)];
        const auto entry = find(row, j);
        if (entry == row.end()) {
            row.emplace_back(j, 1);
        } else {
            entry->second = 1;
        }
    }
    for (Index i = 0; i < count; ++i) {
        for (const auto& [variable, value] : constraints.rows[i]) {
            constraints.columns[variable].emplace_back(i, value);
        }
    }
    return constraints;
}

}  // namespace

/// [-Theta J^T; J delta I] of an interior point method: N variables, Theta = 10^u with u uniform in
/// [-spread, spread), and M = N / 2 constraints (1 at least) with `entries` numbers +-1 at random
/// variables; each variable has another 1 at a random constraint. N negative eigenvalues.
Problem<double> kkt(const Context& cpu, Spec& spec, Index variables) {
    const double spread = spec.real("spread", 4, 0, 300);
    const double delta = spec.real("delta", 0, 0, 1e300);
    const Index entries = std::min(Index(spec.integer("entries", 3, 1, 1000)), variables);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const Index count = std::max(variables / 2, 1);
    const double constrained = double(count) * entries + variables;  // Entries of J.
    const Index rows = checked_unknown_count(
        spec, double(variables) + count, double(variables) + count + 2 * constrained,
        4 * constrained * sizeof(Constraints::List::value_type) +
            (double(variables) + count) * sizeof(Constraints::List));
    const Constraints constraints = sparse_constraints(seed, count, variables, entries);
    return assemble_rows(cpu, rows, [&](Index i, RowEntries& row) {
        if (i < variables) {
            RandomStream random(seed, Offset(count) + variables + i);
            row.add(i, -random.power_of_ten(spread));
            for (const auto& [c, value] : constraints.columns[i]) row.add(variables + c, value);
        } else {
            for (const auto& [j, value] : constraints.rows[i - variables]) row.add(j, value);
            row.add(i, delta);
        }
    });
}

/// [H J^T; J 0], H = tridiagonal (-1, 2, -1) of N variables, M = N / 3 constraints (1 at least)
/// e_i - e_(i + M). M negative eigenvalues.
Problem<double> qpband(const Context& cpu, Spec& spec, Index variables) {
    spec.finish();
    const Index count = std::max(variables / 3, 1);
    const Index rows =
        checked_unknown_count(spec, double(variables) + count, 3. * variables + 4. * count);
    return assemble_rows(cpu, rows, [&](Index i, RowEntries& row) {
        if (i < variables) {
            row.add(Offset(i) - 1, -1);
            row.add(i, 2);
            if (i + 1 < variables) row.add(Offset(i) + 1, -1);
            if (i < count) row.add(Offset(variables) + i, 1);
            if (i >= count && i < 2 * count) row.add(Offset(variables) + i - count, -1);
        } else {
            const Index c = i - variables;
            row.add(c, 1);
            if (c + count < variables) row.add(Offset(c) + count, -1);
        }
    });
}

/// [H J^T; J 0], H = diag(10^u), u uniform in [-spread, spread), N variables; J has `rows` dense
/// rows: normal random numbers with the density `density`, plus 1 at (i, i). `rows` negative
/// eigenvalues.
Problem<double> bordered(const Context& cpu, Spec& spec, Index variables) {
    const Index count = std::min(Index(spec.integer("rows", 20, 1, 10000)), variables);
    const double density = spec.real("density", 0.3, 0, 1);
    const double spread = spec.real("spread", 3, 0, 300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const double border_row = density * variables;  // Entries.
    const Index rows =
        checked_unknown_count(spec, double(variables) + count, variables + 2 * count * border_row,
                              2 * cpu.threads() * border_row * sizeof(std::pair<Offset, double>));
    const auto border = [&](Offset c, Offset j) {
        RandomStream random(seed, c * variables + j);
        const double value = random.uniform() < density ? random.normal() : 0;
        return value + (c == j ? 1 : 0);
    };
    return assemble_rows(cpu, rows, [&](Index i, RowEntries& row) {
        if (i < variables) {
            row.add(i, RandomStream(seed, Offset(count) * variables + i).power_of_ten(spread));
            for (Index c = 0; c < count; ++c) row.add(Offset(variables) + c, border(c, i));
        } else {
            for (Index j = 0; j < variables; ++j) row.add(j, border(i - variables, j));
        }
    });
}

namespace {

/// n x n cells of the unit square: a normal velocity on each inner face, x before y, then a
/// pressure in each cell. Faces across x are numbered (a, b), a = 0..n-2, b = 0..n-1, those across
/// y with the ranges exchanged, cells (a, b); b is fastest.
struct StaggeredGrid {
    Offset cells;

    StaggeredGrid(const Spec& spec, Index size) : cells(size) {
        require(size >= 2, spec.name(), " needs 2 cells on a side at least");
    }
    Offset faces() const { return cells * (cells - 1); }
    Offset face(bool is_x, Offset a, Offset b) const {
        return is_x ? a * cells + b : faces() + a * (cells - 1) + b;
    }
    Offset pressure(Offset a, Offset b) const { return 2 * faces() + a * cells + b; }
};

/// The system [M -B^T; -B -c I], B the divergence times a scale, with face_row(is_x, a, b, list)
/// for the rows of M, which have at most `face_entries` entries. Without c the pressures are
/// determined up to a constant, and the last one is left out.
template <class FaceRow>
Problem<double> assemble_mixed(const Context& cpu, const Spec& spec, const StaggeredGrid& grid,
                               double scale, double c, int face_entries, FaceRow&& face_row) {
    const Offset n = grid.cells, faces = grid.faces();
    const double cells = double(n) * double(n);
    checked_unknown_count(spec, 3 * cells, cells * (2 * (face_entries + 2) + 4 + (c != 0)));
    const Offset unknowns = 2 * faces + n * n - (c == 0 ? 1 : 0);
    return assemble_rows(cpu, Index(unknowns), [&](Index i, RowEntries& row) {
        if (i < 2 * faces) {
            const bool is_x = i < faces;
            const Offset a = is_x ? i / n : (i - faces) / (n - 1);
            const Offset b = is_x ? i % n : (i - faces) % (n - 1);
            face_row(is_x, a, b, row);
            row.add(grid.pressure(a, b), -scale);
            row.add(grid.pressure(a + is_x, b + !is_x), scale);
        } else {
            const Offset a = (i - 2 * faces) / n, b = (i - 2 * faces) % n;
            if (a > 0) row.add(grid.face(true, a - 1, b), scale);
            if (a + 1 < n) row.add(grid.face(true, a, b), -scale);
            if (b > 0) row.add(grid.face(false, a, b - 1), scale);
            if (b + 1 < n) row.add(grid.face(false, a, b), -scale);
            row.add(i, -c);
        }
    });
}

}  // namespace

/// Stokes flow in the closed unit square, N x N cells (2 at least), marker-and-cell scheme:
/// [A B^T; B -beta I], A the 5-point Laplacian with no slip on walls, B minus the divergence. As
/// many negative eigenvalues as pressures.
Problem<double> stokes(const Context& cpu, Spec& spec, Index size) {
    const StaggeredGrid grid(spec, size);
    const double beta = spec.real("beta", 0, 0, 1e300);
    spec.finish();
    const double n = double(size);
    const auto face_row = [&](bool is_x, Offset a, Offset b, RowEntries& row) {
        const Offset a_end = is_x ? size - 1 : size;
        const Offset b_end = is_x ? size : size - 1;
        // A wall along the velocity is half a cell away from it.
        const Offset along = is_x ? b : a;
        const int walls = (along == 0) + (along + 1 == size);
        if (a > 0) row.add(grid.face(is_x, a - 1, b), -n * n);
        if (b > 0) row.add(grid.face(is_x, a, b - 1), -n * n);
        row.add(grid.face(is_x, a, b), (4 + walls) * n * n);
        if (b + 1 < b_end) row.add(grid.face(is_x, a, b + 1), -n * n);
        if (a + 1 < a_end) row.add(grid.face(is_x, a + 1, b), -n * n);
    };
    return assemble_mixed(cpu, spec, grid, n, beta, 5, face_row);
}

/// Flow in a porous square on the same unknowns (lowest-order Raviart-Thomas elements, lumped):
/// [M B^T; B 0], M = h^2 times the mean of 1 / k on both sides of a face, k = 10^u in each cell,
/// u uniform in [-contrast / 2, contrast / 2), B scaled by h^2.
Problem<double> darcy(const Context& cpu, Spec& spec, Index size) {
    const StaggeredGrid grid(spec, size);
    const double contrast = spec.real("contrast", 4, 0, 300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const double h = 1 / double(size);
    const auto resistance = [&](Offset a, Offset b) {
        return 1 / RandomStream(seed, a * size + b).power_of_ten(contrast / 2);
    };
    const auto face_row = [&](bool is_x, Offset a, Offset b, RowEntries& row) {
        const double next = resistance(a + is_x, b + !is_x);
        row.add(grid.face(is_x, a, b), h * h * ((resistance(a, b) + next) / 2));
    };
    return assemble_mixed(cpu, spec, grid, h, 0, 1, face_row);
}

}  // namespace tessera::problems
