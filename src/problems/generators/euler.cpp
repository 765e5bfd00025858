#include <array>

#include "problems/generators/generators.hpp"

namespace tessera::problems {

namespace {

constexpr double heat_capacity_ratio = 1.4;
constexpr int max_unknowns = 5;

/// Numbers of the conserved variables of a cell: density, momentum along each axis, energy.
using CellVector = std::array<double, max_unknowns>;
/// Row-major, `unknowns` rows of as many entries.
using CellBlock = std::array<double, std::size_t(max_unknowns) * max_unknowns>;

/// A gas at a point. Speeds are relative to the speed of sound at rest, where density is 1.
struct Gas {
    double density;
    std::array<double, 3> velocity;
    double pressure;

    double squared_speed() const {
        return velocity[0] * velocity[0] + velocity[1] * velocity[1] + velocity[2] * velocity[2];
    }
    double sound_speed() const { return std::sqrt(heat_capacity_ratio * pressure / density); }
};

/// The arithmetic mean of density, velocity and pressure.
Gas mean(const Gas& a, const Gas& b) {
    Gas result{(a.density + b.density) / 2, {}, (a.pressure + b.pressure) / 2};
    for (int axis = 0; axis < 3; ++axis) {
        result.velocity[axis] = (a.velocity[axis] + b.velocity[axis]) / 2;
    }
    return result;
}

/// block += factor f(A) for the Jacobian A of the flux along `axis` and a function f(eigenvalue,
/// speed of sound). A has the eigenvalues u, u - c and u + c; with the eigenvectors of the last
/// two, the sum and the difference of (1, v, H) and (0, c e, c u), where e is the axis and H the
/// enthalpy, f(A) = f(u) I + (1, v, H) (a dp / c^2 + b dm) + (0, e, u) (a dm + b dp), with the
/// gradients dp of pressure and dm of u at a fixed density, times density,
/// a = (f(u - c) + f(u + c)) / 2 - f(u) and b = (f(u + c) - f(u - c)) / (2 c).
/// R. J. LeVeque, Finite Volume Methods for Hyperbolic Problems, 2002, sections 14.8 and 18.8.
template <class Function>
void add_flux_function(const Gas& gas, int dimensions, int axis, double factor, Function&& f,
                       CellBlock& block) {
    const int unknowns = dimensions + 2, energy = dimensions + 1;
    const double c = gas.sound_speed(), u = gas.velocity[axis], q = gas.squared_speed() / 2;
    const double g = heat_capacity_ratio - 1;
    CellVector flow{1}, push{}, pressure{g * q}, momentum{-u};
    for (int k = 0; k < dimensions; ++k) {
        flow[1 + k] = gas.velocity[k];
        pressure[1 + k] = -g * gas.velocity[k];
    }
    push[1 + axis] = momentum[1 + axis] = 1;
    flow[energy] = c * c / g + q;
    push[energy] = u;
    pressure[energy] = g;
    const double slow = f(u - c, c), middle = f(u, c), fast = f(u + c, c);
    const double a = (slow + fast) / 2 - middle, b = (fast - slow) / (2 * c);
    for (int j = 0; j < unknowns; ++j) {
        const double along_flow = factor * (a / (c * c) * pressure[j] + b * momentum[j]);
        const double along_push = factor * (a * momentum[j] + b * pressure[j]);
        for (int i = 0; i < unknowns; ++i) {
            block[i * unknowns + j] += flow[i] * along_flow + push[i] * along_push;
        }
        block[j * unknowns + j] += factor * middle;
    }
}

double eigenvalue(double speed, double) { return speed; }

/// |eigenvalue|, a tenth of the speed of sound at least (Harten's entropy fix).
double upwind(double speed, double sound) { return std::max(std::abs(speed), sound / 10); }

/// Cells of the unit square or cube, `size` along each axis; x is numbered fastest.
class CellGrid {
  public:
    CellGrid(Index size, int dimensions)
        : size_(size), dimensions_(dimensions), strides_{1, size, Offset(size) * size} {}

    int unknowns() const { return dimensions_ + 2; }
    int dimensions() const { return dimensions_; }
    Offset cells() const { return dimensions_ == 2 ? strides_[2] : strides_[2] * size_; }

    /// The other cell at a face; -1 at the border.
    Offset neighbour(Offset cell, int axis, int side) const {
        const Offset at = cell / strides_[axis] % size_;
        return at == (side < 0 ? 0 : size_ - 1) ? -1 : cell + side * strides_[axis];
    }

    Offset neighbour_count(Offset cell) const {
        Offset count = 0;
        for (int axis = 0; axis < dimensions_; ++axis) {
            count += (neighbour(cell, axis, -1) >= 0) + (neighbour(cell, axis, 1) >= 0);
        }
        return count;
    }

    /// The gas at a cell's centre: the local Mach number along axis k is mach (2^-k +
    /// sin(2 pi x_(k+1)) / 2), the axes in a cycle; entropy and total enthalpy are constant.
    Gas gas(Offset cell, double mach) const {
        constexpr double g = heat_capacity_ratio;
        std::array<double, 3> local{};
        for (int axis = 0; axis < dimensions_; ++axis) {
            const Offset next = cell / strides_[(axis + 1) % dimensions_] % size_;
            const double x = (double(next) + 0.5) / double(size_);
            local[axis] = mach * (std::ldexp(1, -axis) + std::sin(2 * std::numbers::pi * x) / 2);
        }
        Gas result{1, local, 0};
        const double temperature = 1 / (1 + (g - 1) / 2 * result.squared_speed());
        for (double& velocity : result.velocity) velocity *= std::sqrt(temperature);
        result.density = std::pow(temperature, 1 / (g - 1));
        result.pressure = result.density * temperature / g;
        return result;
    }

