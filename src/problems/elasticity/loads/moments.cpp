#include "problems/elasticity/loads/moments.hpp"

namespace tessera::elasticity {

namespace {

/// The solution of a symmetric system of three equations by cofactors; without one where the
/// determinant is a rounding error of the entries' size.
bool solve(const std::array<Vector, 3>& matrix, const Vector& right, double size,
           Vector& solution) {
    std::array<Vector, 3> cofactors{};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t i1 = (i + 1) % 3, i2 = (i + 2) % 3;
        for (std::size_t j = 0; j < 3; ++j) {
            const std::size_t j1 = (j + 1) % 3, j2 = (j + 2) % 3;
            cofactors[i][j] = matrix[i1][j1] * matrix[i2][j2] - matrix[i1][j2] * matrix[i2][j1];
        }
    }
    const double determinant = dot(matrix[0], cofactors[0]);
    if (!(determinant > 1e-12 * size * size * size)) return false;
    for (std::size_t i = 0; i < 3; ++i) solution[i] = dot(cofactors[i], right) / determinant;
    return true;
}

}  // namespace

SpreadMoment spread_moment(const Model& model, const MeshGroup& group, const Vector& moment) {
    require(model.mesh.dimensions == 3 || model.plane != PlaneKind::axisymmetric, "the moment on '",
            group.name, "' would turn a body of revolution out of its plane");
    SpreadMoment spread;
    double area = 0;
    each_moment_point(model, group, [&](auto, const auto&, double weight, const Vector& point) {
        area += weight;
        for (std::size_t i = 0; i < 3; ++i) spread.centroid[i] += weight * point[i];
    });
    require(area > 0, "group '", group.name, "' has no points or area that could carry a moment");
    for (double& component : spread.centroid) component /= area;
    // The moment of a x r is the integral of r x (a x r) = (r . r - r r^T) a.
    std::array<Vector, 3> inertia{};
    double size = 0;
    each_moment_point(model, group, [&](auto, const auto&, double weight, const Vector& point) {
        Vector r = point;
        for (std::size_t i = 0; i < 3; ++i) r[i] -= spread.centroid[i];
        size += weight * dot(r, r);
        for (std::size_t i = 0; i < 3; ++i) {
            inertia[i][i] += weight * dot(r, r);
            for (std::size_t j = 0; j < 3; ++j) inertia[i][j] -= weight * r[i] * r[j];
        }
    });
    if (model.mesh.dimensions == 2) {
        require(size > 0, "the moment on '", group.name, "' needs points at two places");
        spread.a = {0, 0, moment[2] / size};
        return spread;
    }
    require(solve(inertia, moment, size, spread.a), "the moment on '", group.name,
            "' needs points that are not on one line: forces on a line make no moment about it");
    return spread;
}

}  // namespace tessera::elasticity
