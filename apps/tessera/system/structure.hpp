#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::cli {

/// What the options of solve and tune say about a mesh.
struct MeshArguments {
    std::vector<std::string> fix;       ///< GROUP or GROUP=UX,UY[,UZ], each a number or free.
    std::vector<std::string> load;      ///< GROUP=FX,FY[,FZ]: a force.
    std::vector<std::string> traction;  ///< GROUP=TX,TY[,TZ]: a force per area.
    std::string body_force;             ///< FX,FY[,FZ]: a force per volume.
    std::vector<std::string> young;     ///< E or REGION=E.
    std::vector<std::string> poisson;   ///< NU or REGION=NU.
    std::string thickness;              ///< Empty: 1.
    std::string vtu;                    ///< Where displacements and stresses go; empty: nowhere.

    /// The first option that was given, with its dashes, or empty.
    std::string first_given() const;
    /// As they must be typed again: pairs of option and value.
    std::vector<std::pair<std::string, std::string>> typed() const;
};

/// A body made of a mesh and options: its model and the linear system, the matrix of which has
/// been taken out.
struct Structure {
    elasticity::Model model;
    elasticity::System system;
};

/// Whether a file is taken for a mesh: its name ends in .msh or .msh.gz, or it begins as one.
bool is_mesh_file(const std::string& path);

/// Throws InvalidArgument for texts that no mesh could make sense of.
void check_mesh_arguments(const MeshArguments& arguments);

/// The model of a mesh. Throws InvalidArgument for groups and regions that there are not, with
/// those that there are, for numbers that do not fit the mesh, and where `needs_load` says so and
/// nothing moves the body.
elasticity::Model make_model(Mesh mesh, const MeshArguments& arguments, bool needs_load);

/// Why the body of a system that is singular can move, and what to do about it.
std::string can_move_message(const std::string& name, const Structure& structure);

/// Displacements, stresses and their largest values from a solution; writes the VTU file where
/// there is to be one.
RunReport::Structure finish_structure(const Context& host, const Structure& structure,
                                      const std::vector<double>& solution, const std::string& vtu);

}  // namespace tessera::cli
