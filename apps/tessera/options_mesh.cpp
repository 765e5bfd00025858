#include <algorithm>
#include <map>

#include "options.hpp"

namespace tessera::cli {

namespace {

/// Moves the options after each --case to its loads.
void split_cases(const CLI::App& command, MeshArguments& to) {
    if (command.count("--case") == 0) return;
    for (const auto& option : load_options) (to.*option.second).clear();
    LoadArguments* loads = &to;
    std::map<const CLI::Option*, std::size_t> seen;
    for (const CLI::Option* const option : command.parse_order()) {
        const std::string name = option->get_name();
        const auto known = std::ranges::find(
            load_options, name, [](const auto& entry) { return std::string_view(entry.first); });
        const bool is_load = known != std::end(load_options);
        if (!is_load && name != "--case") continue;
        const std::string text = option->results().at(seen[option]++);
        if (is_load) {
            (loads->*known->second).push_back(text);
        } else {
            to.cases.push_back({text, {}});
            loads = &to.cases.back().loads;
        }
    }
}

/// Load cases.
void add_cases(CLI::App& command, MeshArguments& to) {
    command
        .add_option("--case", to.case_names,
                    "Begin a load case: the loads, temperatures and displacements that are not "
                    "zero that follow are its own, those before the first --case act in all; "
                    "supports and materials are common. One setup solves all cases")
        ->type_name("NAME")
        ->allow_extra_args(false)
        ->group("Meshes");
    command.callback([&command, &to] { split_cases(command, to); });
}

}  // namespace

void add_mesh(CLI::App& command, MeshArguments& to) {
    const auto add = [&](const char* name, auto& value, const char* type, const char* help) {
        command.add_option(name, value, help)
            ->type_name(type)
            ->allow_extra_args(false)
            ->group("Meshes");
    };
    add("--fix", to.fix, "GROUP[=UX,UY[,UZ]|=normal]",
        "Fix the nodes of a physical group at 0, or at these displacements; a component may be "
        "the word free; normal: only across its surface, which may be inclined or curved. "
        "May be repeated; if a node is fixed twice, the later option is used");
    add("--load", to.load, "GROUP=FX,FY[,FZ]",
        "Total force on a group, spread evenly over its edges, faces or points");
    add("--moment", to.moment, "GROUP=M|MX,MY,MZ",
        "Total moment on a group, in the plane about z, by tractions that grow with the distance "
        "from its centroid; on points by such forces");
    add("--traction", to.traction, "GROUP=TX,TY[,TZ]", "Force per area on edges or faces");
    add("--pressure", to.pressure, "GROUP=P",
        "Force per area on edges or faces, against their outward normals");
    add("--spring", to.spring, "GROUP=KX,KY[,KZ]",
        "Stiffness between a group and the ground, a total like that of --load: on edges and faces "
        "a bed of stiffness over area, on points equal springs");
    add("--rigid", to.rigid, "GROUP",
        "The nodes of a group move as a rigid body, by linear theory");
    add("--couple", to.couple, "GROUP=x[,y][,z]|plane",
        "The nodes of a group have equal displacements along these axes; plane: a plane group "
        "stays "
        "plane, but may move and turn");
    add("--tie", to.tie, "GROUP=GROUP",
        "The nodes of the first group move as the edges or faces of the second one where they "
        "touch: joins parts with meshes of their own; the finer one first");
    add("--equation", to.equation, "EQUATION|FILE",
        "A linear equation of displacements, such as 'pin.x - 2 lever.y = 0', of groups that are "
        "one point, or of nodes by their numbers from 0; or a file with one on each line");
    add("--rotate", to.rotate, "GROUP=ANGLE,X,Y[,Z,DX,DY,DZ]",
        "Rotate a group by a small ANGLE, in radians or such as 0.5deg, about the point X,Y, or "
        "the line through X,Y,Z along DX,DY,DZ: by linear theory, points move along tangents");
    add("--temperature", to.temperature, "[REGION=]DT",
        "Change of the temperature of REGION, or of all others, for bodies with an --expansion");
    add("--body-force", to.body_force, "FX,FY[,FZ]", "Force per volume");
    add("--gravity", to.gravity, "GX,GY[,GZ]",
        "Acceleration, such as 0,-9.81, for bodies with a --density");
    add("--spin", to.spin, "SPEED[,X,Y[,Z,DX,DY,DZ]]",
        "Centrifugal forces of a SPEED in radians per time, or such as 3000rpm with time in "
        "seconds, about the point X,Y, the line through X,Y,Z along DX,DY,DZ, or in axisymmetry "
        "the axis, for bodies with a --density");
    add("--density", to.density, "[REGION=]RHO", "Mass per volume of REGION, or of all others");
    add("--expansion", to.expansion, "[REGION=]ALPHA",
        "Thermal strain per unit of temperature of REGION, or of all other regions; three numbers: "
        "along the directions of an orthotropic material");
    add("--young", to.young, "[REGION=]E",
        "Young's modulus of REGION, or of all other regions; default 1");
    add("--poisson", to.poisson, "[REGION=]NU",
        "Poisson's ratio of REGION, or of all other regions; default 0.3");
    add("--orthotropic", to.orthotropic, "[REGION=]E1,E2,E3,NU12,NU23,NU13,G12,G23,G13",
        "Orthotropic constants of REGION, or of all other regions; NUij is -strain j / strain i "
        "under a stress along i");
    add("--axes", to.axes, "[REGION=]X1,Y1[,Z1,X2,Y2,Z2]",
        "Directions 1 and 2 of an --orthotropic material; default x and y");
    add("--section", to.section, "GROUP",
        "Print the force and the moment through a plane cut of the structure: a group of edges or "
        "faces inside it");
    add("--thickness", to.thickness, "T",
        "Thickness of a plane mesh in plane stress or plane strain; default 1");
    command
        .add_option("--plane", to.plane,
                    "What a plane mesh is a section of: a thin plate (stress, default), a long "
                    "body that cannot strain across the plane (strain), or a body of revolution "
                    "with the radius x about the axis y (axisymmetric)")
        ->check(one_of({"stress", "strain", "axisymmetric"}))
        ->group("Meshes");
    command
        .add_option("--formulation", to.formulation,
                    "Quadrilaterals of 4 and hexahedra of 8 nodes with incompatible modes, which "
                    "bend as they should (default), or by full integration alone: incompatible, "
                    "full")
        ->check(one_of({"incompatible", "full"}))
        ->group("Meshes");
    add_cases(command, to);
}

}  // namespace tessera::cli
