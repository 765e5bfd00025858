#include "tessera/problems.hpp"

#include <type_traits>

#include "base/host_memory/host_memory.hpp"
#include "problems/generators/generators.hpp"
#include "tessera/operator.hpp"

namespace tessera::problems {

namespace {

struct NamedGenerator {
    const char* name;
    const char* example_values;  ///< For messages.
    Generator* build;
};

constexpr NamedGenerator generators[] = {
    {"poisson2d", "100", poisson},
    {"poisson3d", "100", poisson},
    {"diffusion3d", "50,checkerboard=1e4", diffusion},
    {"convection2d", "100,strength=10", convection},
    {"convection3d", "100,strength=10", convection},
    {"recirculation", "100,peclet=1000", recirculation},
    {"euler2d", "100,cfl=10", euler},
    {"euler3d", "30,cfl=10", euler},
    {"arrow", "1000", arrow},
    {"tridiagonal", "100", poisson},
    {"block_diagonal", "1000,8", block_diagonal},
    {"random_blocks", "1000,sizes=1-32,condition=10", random_blocks},
    {"elasticity2d", "100", elasticity},
    {"elasticity3d", "20", elasticity},
    {"cantilever2d", "50", cantilever},
    {"cantilever3d", "10", cantilever},
    {"plate_hole", "50", plate_hole},
    {"kkt", "1000,spread=4", kkt},
    {"qpband", "1000", qpband},
    {"bordered", "1000,rows=20", bordered},
    {"stokes", "100", stokes},
    {"darcy", "100,contrast=4", darcy},
    {"helmholtz", "100,kh=0.6", helmholtz},
    {"schroedinger", "20,shift=0.6", schroedinger},
    {"shell", "100,shift=0.8", shell},
    {"circuit", "100", circuit},
};

/// The problem with values rounded to T.
template <class T>
Problem<T> rounded(const Context& cpu, const Spec& spec, Problem<double>&& from) {
    if constexpr (std::is_same_v<T, double>) {
        return std::move(from);
    } else {
        CsrMatrix<double>& matrix = from.matrix;
        for (const std::string& fault :
             {float_range_fault(matrix.view()), float_range_fault(from.load)}) {
            require(fault.empty(), spec.normalised(), ": ", fault);
        }
        Problem<T> to;
        to.matrix = CsrMatrix<T>(cpu, matrix.rows(), matrix.columns(), matrix.nonzeros());
        const auto round_range = [&](Offset first, Offset last) {
            const double* const values = matrix.values().data();
            std::copy(values + first, values + last, to.matrix.values().data() + first);
        };
        parallel_ranges(cpu.threads(), matrix.nonzeros(), round_range);
        to.matrix.row_offsets() = std::move(matrix.row_offsets());
        to.matrix.column_indices() = std::move(matrix.column_indices());
        to.load.assign(from.load.begin(), from.load.end());
        to.known_singular = from.known_singular;
        to.natural_block = from.natural_block;
        to.coordinates = std::move(from.coordinates);
        return to;
    }
}

}  // namespace

Index checked_unknown_count(const Spec& spec, double unknowns, double entries, double other_bytes) {
    require(unknowns <= double(std::numeric_limits<Index>::max()), spec.normalised(),
            " has more than 2^31 - 1 unknowns; use a smaller size");
    constexpr int arrays = 3;  // Row offsets, twice while they are counted, and the load.
    require_host_memory(
        spec.normalised(),
        unknowns * arrays * 8 + entries * (sizeof(double) + sizeof(Index)) + other_bytes);
    return Index(unknowns);
}

template <class T>
Problem<T> generate(const Context& cpu, Spec problem) {
    require(!cpu.on_gpu(),
            "problems::generate works in host memory: give it a CPU context, then copy_to the GPU");
    const auto generator = std::ranges::find(generators, problem.name(), &NamedGenerator::name);
    if (generator == std::end(generators)) {
        throw InvalidArgument(unknown_word_message("problem", problem.name(), generator_names()));
    }
    require(problem.value_count() > 0, problem.name(), " needs a size, for example ",
            problem.name(), ":", generator->example_values);
    const Offset size = problem.integer(0, 0, 1, std::numeric_limits<Index>::max());
    Problem<T> built = rounded<T>(cpu, problem, generator->build(cpu, problem, Index(size)));
    built.name = problem.normalised();
    return built;
}

std::vector<std::string> generator_names() {
    std::vector<std::string> all;
    for (const NamedGenerator& generator : generators) all.emplace_back(generator.name);
    return all;
}

template Problem<float> generate<float>(const Context&, Spec);
template Problem<double> generate<double>(const Context&, Spec);

}  // namespace tessera::problems
