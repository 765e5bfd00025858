#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <span>

#include "tessera/csr.hpp"
#include "tessera/mesh.hpp"

/// Linear elasticity with finite elements of first and second order: triangles and quadrilaterals
/// in plane stress, plane strain or axisymmetry, tetrahedra, hexahedra, prisms and pyramids. Units
/// must agree: with m and Pa, forces are in N.
namespace tessera::elasticity {

using Vector = std::array<double, 3>;  ///< x, y, z; in two dimensions the last is ignored.

/// A vector field, evaluated at points of space. Called by several threads at once.
using Field = std::function<Vector(const Vector& point)>;

inline Field constant(const Vector& value) {
    return [value](const Vector&) { return value; };
}

/// The displacements of a rotation by a small angle, in radians, about the line through `point`
/// along `direction` of any length: of the linear theory, u = angle direction x (x - point), so
/// that points move along the tangents of their circles. In two dimensions the direction is z.
/// Throws InvalidArgument for a direction without length and numbers that are not finite.
TESSERA_API Field rotation(double angle, const Vector& point, const Vector& direction = {0, 0, 1});

/// An orthotropic material: its directions 1, 2 and 3, and its constants for stresses along them.
/// strain_i = stress_i / E_i less nu_ji / E_j stress_j for each other j, where nu_ji / E_j is
/// nu_ij / E_i, and strain_ij = stress_ij / (2 G_ij). The energy of every strain must be positive.
struct Orthotropic {
    Vector young_moduli{1, 1, 1};      ///< E1, E2, E3, forces per area.
    Vector poisson_ratios{};           ///< nu12, nu23, nu13: - strain_j / strain_i if i is pulled.
    Vector shear_moduli{1, 1, 1};      ///< G12, G23, G13, forces per area.
    Vector direction{1, 0, 0};         ///< Direction 1, of any length.
    Vector second_direction{0, 1, 0};  ///< Direction 2, less its part along direction 1.
    bool operator==(const Orthotropic&) const = default;
};

/// Isotropic: stress = lambda tr(strain) I + 2 mu strain with mu = E / (2 (1 + nu)) and
/// lambda = E nu / ((1 + nu)(1 - 2 nu)), in plane stress E nu / (1 - nu^2); or orthotropic, in two
/// dimensions with one of the directions along z.
struct Material {
    double young_modulus = 1;    ///< E > 0, force per area.
    double poisson_ratio = 0.3;  ///< -1 < nu < 1/2; in plane stress also 1/2.
    double density = 0;          ///< >= 0, mass per volume; of use with gravity and spin.
    std::optional<Orthotropic> orthotropic = {};  ///< In place of the first two.
    /// Thermal strains per unit of temperature along x, y and z, or, of an orthotropic material,
    /// along its directions; all equal where it expands evenly. Of use with a temperature.
    Vector expansion{};
    bool operator==(const Material&) const = default;
};

/// What a plane mesh is a section of.
enum class PlaneKind {
    stress,  ///< A thin plate: the stresses zz, yz and xz are 0.
    strain,  ///< A long prismatic body: the strains zz, yz and xz are 0.
    /// A body of revolution about the y axis under loads that do not depend on the angle: x is the
    /// radius, and the strain zz, the hoop strain, is u_x / x. Integrals extend over the full
    /// circle.
    axisymmetric,
};

/// How quadrilaterals and hexahedra of first order represent strains; other elements are integrated
/// in full in any case.
enum class Formulation {
    /// With incompatible modes: the displacements have the terms 1 - x_k^2 along each axis k of the
    /// reference element in addition, with coefficients of their own, condensed statically. A
    /// single layer of such elements bends as it should. E. L. Wilson et al., 1973, with the
    /// derivatives of R. L. Taylor, P. J. Beresford and E. L. Wilson, Int. J. Numer. Meth. Eng. 10
    /// (1976), so that elements of any shape represent a constant strain. In axisymmetry the
    /// strains of these modes, and x_1 x_2 for the hoop strain, have the factor 1 / r, so that
    /// elements represent a constant stress: J. C. Simo and M. S. Rifai, Int. J. Numer. Meth. Eng.
    /// 29 (1990).
    incompatible_modes,
    full_integration,
};

/// A Dirichlet condition: the displacement of a group's nodes is prescribed, by component.
struct FixedSupport {
    std::string group;
    std::array<bool, 3> components{true, true, true};  ///< Which components are prescribed.
    Field displacement = constant({0, 0, 0});          ///< Prescribed values, lengths.
    /// In place of both: the displacement along the normal of the surface is 0, as on an inclined
    /// roller. The normal of a node is the mean of those of the group's edges or faces at it,
    /// weighted by area; those of several such groups at a node that differ by less than 20 degrees
    /// count as one.
    bool normal = false;
};

/// A displacement times a number.
struct EquationTerm {
    Index node = 0;
    int axis = 0;  ///< 0, 1 or 2: x, y or z.
    double coefficient = 1;
};

/// A linear equation: the sum of coefficient times displacement is `value`.
struct Equation {
    std::string name;  ///< Forces of equations with equal names are summed, such as "rigid cap".
    std::vector<EquationTerm> terms;
    double value = 0;
};

/// What acts on a structure, without prescribed displacements: may differ between load cases.
struct Loads {
    /// Forces per area (of length times thickness, or circumference, in two dimensions) on the
    /// edges or faces of the groups named.
    std::vector<std::pair<std::string, Field>> tractions = {};
    /// Forces on groups as a whole, in axisymmetry on the full circle: uniform tractions, or equal
    /// forces on their points.
    std::vector<std::pair<std::string, Vector>> forces = {};
    /// Moments on groups as a whole, in two dimensions about z: tractions a x (x - c), which grow
    /// with the distance from the centroid c, without a force in total; on points such forces. Not
    /// in axisymmetry.
    std::vector<std::pair<std::string, Vector>> moments = {};
    /// Forces per area on edges or faces of elements, against their outward normals.
    std::vector<std::pair<std::string, double>> pressures = {};
    std::vector<double> node_forces = {};  ///< `dimensions` per node; empty: none.
    Field body_force = {};                 ///< A force per volume; empty: none.
    Vector gravity{};  ///< An acceleration; times the density it is a force per volume.
    /// An angular velocity, in radians per time, as a vector along its axis through a point: with
    /// the density a force per volume density spin^2 r away from the axis, at the distance r. The
    /// axis is along z in two dimensions, in axisymmetry y.
    Vector spin{};
    Vector spin_point{};
    double temperature = 0;  ///< The change from the temperature at which nothing strains.
    /// Changes of temperature by names as in Model::materials, in place of `temperature`.
    std::map<std::string, double> temperatures = {};
    /// The change at each node, in elements by their shape functions, in place of both; empty:
    /// none.
    std::vector<double> node_temperatures = {};
};

/// -div stress(u) = body_force, u given on the fixed supports, stress . normal given on the
/// tractions and 0 on the rest of the surface. Stresses are those of the strains less the thermal
/// ones, expansion times the change of temperature.
struct Model : Loads {
    Mesh mesh;
    Material material;  ///< Material of regions not in `materials`.
    /// Materials by names of regions of the mesh, or of groups of elements (`elements_of`). Those
    /// of groups that share elements must be equal.
    std::map<std::string, Material> materials;
    std::vector<FixedSupport> fixed_supports;  ///< If a node is in two, the later one is used.
    /// Prescribed displacements, `dimensions` per node, used before those of groups; NaN: free.
    /// Empty: none.
    std::vector<double> node_displacements = {};
    /// Springs between groups and the ground: the stiffness of a group as a whole along x, y and z,
    /// forces per length, at least 0. On edges and faces it is spread evenly, as a bed of stiffness
    /// over area, on points in equal parts; in axisymmetry it is that of the full circle.
    std::vector<std::pair<std::string, Vector>> springs = {};
    /// Equations between displacements. Each eliminates one of its displacements, which then
    /// follows from the others; one that follows from others and the supports has no effect.
    std::vector<Equation> equations = {};
    double thickness = 1;  ///< In plane stress and plane strain, a length.
    Formulation formulation = Formulation::incompatible_modes;
    PlaneKind plane = PlaneKind::stress;  ///< In two dimensions.
};

/// Equations by which the nodes of a group have equal displacements along some axes. Throws
/// InvalidArgument for groups that do not exist or have one node.
TESSERA_API std::vector<Equation> equal_displacements(const Mesh& mesh, const std::string& group,
                                                      const std::array<bool, 3>& axes);

/// Equations by which the nodes of a group move as a rigid body, by linear theory: u is a
/// translation plus a rotation by a small angle; in axisymmetry a translation along the axis.
/// Errors as above.
TESSERA_API std::vector<Equation> rigid_body(const Mesh& mesh, const std::string& group,
                                             PlaneKind plane = PlaneKind::stress);

/// Equations by which the nodes of a group that lie in a plane (in two dimensions on a line) stay
/// in one, which may move and turn, while they slide along it. Throws InvalidArgument for nodes in
/// no plane and, as above, for other groups.
TESSERA_API std::vector<Equation> plane_stays_plane(const Mesh& mesh, const std::string& group);

/// Equations by which the nodes of a group move as the edges or faces of another one at their
/// nearest points, so that parts with meshes of their own hang together; nodes of both groups are
/// left out. The finer mesh should be the one that is tied. Throws InvalidArgument where `onto` has
/// other cells, and for nodes that are farther away than a tenth of the nearest face's extent.
TESSERA_API std::vector<Equation> tie(const Mesh& mesh, const std::string& group,
                                      const std::string& onto);

/// How much of a traction, force, moment or pressure of a model acts on prescribed displacements.
struct LoadShare {
    std::string group;
    Vector total{};   ///< The sum of its forces on nodes.
    Vector moment{};  ///< The one that is given; 0: it is no moment.
    double size = 0;  ///< The sum of the absolute values of their components.
    /// The part of it on prescribed displacements, which is taken by the supports.
    Vector held{};
    double held_share = 0;  ///< The share in `size` of those that are held, 0..1.
};

/// The linear system of a model in host memory; its unknowns are the displacements that are neither
/// prescribed nor follow from others by equations, by nodes and components. The others are
/// eliminated from both sides: with u = T x + c the matrix is T^T K T and the load T^T (f - K c),
/// so that the matrix stays symmetric. In axisymmetry the radial displacements of nodes on the axis
/// are prescribed to be 0: of nodes whose radius is at most 1e-12 of the largest.
struct System {
    CsrMatrix<double> matrix;
    std::vector<double> load;
    Index natural_block = 1;  ///< `dimensions` where nodes are fixed in all components or none.
    /// Parts of the mesh can move without strain: a part that hangs together can move as a rigid
    /// body, or parts of it, which share no face (in two dimensions no edge), can move against each
    /// other about the nodes that they share (not looked for among more than 64 such parts). In
    /// axisymmetry the only such motion is along the axis.
    bool known_singular = false;
    /// In the second case the nodes between parts that move against each other in one such motion.
    std::vector<Index> hinge_nodes = {};
    /// Row of each displacement; -1: prescribed, or in no element; -2: in `dependents`. Rows are in
    /// the order of the nodes; of large meshes whose numbers put the nodes of an element far apart,
    /// in an order along a curve that fills the body, so that products find vectors in caches.
    std::vector<Index> unknowns;
    /// Displacements, `dimensions` per node; 0: not prescribed; of dependent ones the constant
    /// part.
    std::vector<double> prescribed;
    /// A displacement that an equation eliminates: `prescribed` plus the sum of factors times other
    /// displacements, which are unknowns. Displacements by their numbers, dimensions * node + axis.
    struct Dependent {
        Offset displacement = 0;
        std::vector<std::pair<Offset, double>> terms = {};
    };
    std::vector<Dependent> dependents = {};  ///< By ascending displacements.
    /// Shares of each traction, force, moment, pressure, and of the forces on nodes.
    std::vector<LoadShare> load_shares;

