#include <array>

#include "problems/generators/generators.hpp"

namespace tessera::problems {

namespace {

/// A line, square or cube of points, `size` on each axis; the last axis is numbered fastest.
struct Grid {
    Index size;
    int dimensions;

    Index unknowns(const Spec& spec, int entries_per_row, double other_entries = 0) const {
        const double points = std::pow(double(size), dimensions);
        return checked_unknown_count(spec, points, points * entries_per_row + other_entries);
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

    /// Adds the stencil's row at a point.
    void add_star(Offset point, double lower, double diagonal, double upper,
                  RowEntries& row) const {
        star(point, [&](Offset other, int side) {
            row.add(other, side < 0 ? lower : side > 0 ? upper : diagonal);
        });
    }
};

/// Points at the distance `spacing` on each axis, and atoms among them. An atom has a potential and
/// a rank-1 projector 2 w w^T on the points within `radius`.
class Crystal {
  public:
    static constexpr double spacing = 0.6;
    static constexpr double radius = 2.2 * spacing;

    Crystal(Index size, Index atoms, std::uint64_t seed) : size_(size), atoms_(std::size_t(atoms)) {
        for (std::size_t k = 0; k < atoms_.size(); ++k) {
            RandomStream random(seed, Offset(k));
            for (double& x : atoms_[k].center) {
                x = (0.25 + 0.5 * random.uniform()) * size * spacing;
            }
            double square = 0;
            each_point(atoms_[k], [&](Offset, double weight) { square += weight * weight; });
            atoms_[k].norm = std::sqrt(square);
        }
    }

    double potential(Offset point) const {
        double sum = 0;
        for (const Atom& atom : atoms_) sum -= 3 * std::exp(-squared_distance(atom, point) / 1.2);
        return sum;
    }

    void add_projectors(Offset point, RowEntries& row) const {
        for (const Atom& atom : atoms_) {
            const double own = weight(atom, point);
            if (own == 0) continue;
            each_point(atom, [&](Offset other, double weight) {
                row.add(other, 2 * ((own / atom.norm) * (weight / atom.norm)));
            });
        }
    }

  private:
    struct Atom {
        std::array<double, 3> center;
        double norm = 0;  ///< Norm of the weights.
    };

    double squared_distance(const Atom& atom, Offset point) const {
        const Offset indices[] = {point / size_ / size_, point / size_ % size_, point % size_};
        double sum = 0;
        for (int axis = 0; axis < 3; ++axis) {
            const double distance = double(indices[axis]) * spacing - atom.center[axis];
            sum += distance * distance;
        }
        return sum;
    }

    double weight(const Atom& atom, Offset point) const {
        const double distance = std::sqrt(squared_distance(atom, point));
        return distance < radius ? std::exp(-distance) : 0;
    }

    /// visit(point, weight) for the points within the radius of an atom's projector.
    template <class Visit>
    void each_point(const Atom& atom, Visit&& visit) const {
        std::array<Offset, 3> low, high;
        for (int axis = 0; axis < 3; ++axis) {
            const double centre = atom.center[axis];
            low[axis] = std::max<Offset>(Offset((centre - radius) / spacing), 0);
            high[axis] = std::min<Offset>(Offset((centre + radius) / spacing) + 1, size_ - 1);
        }
        for (Offset a = low[0]; a <= high[0]; ++a) {
            for (Offset b = low[1]; b <= high[1]; ++b) {
                for (Offset c = low[2]; c <= high[2]; ++c) {
                    const Offset point = (a * size_ + b) * size_ + c;
                    const double w = weight(atom, point);
                    if (w > 0) visit(point, w);
                }
            }
        }
    }

    Offset size_;
    std::vector<Atom> atoms_;
};

/// The matrix of a 3-, 5- or 7-point stencil.
Problem<double> assemble_stencil(const Context& cpu, const Spec& spec, const Grid& grid,
                                 double lower, double diagonal, double upper) {
    spec.finish();
    const Index rows = grid.unknowns(spec, 2 * grid.dimensions + 1);
    return assemble_rows(cpu, rows, [&](Index i, RowEntries& row) {
        grid.add_star(i, lower, diagonal, upper, row);
    });
}

}  // namespace

/// -Laplace(u), Dirichlet, N points on each of 1, 2 or 3 axes, h = 1 / (N + 1), scaled by h^2:
/// 2 per axis on the diagonal, -1 for each neighbour. Symmetric positive definite.
Problem<double> poisson(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, dimensions_of(spec)};
    return assemble_stencil(cpu, spec, grid, -1, 2 * grid.dimensions, -1);
}

/// -div(k grad u), Dirichlet, on the points of poisson3d, scaled by h^2. k is 1 or `checkerboard`
/// in alternating cubes, four along each axis; along the last axis it is `anisotropy` times that.
/// Between two points acts the harmonic mean of k. Symmetric positive definite M-matrix.
Problem<double> diffusion(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 3};
    const double other = spec.real("checkerboard", 1, 1e-12, 1e12);
    const double anisotropy = spec.real("anisotropy", 1, 1e-12, 1e12);
    spec.finish();
    const auto coefficient = [&](Offset point) {
        const Offset n = size;
        const auto cube = [&](Offset index) { return 4 * index / n; };
        const Offset sum = cube(point / n / n) + cube(point / n % n) + cube(point % n);
        return sum % 2 == 0 ? 1 : other;
    };
    return assemble_rows(cpu, grid.unknowns(spec, 7), [&](Index i, RowEntries& row) {
        const double own = coefficient(i);
        // All six sides; the boundary is a point with the same coefficient.
        double sum = (4 + 2 * anisotropy) * own;
        grid.star(i, [&](Offset j, int side) {
            if (side == 0) return;
            const double there = coefficient(j);
            const double factor = std::abs(j - i) == 1 ? anisotropy : 1;
            const double mean = 2 * (own * there) / (own + there);
            row.add(j, -factor * mean);
            sum += factor * (mean - own);
        });
        row.add(i, sum);
    });
}

