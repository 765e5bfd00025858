#include <cmath>
#include <limits>
#include <type_traits>

#include "base/parallel.hpp"
#include "problems/generators.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::problems {

namespace {

/// Values rounded to T once.
template <class T>
CsrMatrix<T> rounded(const Context& cpu, CsrMatrix<double>&& matrix) {
    if constexpr (std::is_same_v<T, double>) {
        return std::move(matrix);
    } else {
        CsrMatrix<T> result(cpu, matrix.rows(), matrix.columns(), matrix.nonzeros());
        const auto copy_range = [](auto& from, auto& to) {
            return [&from, &to](Offset first, Offset last) {
                using To = std::remove_reference_t<decltype(*to.data())>;
                for (Offset k = first; k < last; ++k) to.data()[k] = To(from.data()[k]);
            };
        };
        const int threads = cpu.threads();
        parallel_ranges(threads, Offset(matrix.rows()) + 1,
                        copy_range(matrix.row_offsets(), result.row_offsets()));
        parallel_ranges(threads, matrix.nonzeros(),
                        copy_range(matrix.column_indices(), result.column_indices()));
        parallel_ranges(threads, matrix.nonzeros(), copy_range(matrix.values(), result.values()));
        return result;
    }
}

template <class T>
Problem<T> assembled(const Context& cpu, const elasticity::Model& model) {
    elasticity::System system = elasticity::assemble(cpu, model);
    Problem<T> problem;
    problem.matrix = rounded<T>(cpu, std::move(system.matrix));
    if (!model.tractions.empty()) problem.load.assign(system.load.begin(), system.load.end());
    problem.known_singular = system.known_singular;
    problem.natural_block = system.natural_block;
    return problem;
}

}  // namespace

GridChoice grid_choice(Spec& spec, int dimensions, bool may_move) {
    GridChoice choice;
    const std::vector<std::string> words = dimensions == 2
                                               ? std::vector<std::string>{"t3", "q4"}
                                               : std::vector<std::string>{"tet4", "hex8"};
    const bool simplex = spec.word("element", words[1], words) == words[0];
    choice.element = dimensions == 2 ? (simplex ? CellShape::triangle : CellShape::quadrilateral)
                                     : (simplex ? CellShape::tetrahedron : CellShape::hexahedron);
    if (!may_move) return choice;
    choice.options.jitter = spec.real("jitter", 0, 0, largest_jitter);
    choice.options.gradings.fill(spec.real("grading", 1, 1 / largest_grading, largest_grading));
    choice.options.seed =
        std::uint64_t(spec.integer("seed", 1, 0, std::numeric_limits<Offset>::max()));
    return choice;
}

template <class T>
Problem<T> unit_elasticity(const Context& cpu, const GridChoice& choice, Index size, bool free) {
    elasticity::Model model;
    model.mesh = dimensions(choice.element) == 2
                     ? meshes::rectangle(choice.element, size, size, choice.options)
                     : meshes::box(choice.element, size, size, size, choice.options);
    if (!free) {
        model.holds.push_back({"left"});
        model.tractions.push_back({"right", elasticity::constant({0, -1, 0})});
    }
    return assembled<T>(cpu, model);
}

template <class T>
Problem<T> cantilever(const Context& cpu, Spec& spec, int dimensions) {
    const Index size = required_size(spec, dimensions == 2 ? "cantilever2d:50" : "cantilever3d:10");
    const double length = double(spec.integer("length", 8, 1, 1000));
    GridChoice choice = grid_choice(spec, dimensions, true);
    spec.finish();
    checked_unknowns(spec,
                     dimensions * (length * size + 1) * std::pow(double(size) + 1, dimensions - 1));
    choice.options.lengths[0] = length;
    elasticity::Model model;
    const Index along = Index(length) * size;
    model.mesh = dimensions == 2 ? meshes::rectangle(choice.element, along, size, choice.options)
                                 : meshes::box(choice.element, along, size, size, choice.options);
    model.holds.push_back({"left"});
    model.tractions.push_back({"right", elasticity::constant({0, -1, 0})});
    return assembled<T>(cpu, model);
}

template <class T>
Problem<T> plate_hole(const Context& cpu, Spec& spec) {
    const Index size = required_size(spec, "plate_hole:50");
    const GridChoice choice = grid_choice(spec, 2, false);
    spec.finish();
    checked_unknowns(spec, 2 * (double(size) + 1) * (2 * double(size) + 1));
    elasticity::Model model;
    model.mesh = meshes::plate_with_hole(choice.element, size);
    model.holds = {{"left", {true, false, false}}, {"bottom", {false, true, false}}};
    model.tractions.push_back({"right", elasticity::constant({1, 0, 0})});
    return assembled<T>(cpu, model);
}

template Problem<float> unit_elasticity<float>(const Context&, const GridChoice&, Index, bool);
template Problem<double> unit_elasticity<double>(const Context&, const GridChoice&, Index, bool);
template Problem<float> cantilever<float>(const Context&, Spec&, int);
template Problem<double> cantilever<double>(const Context&, Spec&, int);
template Problem<float> plate_hole<float>(const Context&, Spec&);
template Problem<double> plate_hole<double>(const Context&, Spec&);

}  // namespace tessera::problems
