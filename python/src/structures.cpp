#include <algorithm>

#include "core.hpp"
#include "tessera/amg.hpp"
#include "tessera/elasticity.hpp"
#include "tessera/io.hpp"

using namespace python_module;

namespace {

using elasticity::Vector;
using Numbers = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Nodes = nb::ndarray<const Index, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using NamedCells = std::vector<std::tuple<std::string, Nodes>>;

CellShape to_shape(const std::string& name) {
    for (int k = 0; k < cell_shape_count; ++k) {
        if (name == to_string(CellShape(k))) return CellShape(k);
    }
    throw InvalidArgument("cells of '" + name + "' are unknown", "cells");
}

std::vector<Cells> to_cells(const NamedCells& given) {
    std::vector<Cells> all;
    for (const auto& [name, nodes] : given) {
        all.push_back({to_shape(name), {nodes.data(), nodes.data() + nodes.size()}});
    }
    return all;
}

AnyList from_cells(const std::vector<Cells>& all) {
    nb::list list;
    for (const Cells& cells : all) {
        list.append(nb::make_tuple(
            std::string(to_string(cells.shape)),
            to_numpy(std::vector<Index>(cells.nodes), std::size_t(node_count(cells.shape)))));
    }
    return list;
}

std::vector<double> copied(const std::optional<Numbers>& array) {
    if (!array) return {};
    return {array->data(), array->data() + array->size()};
}

std::shared_ptr<Mesh> make_mesh(
    const Points& points, const NamedCells& cells, const std::vector<int>& regions,
    const std::vector<std::string>& region_names,
    const std::vector<std::tuple<std::string, int, NamedCells>>& groups) {
    auto mesh = std::make_shared<Mesh>();
    mesh->dimensions = int(points.shape(1));
    mesh->points.assign(points.data(), points.data() + points.size());
    mesh->elements = to_cells(cells);
    mesh->regions = regions;
    mesh->region_names = region_names;
    for (const auto& [name, dimensions, parts] : groups) {
        mesh->groups.push_back({name, dimensions, to_cells(parts)});
    }
    meshes::orient(*mesh);
    return mesh;
}

std::shared_ptr<Mesh> read_mesh(const Context& cpu, const std::string& path) {
    const Interruptible interruptible;
    return std::make_shared<Mesh>(io::read_mesh(cpu, path));
}

AnyList groups_of(const Mesh& mesh) {
    nb::list list;
    for (const MeshGroup& group : mesh.groups) {
        list.append(nb::make_tuple(group.name, group.dimensions, from_cells(group.cells)));
    }
    return list;
}

/// A model and its system, without the matrix once that was taken.
struct Structure {
    elasticity::Model model;
    elasticity::System system;
};

using NamedVectors = std::vector<std::pair<std::string, Vector>>;
/// Group, components, values, and whether it is along its normal instead.
using FixedGroups = std::vector<std::tuple<std::string, std::array<bool, 3>, Vector, bool>>;
/// Group, angle, point and direction.
using Rotations = std::vector<std::tuple<std::string, double, Vector, Vector>>;
/// Region or group, or empty for the others; Young's modulus, Poisson's ratio, density; of an
/// orthotropic material nine constants and the directions 1 and 2; thermal expansion.
using Materials =
    std::vector<std::tuple<std::string, double, double, double, std::vector<double>, Vector>>;

elasticity::Orthotropic to_orthotropic(const std::vector<double>& numbers) {
    elasticity::Orthotropic result;
    const double* from = numbers.data();
    for (Vector* const part : {&result.young_moduli, &result.poisson_ratios, &result.shear_moduli,
                               &result.direction, &result.second_direction}) {
        std::copy_n(from, 3, part->begin());
        from += 3;
    }
    return result;
}

elasticity::Loads make_loads(const NamedVectors& forces, const NamedVectors& moments,
                             const NamedVectors& tractions,
                             const std::vector<std::pair<std::string, double>>& pressures,
                             const std::optional<Vector>& body_force, const Vector& gravity,
                             const Vector& spin, const Vector& spin_point,
                             const std::optional<Numbers>& node_forces, double temperature,
                             const std::vector<std::pair<std::string, double>>& temperatures,
                             const std::optional<Numbers>& node_temperatures) {
    elasticity::Loads loads;
    loads.forces = forces;
    loads.moments = moments;
    for (const auto& [group, traction] : tractions) {
        loads.tractions.emplace_back(group, elasticity::constant(traction));
    }
    loads.pressures = pressures;
    if (body_force) loads.body_force = elasticity::constant(*body_force);
    loads.gravity = gravity;
    loads.spin = spin;
    loads.spin_point = spin_point;
    loads.node_forces = copied(node_forces);
    loads.temperature = temperature;
    loads.temperatures = {temperatures.begin(), temperatures.end()};
    loads.node_temperatures = copied(node_temperatures);
    return loads;
}

/// Equations: the groups of rigid bodies; groups whose nodes have equal displacements, along axes
/// or, of a plane, in the direction of its normal; groups that follow others; and rows of a sparse
/// matrix C with values g.
struct GivenEquations {
    std::vector<std::string> rigid;
    std::vector<std::pair<std::string, std::string>> couple, tie;
    std::optional<Numbers> offsets, columns, coefficients, values;
};

GivenEquations gather_equations(const std::vector<std::string>& rigid,
                                const std::vector<std::pair<std::string, std::string>>& couple,
                                const std::vector<std::pair<std::string, std::string>>& tie,
                                const std::optional<Numbers>& offsets,
                                const std::optional<Numbers>& columns,
                                const std::optional<Numbers>& coefficients,
                                const std::optional<Numbers>& values) {
    return {rigid, couple, tie, offsets, columns, coefficients, values};
}

std::vector<elasticity::Equation> to_equations(const Mesh& mesh, elasticity::PlaneKind plane,
                                               const GivenEquations& given) {
    std::vector<elasticity::Equation> all;
    const auto add = [&](std::vector<elasticity::Equation> equations) {
        std::ranges::move(equations, std::back_inserter(all));
    };
    for (const std::string& group : given.rigid) add(elasticity::rigid_body(mesh, group, plane));
    for (const auto& [group, axes] : given.couple) {
        if (axes == "plane") {
            add(elasticity::plane_stays_plane(mesh, group));
            continue;
        }
        std::array<bool, 3> chosen{};
        for (const char axis : axes) chosen.at(std::size_t(axis - 'x')) = true;
        add(elasticity::equal_displacements(mesh, group, chosen));
    }
    for (const auto& [group, onto] : given.tie) add(elasticity::tie(mesh, group, onto));
    if (!given.values) return all;
    for (std::size_t row = 0; row < given.values->size(); ++row) {
        elasticity::Equation equation{"equations", {}, given.values->data()[row]};
        for (auto k = std::size_t(given.offsets->data()[row]);
             k < std::size_t(given.offsets->data()[row + 1]); ++k) {
            const auto column = Index(given.columns->data()[k]);
            equation.terms.push_back({column / mesh.dimensions, column % mesh.dimensions,
                                      given.coefficients->data()[k]});
        }
        all.push_back(std::move(equation));
    }
    return all;
}

std::shared_ptr<Structure> make_structure(const Context& cpu, const Mesh& mesh,
                                          const Materials& materials, const FixedGroups& fixed,
                                          const Rotations& rotations, const NamedVectors& springs,
                                          const GivenEquations& equations,
                                          const elasticity::Loads& loads, double thickness,
                                          int plane, bool full_integration,
                                          const std::optional<Numbers>& node_displacements) {
    auto structure = std::make_shared<Structure>();
    elasticity::Model& model = structure->model;
    model.mesh = mesh;
    for (const auto& [name, young, poisson, density, orthotropic, expansion] : materials) {
        auto& material = name.empty() ? model.material : model.materials[name];
        material = {young, poisson, density, {}, expansion};
        if (!orthotropic.empty()) material.orthotropic = to_orthotropic(orthotropic);
    }
    for (const auto& [group, components, values, normal] : fixed) {
        model.fixed_supports.push_back({group, components, elasticity::constant(values), normal});
    }
    for (const auto& [group, angle, point, direction] : rotations) {
        model.fixed_supports.push_back({group,
                                        {true, true, mesh.dimensions == 3},
                                        elasticity::rotation(angle, point, direction)});
    }
    model.springs = springs;
    static_cast<elasticity::Loads&>(model) = loads;
    model.thickness = thickness;
    model.plane = elasticity::PlaneKind(plane);
    if (full_integration) model.formulation = elasticity::Formulation::full_integration;
    model.node_displacements = copied(node_displacements);
    model.equations = to_equations(model.mesh, model.plane, equations);
    const Interruptible interruptible;
    structure->system = elasticity::assemble(cpu, model);
    return structure;
}

/// The structure with the loads and displacements of a case; its system without the matrix.
std::shared_ptr<Structure> make_case(const Context& cpu, const Structure& common,
                                     const FixedGroups& fixed, const Rotations& rotations,
                                     const elasticity::Loads& loads) {
    auto structure = std::make_shared<Structure>();
    elasticity::Model& model = structure->model;
    model = common.model;
    static_cast<elasticity::Loads&>(model) = loads;
    const auto move = [&](const std::string& group, const std::array<bool, 3>& components,
                          elasticity::Field displacement) {
        for (auto& support : model.fixed_supports) {
            if (support.group != group || support.components != components) continue;
            support.displacement = std::move(displacement);
            return;
        }
        throw InvalidArgument(
            "'" + group + "' of a case is not fixed in the same components in all cases", "cases");
    };
    const int d = model.mesh.dimensions;
    for (const auto& [group, components, values, normal] : fixed) {
        if (normal) continue;  // It has no value.
        move(group, components, elasticity::constant(values));
    }
    for (const auto& [group, angle, point, direction] : rotations) {
        move(group, {true, true, d == 3}, elasticity::rotation(angle, point, direction));
    }
    const Interruptible interruptible;
    structure->system = elasticity::assemble_load(cpu, model);
    return structure;
}

std::vector<double> displacements(const Structure& structure, const Numbers& solution) {
    return structure.system.displacements({solution.data(), solution.size()});
}

/// find(cpu, model, displacements) as an array of `columns` columns.
template <class Find>
nb::object found(const Context& cpu, const Structure& structure, const Numbers& u, int columns,
                 Find&& find) {
    std::vector<double> values;
    {
        const Interruptible interruptible;
        values = find(cpu, structure.model, std::span(u.data(), u.size()));
    }
    return to_numpy(std::move(values), std::size_t(columns));
}

AnyTuple reactions(const Context& cpu, const Structure& structure, const Numbers& u) {
    elasticity::Reactions result;
    {
        const Interruptible interruptible;
        result = elasticity::find_reactions(cpu, structure.model, {u.data(), u.size()});
    }
    const auto to_list = [](const auto& sums) {
        nb::list list;
        for (const auto& [name, sum] : sums) {
            list.append(nb::make_tuple(name, sum.force, sum.moment));
        }
        return list;
    };
    return nb::make_tuple(to_list(result.groups), to_list(result.equations), result.loads.force,
                          result.loads.moment);
}

AnyTuple section(const Context& cpu, const Structure& structure, const Numbers& u,
                 const std::string& group) {
    elasticity::Section found;
    {
        const Interruptible interruptible;
        found = elasticity::find_section(cpu, structure.model, {u.data(), u.size()}, group);
    }
    return nb::make_tuple(found.normal, found.centre, found.sum.force, found.sum.moment);
}

AnyTuple error_estimate(const Context& cpu, const Structure& structure, const Numbers& u) {
    elasticity::ErrorEstimate estimate;
    {
        const Interruptible interruptible;
        estimate = elasticity::estimate_error(cpu, structure.model, {u.data(), u.size()});
    }
    return nb::make_tuple(estimate.relative, to_numpy(std::move(estimate.elements)));
}

double strain_energy(const Context& cpu, const Structure& structure, const Numbers& u) {
    const Interruptible interruptible;
    return elasticity::strain_energy(cpu, structure.model, {u.data(), u.size()});
}

std::vector<std::string> warnings(const Context& cpu, const Structure& structure) {
    const Interruptible interruptible;
    return elasticity::find_warnings(cpu, structure.model, structure.system);
}

using NamedFields = std::vector<std::tuple<std::string, int, Numbers>>;

void write_vtu(const Context& cpu, const std::string& path, const Mesh& mesh,
               const NamedFields& at_nodes, const NamedFields& in_elements) {
    const auto to_fields = [](const NamedFields& given) {
        std::vector<io::MeshField> fields;
        for (const auto& [name, components, values] : given) {
            fields.push_back({name, components, {values.data(), values.size()}});
            if (components != elasticity::tensor_components) continue;
            fields.back().component_names = {"xx", "yy", "zz", "xy", "yz", "xz"};
        }
        return fields;
    };
    const auto nodes = to_fields(at_nodes), elements = to_fields(in_elements);
    const Interruptible interruptible;
    io::write_vtu(cpu, path, mesh, nodes, elements);
}

}  // namespace

