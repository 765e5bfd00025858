#include <array>

#include "problems/generators/generators.hpp"

namespace tessera::problems {

namespace {

/// A line, square or cube of points, `size` on each axis; the last axis is numbered fastest.
struct Grid {
    Index size;
    int dimensions;

    Index unknowns(const Spec& spec) const {
        return checked_unknowns(spec, std::pow(double(size), dimensions));
    }

    /// visit(other, side) for a point (side 0) and its neighbours on each axis (side -1 for the
    /// lower ones, 1 for the upper ones), ascending; those outside the grid are left out.
    template <class Visit>
    void star(Offset point, Visit&& visit) const {
        const Offset strides[] = {1, size, Offset(size) * size};
        for (int axis = dimensions - 1; axis >= 0; --axis) {
            if (point / strides[axis] % size > 0) visit(point - strides[axis], -1);
        }
        visit(point, 0);
        for (int axis = 0; axis < dimensions; ++axis) {
            if (point / strides[axis] % size < size - 1) visit(point + strides[axis], 1);
        }
    }

    /// Adds a row of the stencil with these numbers.
    void add_star(Offset point, double lower, double diagonal, double upper, RowList& row) const {
        star(point, [&](Offset other, int side) {
            row.add(other, side < 0 ? lower : side > 0 ? upper : diagonal);
        });
    }
};

/// A rank-1 projector 2 w w^T on the points within a radius of an atom.
struct Projector {
    std::array<double, 3> atom;
    double norm = 0;

    double squared_distance(const std::array<double, 3>& point) const {
        double sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            sum += (point[axis] - atom[axis]) * (point[axis] - atom[axis]);
        }
        return sum;
    }
};

/// Points with the distance `spacing` and the atoms among them.
class Crystal {
  public:
    static constexpr double spacing = 0.6;
    static constexpr double radius = 2.2 * spacing;

    Crystal(Index size, Index atoms, std::uint64_t seed)
        : size_(size), projectors_(std::size_t(atoms)) {
        for (std::size_t p = 0; p < projectors_.size(); ++p) {
            Draws draws(seed, Offset(p));
            for (double& x : projectors_[p].atom) {
                x = (0.25 + 0.5 * draws.uniform()) * size * spacing;
            }
            double square = 0;
            near(projectors_[p], [&](Offset, double weight) { square += weight * weight; });
            projectors_[p].norm = std::sqrt(square);
        }
    }

    std::array<double, 3> position(Offset point) const {
        return {double(point / size_ / size_) * spacing, double(point / size_ % size_) * spacing,
                double(point % size_) * spacing};
    }

    double potential(Offset point) const {
        double sum = 0;
        for (const Projector& p : projectors_) {
            sum -= 3 * std::exp(-p.squared_distance(position(point)) / 1.2);
        }
        return sum;
    }

    void add_projectors(Offset point, RowList& row) const {
        for (const Projector& p : projectors_) {
            const double own = weight(p, position(point));
            if (own == 0) continue;
            near(p, [&](Offset other, double weight) {
                row.add(other, 2 * ((own / p.norm) * (weight / p.norm)));
            });
        }
    }

  private:
    static double weight(const Projector& p, const std::array<double, 3>& at) {
        const double distance = std::sqrt(p.squared_distance(at));
        return distance < radius ? std::exp(-distance) : 0;
    }

    /// use(point, weight) for the points of a projector.
    template <class F>
    void near(const Projector& p, F&& use) const {
        std::array<Offset, 3> low, high;
        for (int axis = 0; axis < 3; ++axis) {
            low[axis] = std::max<Offset>(Offset((p.atom[axis] - radius) / spacing), 0);
            high[axis] = std::min<Offset>(Offset((p.atom[axis] + radius) / spacing) + 1, size_ - 1);
        }
        for (Offset a = low[0]; a <= high[0]; ++a) {
            for (Offset b = low[1]; b <= high[1]; ++b) {
                for (Offset c = low[2]; c <= high[2]; ++c) {
                    const Offset point = (a * size_ + b) * size_ + c;
                    const double w = weight(p, position(point));
                    if (w > 0) use(point, w);
                }
            }
        }
    }

    Offset size_;
    std::vector<Projector> projectors_;
};

}  // namespace

