#include <array>
#include <complex>

#include "support/test.hpp"

namespace tessera {
namespace {

constexpr double kappa = 1.4;
constexpr double pi = 3.14159265358979323846;

/// A square block, row-major.
struct Block {
    int size = 0;
    std::vector<double> values = std::vector<double>(std::size_t(size) * size, 0);

    double& at(int row, int column) { return values[std::size_t(row) * size + column]; }
    double at(int row, int column) const { return values[std::size_t(row) * size + column]; }
};

/// first x + second y.
Block combine(double first, const Block& x, double second, const Block& y) {
    Block result{x.size};
    for (std::size_t k = 0; k < x.values.size(); ++k) {
        result.values[k] = first * x.values[k] + second * y.values[k];
    }
    return result;
}

/// Density, velocity (x first) and pressure.
struct State {
    double density, pressure;
    std::vector<double> velocity;

    double speed() const {
        double square = 0;
        for (const double v : velocity) square += v * v;
        return std::sqrt(square);
    }
    double sound() const { return std::sqrt(kappa * pressure / density); }
    double enthalpy() const { return sound() * sound() / (kappa - 1) + speed() * speed() / 2; }
};

/// The flux along `axis` by its definition, of the density, momentum and energy.
template <class T>
std::vector<T> flux(const std::vector<T>& conserved, int axis) {
    const int d = int(conserved.size()) - 2;
    T kinetic = 0;
    for (int k = 1; k <= d; ++k) kinetic += conserved[k] * conserved[k];
    const T pressure = (kappa - 1) * (conserved[d + 1] - kinetic / (2. * conserved[0]));
    const T velocity = conserved[1 + axis] / conserved[0];
    std::vector<T> result;
    for (const T& density : conserved) result.push_back(velocity * density);
    result[1 + axis] += pressure;
    result[d + 1] += velocity * pressure;
    return result;
}

/// Its derivatives, exact up to rounding: imaginary parts where the argument has a tiny one.
Block jacobian(const State& state, int axis) {
    const int d = int(state.velocity.size());
    std::vector<std::complex<double>> conserved{state.density};
    for (const double v : state.velocity) conserved.emplace_back(state.density * v);
    conserved.emplace_back(state.density * state.enthalpy() - state.pressure);
    Block result{d + 2};
    for (int j = 0; j < d + 2; ++j) {
        constexpr double tiny = 0x1p-300;
        auto moved = conserved;
        moved[j] += std::complex<double>(0, tiny);
        const auto change = flux(moved, axis);
        for (int i = 0; i < d + 2; ++i) result.at(i, j) = change[i].imag() / tiny;
    }
    return result;
}

struct Eigenpair {
    double value;
    std::vector<double> vector;
};

/// The eigenpairs of the Jacobian along `axis` by the textbook: two of sound, then entropy and
/// shear.
std::vector<Eigenpair> eigenpairs(const State& state, int axis) {
    const int d = int(state.velocity.size());
    const double c = state.sound(), u = state.velocity[axis];
    std::vector<Eigenpair> pairs;
    for (const int sign : {-1, 1}) {
        std::vector<double> vector{1};
        for (int k = 0; k < d; ++k) {
            vector.push_back(state.velocity[k] + (k == axis ? sign * c : 0));
        }
        vector.push_back(state.enthalpy() + sign * u * c);
        pairs.push_back({u + sign * c, vector});
    }
    std::vector<double> entropy{1};
    entropy.insert(entropy.end(), state.velocity.begin(), state.velocity.end());
    entropy.push_back(state.speed() * state.speed() / 2);
    pairs.push_back({u, entropy});
    for (int k = 0; k < d; ++k) {
        if (k == axis) continue;
        std::vector<double> shear(std::size_t(d) + 2, 0);
        shear[1 + k] = 1;
        shear[d + 1] = state.velocity[k];
        pairs.push_back({u, shear});
    }
    return pairs;
}

/// A generated system and the flow that it is linearised about, by docs/guide/options.md.
struct Gas {
    int dimensions;
    Index size;
    double mach, cfl;
    problems::Problem<double> problem = problems::generate<double>(
        test::host(), Spec("euler" + std::to_string(dimensions) + "d:" + std::to_string(size) +
                           ",mach=" + std::to_string(mach) + ",cfl=" + std::to_string(cfl)));

    int unknowns() const { return dimensions + 2; }
    Index cells() const { return dimensions == 2 ? size * size : size * size * size; }
    Index stride(int axis) const { return axis == 0 ? 1 : axis == 1 ? size : size * size; }
    bool at_border(Index cell, int axis, int side) const {
        return cell / stride(axis) % size == (side < 0 ? 0 : size - 1);
    }