void python_module::bind_structures(nb::module_& module) {
    nb::class_<Mesh>(module, "Mesh")
        .def_prop_ro("dimensions", [](const Mesh& mesh) { return mesh.dimensions; })
        .def_prop_ro("region_names", [](const Mesh& mesh) { return mesh.region_names; })
        .def_prop_ro("regions",
                     [](const Mesh& mesh) { return to_numpy(std::vector<int>(mesh.regions)); })
        .def_prop_ro("points",
                     [](const Mesh& mesh) {
                         return to_numpy(std::vector<double>(mesh.points),
                                         std::size_t(mesh.dimensions));
                     })
        .def_prop_ro("cells", [](const Mesh& mesh) { return from_cells(mesh.elements); })
        .def_prop_ro("groups", &groups_of);
    module.def("make_mesh", &make_mesh);
    module.def("read_mesh", &read_mesh);
    nb::class_<Structure>(module, "Structure")
        .def("take_matrix",
             [](Structure& s) { return to_arrays(std::exchange(s.system.matrix, {})); })
        .def_prop_ro("load",
                     [](const Structure& s) { return to_numpy(std::vector(s.system.load)); })
        .def_prop_ro("unknowns",
                     [](const Structure& s) { return to_numpy(std::vector(s.system.unknowns)); })
        .def_prop_ro("is_singular", [](const Structure& s) { return s.system.known_singular; })
        .def_prop_ro("hinge_nodes", [](const Structure& s) { return s.system.hinge_nodes; })
        .def("coordinates",
             [](const Structure& s) -> AnyTuple {
                 NodeCoordinates found = s.system.coordinates(s.model.mesh);
                 return nb::make_tuple(
                     to_numpy(std::vector(found.values.begin(), found.values.end()),
                              std::size_t(found.dimensions)),
                     to_numpy(std::move(found.unknowns)));
             })
        .def("near_null",
             [](const Structure& s) -> nb::object {
                 if (s.system.node_axes.empty()) return nb::none();
                 NearNullSpace modes = rigid_body_modes(s.system.coordinates(s.model.mesh));
                 return to_numpy(s.system.to_rows(s.model.mesh, modes.values, modes.columns),
                                 std::size_t(modes.columns));
             })
        .def("warnings", [](const Structure& s, const Context& cpu) { return warnings(cpu, s); })
        .def("displacements",
             [](const Structure& s, const Numbers& x) {
                 return to_numpy(displacements(s, x), std::size_t(s.model.mesh.dimensions));
             })
        .def("node_stresses",
             [](const Structure& s, const Context& cpu, const Numbers& u) {
                 return found(cpu, s, u, elasticity::tensor_components, elasticity::node_stresses);
             })
        .def("element_stresses",
             [](const Structure& s, const Context& cpu, const Numbers& u) {
                 return found(cpu, s, u, elasticity::tensor_components,
                              elasticity::element_stresses);
             })
        .def("section", [](const Structure& s, const Context& cpu, const Numbers& u,
                           const std::string& group) { return section(cpu, s, u, group); })
        .def("reactions", [](const Structure& s, const Context& cpu,
                             const Numbers& u) { return reactions(cpu, s, u); })
        .def("error_estimate", [](const Structure& s, const Context& cpu,
                                  const Numbers& u) { return error_estimate(cpu, s, u); })
        .def("strain_energy", [](const Structure& s, const Context& cpu, const Numbers& u) {
            return strain_energy(cpu, s, u);
        });
    nb::class_<elasticity::Loads>(module, "Loads");
    module.def("make_loads", &make_loads, nb::arg("forces"), nb::arg("moments"),
               nb::arg("tractions"), nb::arg("pressures"), nb::arg("body_force").none(),
               nb::arg("gravity"), nb::arg("spin"), nb::arg("spin_point"),
               nb::arg("node_forces").none(), nb::arg("temperature"), nb::arg("temperatures"),
               nb::arg("node_temperatures").none());
    nb::class_<GivenEquations>(module, "Equations");
    module.def("make_equations", &gather_equations, nb::arg("rigid"), nb::arg("couple"),
               nb::arg("tie"), nb::arg("offsets").none(), nb::arg("columns").none(),
               nb::arg("coefficients").none(), nb::arg("values").none());
    module.def("make_structure", &make_structure, nb::arg("cpu"), nb::arg("mesh"),
               nb::arg("materials"), nb::arg("fixed"), nb::arg("rotations"), nb::arg("springs"),
               nb::arg("equations"), nb::arg("loads"), nb::arg("thickness"), nb::arg("plane"),
               nb::arg("full_integration"), nb::arg("node_displacements").none());
    module.def("make_case", &make_case, nb::arg("cpu"), nb::arg("common"), nb::arg("fixed"),
               nb::arg("rotations"), nb::arg("loads"));
    module.def("normal_axis", &elasticity::normal_axis);
    module.def("elements_of", [](const Mesh& mesh, const std::string& name) {
        return to_numpy(elasticity::elements_of(mesh, name));
    });
    module.def("surface", [](const Context& cpu, const Mesh& mesh) {
        return from_cells(elasticity::surface(cpu, mesh));
    });
    module.def("von_mises", [](const Numbers& stresses) {
        return to_numpy(elasticity::von_mises({stresses.data(), stresses.size()}));
    });
    module.def("write_vtu", &write_vtu);
}
