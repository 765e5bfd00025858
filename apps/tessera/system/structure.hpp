#pragma once

#include <memory>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::cli {

/// The options of what acts on a mesh.
struct LoadArguments {
    std::vector<std::string> fix;       ///< GROUP or GROUP=UX,UY[,UZ], each a number or free.
    std::vector<std::string> load;      ///< GROUP=FX,FY[,FZ]: a force.
    std::vector<std::string> moment;    ///< GROUP=M or GROUP=MX,MY,MZ.
    std::vector<std::string> traction;  ///< GROUP=TX,TY[,TZ]: a force per area.
    std::vector<std::string> pressure;  ///< GROUP=P: a force per area against the normal.
    /// GROUP=ANGLE[deg],X,Y or GROUP=ANGLE[deg],X,Y,Z,DX,DY,DZ: about a point, or a line.
    std::vector<std::string> rotate;
    std::vector<std::string> temperature;  ///< DT or REGION=DT: a change.
    std::vector<std::string> body_force;   ///< FX,FY[,FZ]: a force per volume.
    std::vector<std::string> gravity;      ///< GX,GY[,GZ]: an acceleration.
    /// SPEED[rpm], SPEED[rpm],X,Y or SPEED[rpm],X,Y,Z,DX,DY,DZ: about the axis, a point or a line.
    std::vector<std::string> spin;
};

/// The options of loads by their names.
inline constexpr std::pair<const char*, std::vector<std::string> LoadArguments::*> load_options[] =
    {{"--fix", &LoadArguments::fix},
     {"--load", &LoadArguments::load},
     {"--moment", &LoadArguments::moment},
     {"--traction", &LoadArguments::traction},
     {"--pressure", &LoadArguments::pressure},
     {"--rotate", &LoadArguments::rotate},
     {"--temperature", &LoadArguments::temperature},
     {"--body-force", &LoadArguments::body_force},
     {"--gravity", &LoadArguments::gravity},
     {"--spin", &LoadArguments::spin}};

/// The options after a --case.
struct CaseArguments {
    std::string name;
    LoadArguments loads;
};

/// The options of solve and tune for a mesh; loads are those of all cases.
struct MeshArguments : LoadArguments {
    std::vector<std::string> case_names;
    std::vector<CaseArguments> cases;  ///< In their order.
    std::vector<std::string> spring;   ///< GROUP=KX,KY[,KZ]: a stiffness to the ground.
    std::vector<std::string> rigid;    ///< GROUP: a rigid body.
    std::vector<std::string> couple;   ///< GROUP=x[,y][,z] or GROUP=plane: equal displacements.
    std::vector<std::string> tie;      ///< GROUP=GROUP: nodes that follow the faces of another one.
    std::vector<std::string> equation;  ///< "pin.x - 2 lever.y = 0", or a file of such lines.
    std::vector<std::string> density;   ///< RHO or REGION=RHO.
    std::vector<std::string> young;     ///< E or REGION=E.
    std::vector<std::string> poisson;   ///< NU or REGION=NU.
    /// E1,E2,E3,NU12,NU23,NU13,G12,G23,G13 or REGION=..., in place of E and NU.
    std::vector<std::string> orthotropic;
    std::vector<std::string> axes;  ///< A1,A2[,A3,B1,B2,B3] or REGION=...: its directions 1 and 2.
    std::vector<std::string> expansion;        ///< ALPHA, or three along the axes, or REGION=...
    std::string thickness;                     ///< Empty: 1.
    std::string plane;                         ///< stress, strain or axisymmetric; empty: stress.
    std::string formulation = "incompatible";  ///< Or full.
    std::string vtu;                   ///< File for displacements and stresses; empty: none.
    std::vector<std::string> section;  ///< GROUP: a cut whose forces are found.

    /// The first given option with its dashes, or empty.
    std::string first_option_given() const;
    /// The first option that loads the mesh: a load, or a prescribed displacement that is not zero;
    /// or empty.
    std::string first_load_option() const;
    /// Pairs of option and value, for printing the command again.
    std::vector<std::pair<std::string, std::string>> given_options() const;
};

/// What differs between load cases; supports differ by their displacements only.
struct LoadCase {
    std::string name;
    elasticity::Loads loads;
    std::vector<elasticity::FixedSupport> fixed_supports;
    std::vector<double> load, prescribed;  ///< As in elasticity::System.
    std::vector<elasticity::LoadShare> load_shares;
};

/// The model of a mesh and options, and its linear system without the matrix, which was moved.
struct Structure {
    elasticity::Model model;
    elasticity::System system;
    std::vector<LoadCase> cases;        ///< Empty without --case.
    std::vector<std::string> sections;  ///< Groups.

    /// Sets what differs in a case.
    void select(const LoadCase& load_case);
};

/// The word of --plane.
const char* plane_name(elasticity::PlaneKind plane);

/// Whether a file is a mesh: its name ends in .msh or .msh.gz, or it begins like one.
bool is_mesh_file(const std::string& path);

/// Throws InvalidArgument for texts that are invalid for every mesh.
void check_mesh_arguments(const MeshArguments& arguments);

/// The load cases of a model without --case options. Throws InvalidArgument as make_model, and for
/// supports that differ.
std::vector<LoadCase> make_cases(const MeshArguments& arguments, elasticity::Model& model,
                                 bool needs_load);

/// The model of a mesh, of load cases what they share. Throws InvalidArgument for unknown groups
/// and regions (listing the known ones), for numbers that do not fit the mesh, for materials of
/// some regions only, and without any load if `needs_load`.
elasticity::Model make_model(Mesh mesh, const MeshArguments& arguments, bool needs_load);

/// Makes the cases and assembles a structure with a model, with the matrix; selects the first case.
void assemble_structure(const Context& context, const Context& host, const MeshArguments& arguments,
                        bool needs_load, Structure& structure);

/// find_warnings of all cases, those that they share once.
std::vector<std::string> warnings_of_cases(const Context& host, Structure& structure);

/// The cause of a rigid motion of a structure, and the remedy.
std::string rigid_motion_message(const std::string& name, const Structure& structure);

/// The values of options that were not given.
std::vector<std::pair<std::string, double>> default_values(const MeshArguments& arguments,
                                                           int dimensions);

/// What follows from the solution of a structure.
struct StructureResults {
    RunReport::Structure summary;
    std::vector<double> displacements;   ///< `dimensions` numbers per node.
    std::vector<double> node_stresses;   ///< `tensor_components` numbers per node.
    std::vector<double> node_von_mises;  ///< One number per node.
    std::vector<double> element_errors;  ///< Parts of summary.error_estimate, one per element.
};

/// Results of the selected case; with reactions, if the loads are those of the model.
StructureResults find_structure_results(const Context& host, const Structure& structure,
                                        const std::vector<double>& solution, bool has_model_loads);

/// f - K x of solutions, one after the other, in double precision. Assembles the matrix again.
std::vector<double> structure_residuals(const Context& host, Structure& structure,
                                        const std::vector<double>& solutions);

/// Writes a VTU file, with the stresses of elements in addition; with several cases fields have
/// their names at the end, such as stress_wind.
void write_structure(const Context& host, Structure& structure,
                     const std::vector<StructureResults>& results, const std::string& vtu);

}  // namespace tessera::cli
