#include <numeric>

#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/loads/faces.hpp"
#include "problems/elasticity/loads/springs.hpp"

// Rigid motions along the curved surfaces that hold a body.
namespace tessera::elasticity {

namespace {

constexpr std::size_t max_motions = 6;
using Motion = std::array<double, max_motions>;

/// A node's share in each rigid motion along a direction: translations, then rotations about the
/// centre in units of the size.
Motion motion_along(const Mesh& mesh, const HeldDirection& held, const Vector& centre,
                    double size) {
    Motion motion{};
    const Vector point = point_of(mesh, held.node);
    Vector x{};
    for (std::size_t i = 0; i < 3; ++i) {
        x[i] = (point[i] - centre[i]) / size;
        motion[i] = held.direction[i];
    }
    for (std::size_t i = mesh.dimensions == 2 ? 2 : 0; i < 3; ++i) {
        const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
        motion[3 + i] = x[j] * held.direction[k] - x[k] * held.direction[j];
    }
    return motion;
}

double product(const Motion& a, const Motion& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.);
}

/// The eigenvector of the smallest eigenvalue of a positive semidefinite matrix, by inverse
/// iteration with Cholesky factors; `kept` motions are those that exist.
Motion loosest_motion(std::array<Motion, max_motions> matrix,
                      const std::array<bool, max_motions>& kept) {
    double trace = 0;
    for (std::size_t i = 0; i < max_motions; ++i) trace += matrix[i][i];
    for (std::size_t i = 0; i < max_motions; ++i) matrix[i][i] += kept[i] ? 1e-13 * trace : trace;
    for (std::size_t k = 0; k < max_motions; ++k) {
        for (std::size_t j = 0; j < k; ++j) {
            for (std::size_t i = k; i < max_motions; ++i) {
                matrix[i][k] -= matrix[i][j] * matrix[k][j];
            }
        }
        const double pivot = std::sqrt(std::max(matrix[k][k], 1e-16 * trace));
        for (std::size_t i = k; i < max_motions; ++i) matrix[i][k] /= pivot;
    }
    Motion motion{0.9, 1.1, 1.2, 0.8, 1, 0.7};
    for (int step = 0; step < 50; ++step) {
        for (std::size_t i = 0; i < max_motions; ++i) {
            if (!kept[i]) motion[i] = 0;
            for (std::size_t j = 0; j < i; ++j) motion[i] -= matrix[i][j] * motion[j];
            motion[i] /= matrix[i][i];
        }
        for (std::size_t i = max_motions; i-- > 0;) {
            for (std::size_t j = i + 1; j < max_motions; ++j) motion[i] -= matrix[j][i] * motion[j];
            motion[i] /= matrix[i][i];
        }
        const double length = std::sqrt(product(motion, motion));
        for (double& component : motion) component /= length;
    }
    return motion;
}

/// By node: the largest sine of the angle between the normal that holds it and those of the faces
/// at it, at least the mean of the support, as ends have one face; 0 where no curved surface does.
std::vector<double> angles_at_nodes(const Model& model, const AxesOfNodes& axes_of_nodes,
                                    std::string& names) {
    std::vector<double> angles(std::size_t(model.mesh.node_count()), 0);
    for (const FixedSupport& support : model.fixed_supports) {
        if (!support.normal || normal_axis(model.mesh, support.group) >= 0) continue;
        const MeshGroup& group = model.mesh.group(support.group);
        double sum = 0, count = 0;
        const auto look = [&](auto nodes, const auto&, const Vector& normal, const auto&) {
            for (const Index node : nodes) {
                const Axes* const axes = axes_of_nodes.find(node);
                if (axes == nullptr) continue;
                double cosine = 0;
                for (const Vector& axis : *axes) {
                    cosine = std::max(cosine, std::abs(dot(axis, normal)) / length(normal));
                }
                const double sine = std::sqrt(std::max(0., 1 - cosine * cosine));
                angles[std::size_t(node)] = std::max(angles[std::size_t(node)], sine);
                sum += sine;
                count += 1;
            }
        };
        each_point(model, group, look);
        if (!(sum > 1e-6 * count)) continue;  // A plane.
        names += (names.empty() ? "'" : ", '") + support.group + "'";
        for (const Cells& cells : group.cells) {
            for (const Index node : cells.nodes) {
                if (axes_of_nodes.find(node) == nullptr) continue;
                angles[std::size_t(node)] = std::max(angles[std::size_t(node)], sum / count);
            }
        }
    }
    return angles;
}

}  // namespace

std::string curved_support_warning(const Model& model, const System& system) {
    const Mesh& mesh = model.mesh;
    if (model.plane == PlaneKind::axisymmetric && mesh.dimensions == 2) return {};
    std::string names;
    const AxesOfNodes axes_of_nodes(system, mesh.node_count());
    const std::vector<double> angles = angles_at_nodes(model, axes_of_nodes, names);
    if (names.empty()) return {};
    const Elements elements(mesh);
    const auto held =
        find_held_directions(model, find_springs(model, NodeElements(elements)), system);
    std::vector<int> directions(angles.size(), 0);
    Vector low = point_of(mesh, held.front().node), high = low, centre{};
    for (const HeldDirection& each : held) {
        ++directions[std::size_t(each.node)];
        const Vector x = point_of(mesh, each.node);
        for (std::size_t i = 0; i < 3; ++i) {
            low[i] = std::min(low[i], x[i]);
            high[i] = std::max(high[i], x[i]);
        }
    }
    double size = 0;
    for (std::size_t i = 0; i < 3; ++i) {
        centre[i] = (low[i] + high[i]) / 2;
        size = std::max(size, high[i] - low[i]);
    }
    std::vector<Motion> motions;
    for (const HeldDirection& each : held) {
        motions.push_back(motion_along(mesh, each, centre, size));
    }
    for (const Equation& equation : model.equations) {
        Motion sum{};
        for (const auto& [node, axis, coefficient] : equation.terms) {
            Vector direction{};
            direction[std::size_t(axis)] = coefficient;
            const Motion motion = motion_along(mesh, {node, direction}, centre, size);
            for (std::size_t i = 0; i < max_motions; ++i) sum[i] += motion[i];
        }
        motions.push_back(sum);
    }
    std::array<Motion, max_motions> gram{};
    for (const Motion& motion : motions) {
        for (std::size_t i = 0; i < max_motions; ++i) {
            for (std::size_t j = 0; j < max_motions; ++j) gram[i][j] += motion[i] * motion[j];
        }
    }
    const bool solid = mesh.dimensions == 3;
    const Motion loosest = loosest_motion(gram, {true, true, solid, solid, solid, true});
    double sure = 0, unsure = 0, limit = 0;
    for (std::size_t k = 0; k < motions.size(); ++k) {
        const double share = product(motions[k], loosest);
        if (k >= held.size()) {  // An equation.
            sure += share * share;
            continue;
        }
        const double angle = angles[std::size_t(held[k].node)];
        const bool is_unsure = angle > 0 && directions[std::size_t(held[k].node)] < mesh.dimensions;
        (is_unsure ? unsure : sure) += share * share;
        if (is_unsure) limit += angle * angle * product(motions[k], motions[k]);
    }
    // Normals at nodes are about three times as near to those of the surface as those of faces.
    if (sure > 1e-10 * double(held.size()) || unsure > limit / 9) return {};
    return concat("the curved supports ", names,
                  " hold the body only as far as the normals of their nodes differ from those of a "
                  "surface along which it can slide or turn; if it can, displacements are without "
                  "meaning: add another support");
}

}  // namespace tessera::elasticity