    /// Axes of a node in place of x, y and z.
    struct NodeAxes {
        Index node = 0;
        std::array<Vector, 3> axes{};  ///< `dimensions` orthogonal vectors of length 1.
    };
    /// Nodes on inclined supports, ascending: their unknowns and prescribed displacements are along
    /// these axes, first those that are prescribed.
    std::vector<NodeAxes> node_axes = {};

    /// Coordinates of the nodes with unknowns, in the order of the rows. They also serve multigrid
    /// in axisymmetry: rigid motions of the plane take little energy in parts that are small beside
    /// their radius, and halve the iterations of translations.
    TESSERA_API NodeCoordinates coordinates(const Mesh& mesh) const;
    /// Vectors along the axes of the rows from those along x, y and z, such as the rigid_body_modes
    /// of the coordinates for multigrid where nodes have axes of their own: `columns` numbers for
    /// each displacement of the nodes of `coordinates`, and of each row.
    TESSERA_API std::vector<double> to_rows(const Mesh& mesh, std::span<const double> vectors,
                                            int columns) const;
    /// All displacements along x, y and z, `dimensions` per node, from a solution of the system.
    TESSERA_API std::vector<double> displacements(std::span<const double> solution) const;
};

/// Assembles, with G the derivatives dN_a / dx of the shape function of a node,
///   matrix(a, i; b, j) = integral of lambda G_ai G_bj + mu G_aj G_bi + delta_ij mu G_a . G_b,
///   load(a, i) = integral of N_a body_force_i + surface integral of N_a traction_i + forces at a
///                + integral of stress_ij(thermal strain) G_aj
///                - sum over the prescribed (b, j) of matrix(a, i; b, j) u_bj
/// for isotropic materials; in axisymmetry with the terms of the hoop strain N_a / r; and with
/// incompatible modes (Formulation). Quadrature: two Gauss points per axis, three in elements of
/// second order; simplices of first order at the midpoint, of second order at 3 (triangle) or 4
/// points; prisms at those of a triangle times Gauss points along their height. Loads on edges and
/// faces by the same rules. All couplings of nodes that share an element are stored, zeros too. The
/// matrix is exactly symmetric. The load is found on the host. With a GPU context the matrix is in
/// the memory of the GPU, which finds the stiffnesses of elements and adds them; the host adds
/// those of springs, and of elements at equations or inclined supports. All results are bitwise
/// equal for every number of threads; those of a GPU differ from the others by rounding. Source: T.
/// J. R. Hughes, The Finite Element Method, 2000, chapter 3. Throws InvalidArgument as
/// validate(mesh), for inverted or flat elements, and for groups, regions, materials and
/// thicknesses that do not exist or do not fit; in axisymmetry for negative radii, a thickness
/// other than 1, gravity along the radius, a spin about another axis, and radial displacements
/// other than 0 that are prescribed on the axis.
TESSERA_API System assemble(const Context& context, const Model& model);

/// About how many entries the matrix of a mesh has: from the numbers of its cells alone.
TESSERA_API Offset estimate_nonzeros(const Mesh& mesh);

/// The system of `assemble` without its matrix: for a model that differs from an assembled one in
/// its Loads and in the values of prescribed displacements.
TESSERA_API System assemble_load(const Context& context, const Model& model);

/// The elements of the mesh's group of that name whose cells are elements, else of the region of
/// that name, ascending: group cells are found by their nodes. Throws InvalidArgument with the
/// known names, and as validate(mesh).
TESSERA_API std::vector<Index> elements_of(const Mesh& mesh, const std::string& name);

/// The faces (in two dimensions edges) of elements that no other element has: their corners
/// counterclockwise seen from outside, of an edge with the outside on its right.
TESSERA_API std::vector<Cells> surface(const Context& cpu, const Mesh& mesh);

/// An element that is far thinner than long.
struct ThinElement {
    Index element = -1;       ///< -1: none.
    double thickness = 1;     ///< Over the longest extent along an axis.
    std::string description;  ///< Its number, shape, nodes and their coordinates.
};

/// The thinnest element, if rounding errors of its stiffness are larger than the square root of the
/// rounding unit in units of the stiffness of well-shaped elements: if its thickness,
/// 1 / max |dN_a / dx|, is below 1.5e-8 of its length.
TESSERA_API ThinElement find_thin_element(const Context& cpu, const Mesh& mesh);

/// The axis, 0..2, that is perpendicular to all edges or faces of a group, as on a plane of
/// symmetry; -1 where there is none, to 1e-6 of the group's extent. Throws InvalidArgument for
/// groups of other cells, and as Mesh::group.
TESSERA_API int normal_axis(const Mesh& mesh, const std::string& group);

/// An edge, or a face of four corners, on which cells have the same corners but not the same node
/// in the middle: they gape there.
struct NonconformingSide {
    std::vector<Index> corners;
    std::array<Index, 2> middles{};  ///< Two of the nodes in its middle; -1: a cell has none.
};

/// The sides where elements and groups of a mesh gape, as where first and second order touch.
TESSERA_API std::vector<NonconformingSide> find_nonconforming_sides(const Context& cpu,
                                                                    const Mesh& mesh);

/// Number of components of a symmetric tensor, in two dimensions too: xx, yy, zz, xy, yz, xz (the
/// order of VTK). In axisymmetry xx is the radial component, yy the axial and zz the hoop one.
inline constexpr int tensor_components = 6;

/// Why the displacements of a region are far too small on this mesh.
struct Locking {
    std::string region;  ///< Empty where the mesh has no regions, or this one has no name.
    /// Elements of first order without incompatible modes and with a Poisson's ratio above 0.45,
    /// except in plane stress: they hardly deform without a change of volume, which nearly
    /// incompressible material resists.
    bool volume = false;
    /// Most of its elements are of first order, have no incompatible modes and reach from one
    /// surface of the mesh to the opposite one: a single layer of them resists bending by parasitic
    /// shear strains.
    bool one_layer = false;
};

/// The regions of a model that may lock, in the order of the mesh. A layer is found by the corners
/// of triangles, tetrahedra, prisms and of the bases of pyramids, which are all on the surface, and
/// by opposite edges or faces of quadrilaterals and hexahedra. Errors as in `assemble`.
TESSERA_API std::vector<Locking> find_locking(const Context& cpu, const Model& model);

/// What the results of a model do not show: loads that are zero or act on prescribed
/// displacements, cells that gape, elements that are too thin or lock. One sentence each.
TESSERA_API std::vector<std::string> find_warnings(const Context& cpu, const Model& model,
                                                   const System& system);

// Below, `displacements` has `dimensions` numbers per node; determinism and errors as in
// `assemble`.

/// The stress at the centre of each element, tensor_components numbers, by its material from the
/// strain (grad u + grad u^T) / 2 less the thermal strain.
TESSERA_API std::vector<double> element_stresses(const Context& cpu, const Model& model,
                                                 std::span<const double> displacements);

/// The stress at each node: in each element of the node extrapolated from its integration points,
/// then the mean over these elements, as CalculiX does; 0 at nodes without elements. Extrapolated
/// by least squares: by the element's shape functions in quadrilaterals and hexahedra; linearly in
/// simplices of second order; in prisms linearly in the triangle and along the height; constant in
/// simplices of first order and in pyramids.
TESSERA_API std::vector<double> node_stresses(const Context& cpu, const Model& model,
                                              std::span<const double> displacements);

/// Forces as a whole: their sum, and that of their moments about the origin, of which in two
/// dimensions only the last component is not 0.
struct Resultant {
    Vector force{};
    Vector moment{};
};

/// The forces of the supports, and the loads that they balance. In axisymmetry they are sums over
/// the circle without moments, and radial ones do not balance each other: the hoop stress takes the
/// difference.
struct Reactions {
    /// Sums over the nodes of each fixed support of a model, in their order, then, if there are
    /// any, of its node_displacements as "nodes"; a node's component that several prescribe is
    /// counted in the last one. Then the forces of springs, of a group that is also fixed added to
    /// those of its support.
    std::vector<std::pair<std::string, Resultant>> groups;
    /// Sums of the forces of equations by their names, in the order of the model. Those of a rigid
    /// body or a tie of nodes at one place are 0 together; equal displacements exert moments.
    std::vector<std::pair<std::string, Resultant>> equations;
    Resultant
        total;  ///< The sum of both; with the loads it is 0 but for the error of the solution.
    Resultant loads;  ///< All loads, those on fixed nodes among them.
};

/// The forces that the elements exert on the prescribed displacements, less the loads there, and
/// those of springs and equations.
TESSERA_API Reactions find_reactions(const Context& cpu, const Model& model,
                                     std::span<const double> displacements);

/// What passes through a plane cut of a structure.
struct Section {
    Vector normal{};  ///< Its length is 1; its largest component is positive.
    Vector centre{};  ///< The centroid of the cut.
    /// The forces of the part ahead, along the normal, on the part behind, with moments about the
    /// centre; in axisymmetry a sum over the circle without moments.
    Resultant sum;
};

/// The section at a group of edges or faces of elements in one plane, all that the plane cuts of a
/// part: from the forces at their nodes of the elements behind, so that it balances the loads and
/// reactions of that part as the solution does. Loads and springs on edges and faces count where
/// they act; loads on points, forces given at nodes, and supports and equations of the section's
/// nodes as ahead.
/// Where no elements lie behind, what acts on that surface, with the opposite sign. Throws
/// InvalidArgument for groups of other cells, of faces in no plane, and for cuts that end inside.
TESSERA_API Section find_section(const Context& cpu, const Model& model,
                                 std::span<const double> displacements, const std::string& group);

/// Half the integral of elastic strain : stress, by the quadrature of `assemble`, without the
/// energy of springs.
TESSERA_API double strain_energy(const Context& cpu, const Model& model,
                                 std::span<const double> displacements);

/// How far displacements of an exact solution of the system are from those of the structure, in the
/// energy norm, whose square is the integral of elastic strain : stress.
struct ErrorEstimate {
    double relative = 0;  ///< The error over the norm of the structure's displacements, 0..1.
    /// The part of each element; their squares add up to that of `relative`.
    std::vector<double> elements;
};

/// By O. C. Zienkiewicz and J. Z. Zhu, The superconvergent patch recovery and a posteriori error
/// estimates, Int. J. Numer. Meth. Eng. 33 (1992): the difference of the elements' strains from
/// polynomials, one for each corner node and material, of the degree of the elements, fitted to the
/// strains at accurate points of the elements at the node; in an element those of its corners are
/// weighted by the shape functions of first order. Not a bound: on smooth solutions 0.8 to 1.7
/// times the error, 0.84 to 1.11 on fine meshes; at re-entrant corners it may be smaller.
TESSERA_API ErrorEstimate estimate_error(const Context& cpu, const Model& model,
                                         std::span<const double> displacements);

/// Values at nodes from `components` values per element: the mean over the elements of a node,
/// weighted by their volumes, in two dimensions by their areas, in axisymmetry times 2 pi r; 0 at
/// nodes without elements.
TESSERA_API std::vector<double> node_means(const Context& cpu, const Mesh& mesh,
                                           std::span<const double> element_values, int components,
                                           PlaneKind plane = PlaneKind::stress);

/// Von Mises' equivalent stress sqrt(3/2 s : s), s the deviator, of each tensor.
TESSERA_API std::vector<double> von_mises(std::span<const double> stresses);

}  // namespace tessera::elasticity