    State state(Index cell) const {
        State found{0, 0, {}};
        for (int k = 0; k < dimensions; ++k) {
            const Index next = cell / stride((k + 1) % dimensions) % size;
            const double x = (next + 0.5) / size;
            found.velocity.push_back(mach * (std::pow(0.5, k) + 0.5 * std::sin(2 * pi * x)));
        }
        const double temperature = 1 / (1 + (kappa - 1) / 2 * found.speed() * found.speed());
        for (double& v : found.velocity) v *= std::sqrt(temperature);
        found.density = std::pow(temperature, 2.5);
        found.pressure = std::pow(temperature, 3.5) / kappa;
        return found;
    }

    double per_step() const {
        double speed = 0;
        for (Index i = 0; i < cells(); ++i) speed = std::max(speed, state(i).speed());
        return speed / cfl;
    }

    /// The block of two cells, 0 where the matrix has none.
    Block block(Index row, Index column) const {
        const auto a = problem.matrix.view();
        Block found{unknowns()};
        for (int i = 0; i < unknowns(); ++i) {
            const Offset at = Offset(row) * unknowns() + i;
            for (Offset k = a.row_offsets[at]; k < a.row_offsets[at + 1]; ++k) {
                const Index j = a.column_indices[k];
                if (j / unknowns() == column) found.at(i, j % unknowns()) = a.values[k];
            }
        }
        return found;
    }