namespace {

/// Whether the option scheme= is central; upwind is the default.
bool is_central(Spec& spec) {
    return spec.word("scheme", "upwind", {"upwind", "central"}) == "central";
}

}  // namespace

/// -Laplace(u) + S (1,..,1) . grad(u), scaled by h^2. Upwind: diagonal 2 d + d S h in d dimensions,
/// lower neighbours -1 - S h, upper ones -1, an M-matrix; central: 2 d, -1 - S h / 2, -1 + S h / 2.
Problem<double> convection(const Context& cpu, Spec& spec, Index size) {
    const int dimensions = spec.name() == "convection2d" ? 2 : 3;
    const double strength = spec.real("strength", 10, 0, 1e9);
    const double flow = strength / (double(size) + 1);  // h^2 times strength / h
    const Grid grid{size, dimensions};
    if (is_central(spec)) {
        return assemble_stencil(cpu, spec, grid, -1 - flow / 2, 2 * dimensions, -1 + flow / 2);
    }
    return assemble_stencil(cpu, spec, grid, -1 - flow, 2 * dimensions + dimensions * flow, -1);
}

/// -Laplace(u) + P w . grad(u) on (-1, 1)^2, w = (2 y (1 - x^2), -2 x (1 - y^2)), a flow in
/// circles, scaled by h^2; values 0 on the border. Upwind or central differences.
Problem<double> recirculation(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double peclet = spec.real("peclet", 1000, 0, 1e9);
    const bool central = is_central(spec);
    spec.finish();
    const double h = 2 / (double(size) + 1);
    return assemble_rows(cpu, grid.unknowns(spec, 5), [&, central](Index i, RowEntries& row) {
        const double x = -1 + h * (1 + i % size), y = -1 + h * (1 + i / size);
        const double flow[] = {h * peclet * 2 * y * (1 - x * x), h * peclet * -2 * x * (1 - y * y)};
        grid.star(i, [&](Offset j, int side) {
            if (side == 0) {
                row.add(j, central ? 4 : 4 + std::abs(flow[0]) + std::abs(flow[1]));
                return;
            }
            const double along = side * flow[std::abs(j - i) == 1 ? 0 : 1];
            row.add(j, central ? -1 + along / 2 : -1 - std::max(-along, 0.0));
        });
    });
}

/// poisson2d minus kh^2 I: waves with 2 pi / kh points per wavelength.
Problem<double> helmholtz(const Context& cpu, Spec& spec, Index size) {
    const double kh = spec.real("kh", 0.6, 0, 1e9);
    return assemble_stencil(cpu, spec, {size, 2}, -1, 4 - kh * kh, -1);
}

/// thickness L^2 + L - shift I with L = poisson2d (13 points): a plate under tension; positive
/// definite without shift, indefinite with, for example, 0.8.
Problem<double> shell(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double thickness = spec.real("thickness", 0.01, 0, 1e9);
    const double shift = spec.real("shift", 0, 0, 1e9);
    spec.finish();
    return assemble_rows(cpu, grid.unknowns(spec, 13), [&](Index i, RowEntries& row) {
        // t L^2 + L: the rows of L at the neighbours and at the point.
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
/// the conductance `leak` to the ground at each. Symmetric positive definite.
Problem<double> circuit(const Context& cpu, Spec& spec, Index size) {
    const Grid grid{size, 2};
    const double spread = spec.real("spread", 2, 0, 300);
    const double ground_conductance = spec.real("leak", 1e-3, 0, 1e300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    // Edges are numbered by their lower point.
    const auto conductance = [&](Offset i, Offset j) {
        return RandomStream(seed, 2 * std::min(i, j) + (std::abs(i - j) == 1 ? 1 : 0))
            .power_of_ten(spread);
    };
    auto problem = assemble_rows(cpu, grid.unknowns(spec, 5), [&](Index i, RowEntries& row) {
        double sum = ground_conductance;
        grid.star(i, [&](Offset j, int side) {
            if (side == 0) return;
            const double weight = conductance(i, j);
            row.add(j, -weight);
            sum += weight;
        });
        row.add(i, sum);
    });
    problem.known_singular = ground_conductance == 0;
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
    // Pairs of points in the sphere of a projector.
    const double points =
        4. / 3 * std::numbers::pi * std::pow(Crystal::radius / Crystal::spacing, 3);
    const Index rows = grid.unknowns(spec, 7, atoms * points * points);
    const Crystal crystal(size, atoms, seed);
    const double kinetic = 1 / (2 * Crystal::spacing * Crystal::spacing);
    return assemble_rows(cpu, rows, [&](Index i, RowEntries& row) {
        const double diagonal = 6 * kinetic + crystal.potential(i) - shift;
        grid.add_star(i, -kinetic, diagonal, -kinetic, row);
        crystal.add_projectors(i, row);
    });
}

}  // namespace tessera::problems
