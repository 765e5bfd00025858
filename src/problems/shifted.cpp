#include <array>

#include "problems/draws.hpp"
#include "problems/generators.hpp"
#include "problems/row_lists.hpp"

namespace tessera::problems {

namespace {

/// size x size points; calls at(point, neighbour) for each neighbour inside.
struct Square {
    Index size;

    template <class F>
    void neighbours(Offset point, F&& at) const {
        const Offset a = point / size, b = point % size;
        if (a > 0) at(point - size);
        if (b > 0) at(point - 1);
        if (b + 1 < size) at(point + 1);
        if (a + 1 < size) at(point + size);
    }
};

Index square_unknowns(const Spec& spec, Index size) {
    return checked_unknowns(spec, double(size) * size);
}

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

template <class T>
Problem<T> helmholtz(const Context& cpu, Spec& spec) {
    const Square grid{required_size(spec, "helmholtz:100,kh=0.6")};
    const double kh = spec.real("kh", 0.6, 0, 1e9);
    spec.finish();
    Problem<T> problem;
    problem.matrix =
        assemble_rows<T>(cpu, square_unknowns(spec, grid.size), [&](Index i, RowList& row) {
            grid.neighbours(i, [&](Offset j) { row.add(j, -1); });
            row.add(i, 4 - kh * kh);
        });
    return problem;
}

template <class T>
Problem<T> shell(const Context& cpu, Spec& spec) {
    const Square grid{required_size(spec, "shell:100,shift=0.8")};
    const double thickness = spec.real("thickness", 0.01, 0, 1e9);
    const double shift = spec.real("shift", 0, 0, 1e9);
    spec.finish();
    Problem<T> problem;
    problem.matrix =
        assemble_rows<T>(cpu, square_unknowns(spec, grid.size), [&](Index i, RowList& row) {
            // t L^2 + L: every way of two steps, then those of one.
            const auto laplacian = [&](Offset from, double factor) {
                grid.neighbours(from, [&](Offset j) { row.add(j, -factor); });
                row.add(from, 4 * factor);
            };
            grid.neighbours(i, [&](Offset j) { laplacian(j, -thickness); });
            laplacian(i, 4 * thickness);
            laplacian(i, 1);
            row.add(i, -shift);
        });
    return problem;
}

template <class T>
Problem<T> circuit(const Context& cpu, Spec& spec) {
    const Square grid{required_size(spec, "circuit:100")};
    const double spread = spec.real("spread", 2, 0, 300);
    const double leak = spec.real("leak", 1e-3, 0, 1e300);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    // Each point has the edges to the next ones.
    const auto conductance = [&](Offset i, Offset j) {
        return Draws(seed, 2 * std::min(i, j) + (std::abs(i - j) == 1 ? 1 : 0))
            .power_of_ten(spread);
    };
    Problem<T> problem;
    problem.known_singular = leak == 0;
    problem.matrix =
        assemble_rows<T>(cpu, square_unknowns(spec, grid.size), [&](Index i, RowList& row) {
            double sum = leak;
            grid.neighbours(i, [&](Offset j) {
                const double weight = conductance(i, j);
                row.add(j, -weight);
                sum += weight;
            });
            row.add(i, sum);
        });
    return problem;
}

template <class T>
Problem<T> schroedinger(const Context& cpu, Spec& spec) {
    const Index size = required_size(spec, "schroedinger:20,shift=0.6");
    const Index atoms = Index(spec.integer("atoms", 6, 0, 100000));
    const double shift = spec.real("shift", 0.6, -1e9, 1e9);
    const std::uint64_t seed = seed_of(spec);
    spec.finish();
    const Index rows = checked_unknowns(spec, double(size) * size * size);
    const Crystal crystal(size, atoms, seed);
    const double kinetic = 1 / (2 * Crystal::spacing * Crystal::spacing);
    Problem<T> problem;
    problem.matrix = assemble_rows<T>(cpu, rows, [&](Index i, RowList& row) {
        const std::array<Offset, 3> strides{Offset(size) * size, size, 1};
        for (const Offset stride : strides) {
            const Offset at = i / stride % size;
            if (at > 0) row.add(i - stride, -kinetic);
            if (at + 1 < size) row.add(i + stride, -kinetic);
        }
        row.add(i, 6 * kinetic + crystal.potential(i) - shift);
        crystal.add_projectors(i, row);
    });
    return problem;
}

#define TESSERA_INSTANTIATE(T)                               \
    template Problem<T> helmholtz<T>(const Context&, Spec&); \
    template Problem<T> shell<T>(const Context&, Spec&);     \
    template Problem<T> circuit<T>(const Context&, Spec&);   \
    template Problem<T> schroedinger<T>(const Context&, Spec&);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)

}  // namespace tessera::problems