/// -Laplace(u), Dirichlet, N points on each of 1, 2 or 3 axes, h = 1 / (N + 1), scaled by h^2:
/// 2 per axis on the diagonal, -1 for each neighbour. Symmetric positive definite.
Problem<double> poisson(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, dimensions_of(spec)};
    spec.finish();
    return assemble_rows(cpu, grid.unknowns(spec), [&](Index i, RowList& row) {
        grid.add_star(i, -1, 2 * grid.dimensions, -1, row);
    });
}

/// -Laplace(u) + S (1,1,1) . grad(u), first-order upwind, scaled by h^2: diagonal 6 + 3 S h, lower
/// neighbours -1 - S h, upper ones -1. Nonsymmetric M-matrix.
Problem<double> convection(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 3};
    const double strength = spec.real("strength", 10, 0, 1e9);
    spec.finish();
    const double upwind = strength / (double(size) + 1);  // h^2 times strength / h
    return assemble_rows(cpu, grid.unknowns(spec), [&](Index i, RowList& row) {
        grid.add_star(i, -1 - upwind, 6 + 3 * upwind, -1, row);
    });
}

/// poisson2d less kh^2 I: waves with 2 pi / kh points a wave length.
Problem<double> helmholtz(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double kh = spec.real("kh", 0.6, 0, 1e9);
    spec.finish();
    return assemble_rows(cpu, grid.unknowns(spec), [&](Index i, RowList& row) {
        grid.add_star(i, -1, 4 - kh * kh, -1, row);
    });
}

/// thickness L^2 + L - shift I with L = poisson2d (13 points): a plate under tension; positive
/// definite without shift, indefinite with, for example, 0.8.
Problem<double> shell(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double thickness = spec.real("thickness", 0.01, 0, 1e9);
    const double shift = spec.real("shift", 0, 0, 1e9);
    spec.finish();
    return assemble_rows(cpu, grid.unknowns(spec), [&](Index i, RowList& row) {
        // t L^2 + L: every path of two steps, then those of one.
        const auto laplacian = [&](Offset from, double factor) {
            grid.add_star(from, -factor, 4 * factor, -factor, row);
        };
        grid.star(i, [&](Offset j, int side) {
            if (side != 0) laplacian(j, -thickness);
        });
        laplacian(i, 4 * thickness);
        laplacian(i, 1);
        row.add(i, -shift);
    });
}

/// Conductances 10^u, u uniform in [-spread, spread), between neighbours of N x N points, and
/// `leak` to the ground at each. Symmetric positive definite.
Problem<double> circuit(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double spread = spec.real("spread", 2, 0, 300);
    const double leak = spec.real("leak", 1e-3, 0, 1e300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    // Each point has the edges to the next ones.
    const auto conductance = [&](Offset i, Offset j) {
        return Draws(seed, 2 * std::min(i, j) + (std::abs(i - j) == 1 ? 1 : 0))
            .power_of_ten(spread);
    };
    auto problem = assemble_rows(cpu, grid.unknowns(spec), [&](Index i, RowList& row) {
        double sum = leak;
        grid.star(i, [&](Offset j, int side) {
            if (side == 0) return;
            const double weight = conductance(i, j);
            row.add(j, -weight);
            sum += weight;
        });
        row.add(i, sum);
    });
    problem.known_singular = leak == 0;
    return problem;
}

/// -1/2 Laplace(u) + V u + sum of 2 w w^T u - shift u on N^3 points at the distance h = 0.6;
/// V = -sum over the atoms of 3 exp(-d^2 / 1.2), w = exp(-d) for d < 2.2 h, normalised: dense
/// blocks around the atoms, which are in the middle half of the cube. Indefinite.
Problem<double> schroedinger(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 3};
    const Index atoms = Index(spec.integer("atoms", 6, 0, 100000));
    const double shift = spec.real("shift", 0.6, -1e9, 1e9);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const Index rows = grid.unknowns(spec);
    const Crystal crystal(size, atoms, seed);
    const double kinetic = 1 / (2 * Crystal::spacing * Crystal::spacing);
    return assemble_rows(cpu, rows, [&](Index i, RowList& row) {
        const double diagonal = 6 * kinetic + crystal.potential(i) - shift;
        grid.add_star(i, -kinetic, diagonal, -kinetic, row);
        crystal.add_projectors(i, row);
    });
}

}  // namespace tessera::problems