    /// Bounds the rounding errors of an entry of a sum of blocks: all formulas have sums and
    /// products of at most 200 numbers, the largest of which is this.
    double rounding(const State& state) const {
        const double c = state.sound(), v = state.speed();
        return test::gamma<double>(200) * (v + c) * (1 + v + state.enthalpy()) * (1 + v + v * v) *
                   (1 + 1 / (c * c)) +
               test::gamma<double>(8) * per_step();
    }
};

State mean(const State& a, const State& b) {
    State result{(a.density + b.density) / 2, (a.pressure + b.pressure) / 2, {}};
    for (std::size_t k = 0; k < a.velocity.size(); ++k) {
        result.velocity.push_back((a.velocity[k] + b.velocity[k]) / 2);
    }
    return result;
}

double upwind(double eigenvalue, double sound) {
    return std::max(std::abs(eigenvalue), sound / 10);
}

/// Expects block * vector = value * vector for each pair.
void expect_eigenpairs(const Block& block, const std::vector<Eigenpair>& pairs, double rounding) {
    for (const Eigenpair& pair : pairs) {
        for (int i = 0; i < block.size; ++i) {
            double product = 0, magnitude = 0;
            for (int j = 0; j < block.size; ++j) {
                product += block.at(i, j) * pair.vector[j];
                magnitude += std::abs(pair.vector[j]);
            }
            EXPECT_NEAR(product, pair.value * pair.vector[i], rounding * magnitude);
        }
    }
}

std::array<Gas, 5> cases() {
    return {{{2, 5, 0.3, 10}, {2, 4, 3, 1000}, {2, 6, 0.05, 2}, {3, 4, 0.3, 10}, {3, 3, 3, 100}}};
}

TEST(euler, dense_blocks_of_cells_that_share_a_face) {
    for (const Gas& gas : cases()) {
        SCOPED_TRACE(gas.problem.name);
        const auto a = gas.problem.matrix.view();
        const Index square = gas.unknowns() * gas.unknowns();
        EXPECT_EQ(a.rows, gas.cells() * gas.unknowns());
        EXPECT_EQ(gas.problem.natural_block, gas.unknowns());
        EXPECT_EQ(a.nonzeros, square * ((2 * gas.dimensions + 1) * gas.cells() -
                                        2 * gas.dimensions * gas.cells() / gas.size));
        const BlockPartition blocks =
            find_blocks(test::host(), a, gas.unknowns(), Blocking::natural);
        EXPECT_EQ(blocks.count, gas.cells());
        for (Index row = 0; row < a.rows; ++row) {
            const Index cell = row / gas.unknowns();
            for (Offset k = a.row_offsets[row]; k < a.row_offsets[row + 1]; ++k) {
                Index steps = 0;
                for (int axis = 0; axis < gas.dimensions; ++axis) {
                    const Index other = a.column_indices[k] / gas.unknowns();
                    steps += std::abs(cell / gas.stride(axis) % gas.size -
                                      other / gas.stride(axis) % gas.size);
                }
                EXPECT_LE(steps, 1);
            }
        }
    }
}

/// The coupling of two cells is half the Jacobian at the column's cell minus half |A|, whose
/// eigenvectors are those of the Jacobian at the face.
TEST(euler, couplings_are_those_of_roes_flux) {
    for (const Gas& gas : cases()) {
        SCOPED_TRACE(gas.problem.name);
        for (Index i = 0; i < gas.cells(); ++i) {
            for (int axis = 0; axis < gas.dimensions; ++axis) {
                if (gas.at_border(i, axis, 1)) continue;
                const Index j = i + gas.stride(axis);
                const State here = gas.state(i), there = gas.state(j), face = mean(here, there);
                const Block up = gas.block(i, j), down = gas.block(j, i);
                const Block ahead = jacobian(there, axis), behind = jacobian(here, axis);
                const double rounding =
                    gas.rounding(here) + gas.rounding(there) + gas.rounding(face);
                const Block found = combine(1, up, -1, down);
                const Block expected = combine(0.5, behind, 0.5, ahead);
                for (std::size_t k = 0; k < found.values.size(); ++k) {
                    ASSERT_NEAR(found.values[k], expected.values[k], rounding);
                }
                auto pairs = eigenpairs(face, axis);
                expect_eigenpairs(jacobian(face, axis), pairs, rounding);
                for (Eigenpair& pair : pairs) pair.value = upwind(pair.value, face.sound());
                const Block jump = combine(0.5, ahead, -0.5, behind);
                expect_eigenpairs(combine(1, jump, -1, combine(1, up, 1, down)), pairs, rounding);
            }
        }
    }
}

/// What leaves a cell enters others: a column of blocks sums to h / dt I, plus what the gas carries
/// out of the domain where the cell is at the border.
TEST(euler, mass_momentum_and_energy_are_conserved) {
    int inner = 0, outer = 0;
    for (const Gas& gas : cases()) {
        SCOPED_TRACE(gas.problem.name);
        for (Index j = 0; j < gas.cells(); ++j) {
            int faces = 0, face_axis = 0, face_side = 0;
            Block sum = gas.block(j, j);
            double rounding = gas.rounding(gas.state(j));
            for (int axis = 0; axis < gas.dimensions; ++axis) {
                for (const int side : {-1, 1}) {
                    if (gas.at_border(j, axis, side)) {
                        ++faces;
                        face_axis = axis, face_side = side;
                        continue;
                    }
                    const Index i = j + side * gas.stride(axis);
                    sum = combine(1, sum, 1, gas.block(i, j));
                    rounding += 2 * gas.rounding(mean(gas.state(j), gas.state(i)));
                }
            }
            if (faces > 1) continue;
            const State state = gas.state(j);
            auto pairs = eigenpairs(state, face_axis);
            for (Eigenpair& pair : pairs) {
                const double out = (face_side * pair.value + upwind(pair.value, state.sound())) / 2;
                pair.value = gas.per_step() + (faces == 1 ? out : 0);
            }
            expect_eigenpairs(sum, pairs, rounding * (2 * gas.dimensions + 1));
            ++(faces == 0 ? inner : outer);
        }
    }
    EXPECT_GT(inner, 30);
    EXPECT_GT(outer, 60);
}

/// Solvable whatever the time step and the speed: docs/guide/options.md says so much.
TEST(euler, condition_is_moderate) {
    constexpr double largest_condition = 1e5;
    const Context cpu = test::host();
    for (const char* cfl : {"0.01", "10", "1000", "1e12"}) {
        for (const char* mach : {"0.01", "0.3", "1", "10"}) {
            for (const char* size : {"2d:12", "3d:5"}) {
                const std::string text =
                    std::string("euler") + size + ",cfl=" + cfl + ",mach=" + mach;
                SCOPED_TRACE(text);
                const auto problem = problems::generate<double>(cpu, Spec(text));
                const auto a = problem.matrix.view();
                const auto direct = make_preconditioner<double>(cpu, "direct", a);
                EXPECT_EQ(direct->singular_blocks(), 0);
                auto random = test::generator();
                std::vector<double> b = test::random_vector<double>(random, std::size_t(a.rows));
                std::vector<double> x(b.size());
                direct->apply(cpu, std::span<const double>(b), std::span<double>(x));
                double largest_b = 0, largest_x = 0, norm = 0;
                for (Index i = 0; i < a.rows; ++i) {
                    double sum = 0;
                    for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                        sum += std::abs(a.values[k]);
                    }
                    norm = std::max(norm, sum);
                    largest_b = std::max(largest_b, std::abs(b[i]));
                    largest_x = std::max(largest_x, std::abs(x[i]));
                }
                // A lower bound on the condition number; random b comes near it.
                EXPECT_LT(largest_x * norm / largest_b, largest_condition);
            }
        }
    }
}

}  // namespace
}  // namespace tessera