  private:
    Offset size_;
    int dimensions_;
    std::array<Offset, 3> strides_;
};

/// The blocks of a cell's rows, ascending, of the Jacobian of the sum over the faces of Roe's flux
/// (F(cell) + F(neighbour)) n / 2 - |A| (neighbour - cell) / 2, |A| taken as constant, at the mean
/// of both; beyond the border the gas is that of the cell, and does not change.
class CellRow {
  public:
    struct Entry {
        Offset cell;
        CellBlock block{};
    };

    CellRow(const CellGrid& grid, const std::vector<Gas>& gas, double per_step)
        : grid_(grid), gas_(gas), per_step_(per_step) {}

    const std::vector<Entry>& at(Offset cell) {
        entries_.clear();
        const int dimensions = grid_.dimensions(), unknowns = grid_.unknowns();
        Entry own{cell};
        for (int k = 0; k < unknowns; ++k) own.block[k * unknowns + k] = per_step_;
        for (int axis = dimensions - 1; axis >= 0; --axis) add_face(axis, -1, own);
        const std::size_t diagonal = entries_.size();
        entries_.emplace_back();
        for (int axis = 0; axis < dimensions; ++axis) add_face(axis, 1, own);
        entries_[diagonal] = own;
        return entries_;
    }

  private:
    void add_face(int axis, int side, Entry& own) {
        const int dimensions = grid_.dimensions();
        const Gas& inside = gas_[own.cell];
        const Offset other = grid_.neighbour(own.cell, axis, side);
        const Gas face = other < 0 ? inside : mean(inside, gas_[other]);
        add_flux_function(inside, dimensions, axis, side / 2.0, eigenvalue, own.block);
        add_flux_function(face, dimensions, axis, 0.5, upwind, own.block);
        if (other < 0) return;
        Entry& entry = entries_.emplace_back();
        entry.cell = other;
        add_flux_function(gas_[other], dimensions, axis, side / 2.0, eigenvalue, entry.block);
        add_flux_function(face, dimensions, axis, -0.5, upwind, entry.block);
    }

    const CellGrid& grid_;
    const std::vector<Gas>& gas_;
    double per_step_;  ///< Cell length over time step.
    std::vector<Entry> entries_;
};

}  // namespace

/// One step of the implicit Euler method for the Euler equations of a gas, finite volumes of first
/// order, linearised about a given flow: h / dt I + the Jacobian of the fluxes, dt = cfl h / (the
/// flow's largest speed), in blocks of 4 (square) or 5 unknowns (cube), dense.
Problem<double> euler(const Context& cpu, Spec& spec, Index size) {
    const double cfl = spec.real("cfl", 10, 1e-3, 1e12);
    const double mach = spec.real("mach", 0.3, 0.01, 10);
    spec.finish();
    const int dimensions = dimensions_of(spec);
    const CellGrid grid(size, dimensions);
    const int unknowns = grid.unknowns(), square = unknowns * unknowns;
    const double cells = std::pow(double(size), dimensions);
    const Index rows =
        checked_unknown_count(spec, cells * unknowns, cells * (2 * dimensions + 1) * square,
                              cells * (sizeof(Gas) + sizeof(Offset)));

    std::vector<Gas> gas(std::size_t(grid.cells()));
    std::vector<Offset> starts(std::size_t(grid.cells()) + 1, 0);
    const auto find_gas = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            gas[i] = grid.gas(i, mach);
            starts[i + 1] = (1 + grid.neighbour_count(i)) * square;
        }
    };
    parallel_ranges(cpu.threads(), grid.cells(), find_gas, 1024);
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    double largest = 0;  // Square of the speed.
    for (const Gas& at : gas) largest = std::max(largest, at.squared_speed());

    Problem<double> problem;
    problem.natural_block = unknowns;
    problem.matrix = CsrMatrix<double>(cpu, rows, rows, starts.back());
    Offset* const row_offsets = problem.matrix.row_offsets().data();
    Index* const columns = problem.matrix.column_indices().data();
    double* const values = problem.matrix.values().data();
    row_offsets[rows] = starts.back();
    const auto fill = [&](Offset first, Offset last) {
        CellRow row(grid, gas, std::sqrt(largest) / cfl);
        for (Offset i = first; i < last; ++i) {
            Offset at = starts[i];
            const auto& entries = row.at(i);
            for (int r = 0; r < unknowns; ++r) {
                row_offsets[i * unknowns + r] = at;
                for (const CellRow::Entry& entry : entries) {
                    for (int c = 0; c < unknowns; ++c, ++at) {
                        columns[at] = Index(entry.cell * unknowns + c);
                        values[at] = entry.block[r * unknowns + c];
                    }
                }
            }
        }
    };
    parallel_ranges(cpu.threads(), grid.cells(), fill, 256);
    return problem;
}

}  // namespace tessera::problems
