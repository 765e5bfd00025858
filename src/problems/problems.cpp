#include "tessera/problems.hpp"

#include <limits>

#include "base/dispatch.hpp"
#include "problems/generators.hpp"

namespace tessera::problems {

namespace {

template <class T>
struct Generator {
    const char* name;
    Problem<T> (*build)(const Context& cpu, Spec& spec);
};

template <class T>
constexpr Generator<T> generators[] = {
    {"poisson2d", [](const Context& cpu, Spec& spec) { return poisson<T>(cpu, spec, 2); }},
    {"poisson3d", [](const Context& cpu, Spec& spec) { return poisson<T>(cpu, spec, 3); }},
    {"convection3d", [](const Context& cpu, Spec& spec) { return convection<T>(cpu, spec); }},
    {"arrow", [](const Context& cpu, Spec& spec) { return arrow<T>(cpu, spec); }},
    {"tridiagonal", [](const Context& cpu, Spec& spec) { return poisson<T>(cpu, spec, 1); }},
    {"block_diagonal", [](const Context& cpu, Spec& spec) { return block_diagonal<T>(cpu, spec); }},
    {"random_blocks", [](const Context& cpu, Spec& spec) { return random_blocks<T>(cpu, spec); }},
    {"elasticity2d", [](const Context& cpu, Spec& spec) { return elasticity<T>(cpu, spec, 2); }},
    {"elasticity3d", [](const Context& cpu, Spec& spec) { return elasticity<T>(cpu, spec, 3); }},
    {"cantilever2d", [](const Context& cpu, Spec& spec) { return cantilever<T>(cpu, spec, 2); }},
    {"cantilever3d", [](const Context& cpu, Spec& spec) { return cantilever<T>(cpu, spec, 3); }},
    {"plate_hole", [](const Context& cpu, Spec& spec) { return plate_hole<T>(cpu, spec); }},
    {"kkt", [](const Context& cpu, Spec& spec) { return kkt<T>(cpu, spec); }},
    {"qpband", [](const Context& cpu, Spec& spec) { return qpband<T>(cpu, spec); }},
    {"bordered", [](const Context& cpu, Spec& spec) { return bordered<T>(cpu, spec); }},
    {"stokes", [](const Context& cpu, Spec& spec) { return stokes<T>(cpu, spec); }},
    {"darcy", [](const Context& cpu, Spec& spec) { return darcy<T>(cpu, spec); }},
    {"helmholtz", [](const Context& cpu, Spec& spec) { return helmholtz<T>(cpu, spec); }},
    {"schroedinger", [](const Context& cpu, Spec& spec) { return schroedinger<T>(cpu, spec); }},
    {"shell", [](const Context& cpu, Spec& spec) { return shell<T>(cpu, spec); }},
    {"circuit", [](const Context& cpu, Spec& spec) { return circuit<T>(cpu, spec); }},
};

}  // namespace

Index required_size(Spec& spec, const char* example) {
    if (spec.value_count() == 0) {
        throw InvalidArgument(spec.name() + " needs a size, for example " + example);
    }
    return Index(spec.integer(std::size_t(0), 0, 1, std::numeric_limits<Index>::max()));
}

Index checked_unknowns(const Spec& spec, double unknowns) {
    if (unknowns > double(std::numeric_limits<Index>::max())) {
        throw InvalidArgument(spec.normalised() +
                              " has more than 2^31 - 1 unknowns; take a smaller size");
    }
    return Index(unknowns);
}

template <class T>
Problem<T> generate(const Context& cpu, Spec problem) {
    require(!cpu.on_gpu(),
            "problems::generate works in host memory: give it a CPU context, then copy_to the GPU");
    for (const Generator<T>& generator : generators<T>) {
        if (problem.name() != generator.name) continue;
        Problem<T> built = generator.build(cpu, problem);
        built.name = problem.normalised();
        return built;
    }
    throw InvalidArgument(unknown_word_message("problem", problem.name(), names()));
}

std::vector<std::string> names() {
    std::vector<std::string> all;
    for (const Generator<double>& generator : generators<double>) all.emplace_back(generator.name);
    return all;
}

template Problem<float> generate<float>(const Context&, Spec);
template Problem<double> generate<double>(const Context&, Spec);

}  // namespace tessera::problems
