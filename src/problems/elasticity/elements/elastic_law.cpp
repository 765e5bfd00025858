#include "problems/elasticity/elements/elastic_law.hpp"

#include <algorithm>
#include <cmath>

#include "base/concat.hpp"

namespace tessera::elasticity {

namespace {

using Matrix = double[6][6];

/// The axes of the components xx, yy, zz, xy, yz and xz.
constexpr std::size_t tensor_rows[] = {0, 1, 2, 0, 1, 0}, tensor_columns[] = {0, 1, 2, 1, 2, 2};

bool is_plane_stress(const Model& model) {
    return model.mesh.dimensions == 2 && model.plane == PlaneKind::stress;
}

/// The matrix of Lame's constants: in plane stress without zz, yz and xz.
void find_isotropic(const Model& model, const Material& material, const std::string& owner,
                    Matrix& matrix) {
    const double young = material.young_modulus, poisson = material.poisson_ratio;
    const bool plane_stress = is_plane_stress(model);
    require(young > 0 && std::isfinite(young), owner, ": Young's modulus ", number_text(young),
            " is not a positive number");
    require(poisson > -1 && (plane_stress ? poisson <= 0.5 : poisson < 0.5), owner,
            ": Poisson's ratio ", number_text(poisson), " is not in (-1, 0.5",
            plane_stress ? "]" : ")");
    const double lambda =
        young * poisson /
        (plane_stress ? 1 - poisson * poisson : (1 + poisson) * (1 - 2 * poisson));
    const double mu = young / (2 * (1 + poisson));
    for (int i = 0; i < (plane_stress ? 2 : 3); ++i) {
        for (int j = 0; j < (plane_stress ? 2 : 3); ++j) matrix[i][j] = lambda + (i == j) * 2 * mu;
    }
    for (int i = 3; i < (plane_stress ? 4 : 6); ++i) matrix[i][i] = mu;
}

/// The matrix along the directions of a material, 12, 23 and 13 its shears. Returns the Poisson's
/// ratio of an isotropic material of equal compressibility: (1 - s / t) / 2 with the sum s and the
/// trace t of the compliances of normal stresses.
double find_along_directions(const Orthotropic& material, const std::string& owner,
                             Matrix& matrix) {
    const auto& [e1, e2, e3] = material.young_moduli;
    const auto& [nu12, nu23, nu13] = material.poisson_ratios;
    for (const Vector* moduli : {&material.young_moduli, &material.shear_moduli}) {
        for (const double modulus : *moduli) {
            require(
                modulus > 0 && std::isfinite(modulus), owner,
                moduli == &material.young_moduli ? ": Young's modulus " : ": the shear modulus ",
                number_text(modulus), " of an orthotropic material is not a positive number");
        }
    }
    // Compliances in units of 1 / sqrt(E_i E_j): 1 on the diagonal, and these.
    const double a = -nu12 * std::sqrt(e2 / e1), b = -nu23 * std::sqrt(e3 / e2);
    const double c = -nu13 * std::sqrt(e3 / e1);
    const double determinant = 1 - a * a - b * b - c * c + 2 * a * b * c;
    require(
        a * a < 1 && b * b < 1 && c * c < 1 && determinant > 1e-12, owner, ": Poisson's ratios of ",
        number_text(nu12), ", ", number_text(nu23), " and ", number_text(nu13),
        " leave a strain without energy: nu12^2 E2 / E1, nu23^2 E3 / E2 and nu13^2 E3 / E1 must "
        "be below 1, and their sum plus 2 nu12 nu23 nu13 E3 / E1 too; it is ",
        number_text(1 - determinant));
    const double inverse[3][3] = {{1 - b * b, b * c - a, a * b - c},
                                  {b * c - a, 1 - c * c, a * c - b},
                                  {a * b - c, a * c - b, 1 - a * a}};
    for (std::size_t i = 0; i < 3; ++i) {
        for (std::size_t j = 0; j < 3; ++j) {
            matrix[i][j] = inverse[i][j] / determinant * std::sqrt(material.young_moduli[i]) *
                           std::sqrt(material.young_moduli[j]);
        }
        matrix[3 + i][3 + i] = material.shear_moduli[i];
    }
    return (nu12 / e1 + nu23 / e2 + nu13 / e1) / (1 / e1 + 1 / e2 + 1 / e3);
}

/// Unit vectors along the directions of a material.
std::array<Vector, 3> unit_directions(const Orthotropic& material, const std::string& owner) {
    const auto length = [](const Vector& v) { return std::hypot(v[0], v[1], v[2]); };
    Vector first = material.direction, second = material.second_direction;
    const double size = length(first), second_size = length(second);
    require(size > 0 && std::isfinite(size) && second_size > 0 && std::isfinite(second_size), owner,
            ": a direction of an orthotropic material has no length");
    for (double& component : first) component /= size;
    for (double& component : second) component /= second_size;
    const double along = first[0] * second[0] + first[1] * second[1] + first[2] * second[2];
    for (std::size_t i = 0; i < 3; ++i) second[i] -= along * first[i];
    const double rest = length(second);
    require(rest > 1e-6, owner, ": the directions 1 and 2 of an orthotropic material are parallel");
    for (double& component : second) component /= rest;
    return {first, second,
            Vector{first[1] * second[2] - first[2] * second[1],
                   first[2] * second[0] - first[0] * second[2],
                   first[0] * second[1] - first[1] * second[0]}};
}

/// T^T matrix T, where T turns strains along x, y and z into those along the directions.
void rotate(const std::array<Vector, 3>& directions, Matrix& matrix) {
    Matrix turn{}, product{};
    for (int p = 0; p < 6; ++p) {
        const Vector &a = directions[tensor_rows[p]], &b = directions[tensor_columns[p]];
        for (int q = 0; q < 6; ++q) {
            const std::size_t i = tensor_rows[q], j = tensor_columns[q];
            turn[p][q] = (a[i] * b[j] + a[j] * b[i]) * (p < 3 ? 0.5 : 1);
        }
    }
    for (int p = 0; p < 6; ++p) {
        for (int q = 0; q < 6; ++q) {
            for (int k = 0; k < 6; ++k) product[p][q] += matrix[p][k] * turn[k][q];
        }
    }
    for (int p = 0; p < 6; ++p) {
        for (int q = p; q < 6; ++q) {
            double sum = 0;
            for (int k = 0; k < 6; ++k) sum += turn[k][p] * product[k][q];
            matrix[p][q] = matrix[q][p] = sum;
        }
    }
}

/// Returns the Poisson's ratio of an isotropic material of equal compressibility.
double find_orthotropic(const Model& model, const Orthotropic& material, const std::string& owner,
                        Matrix& matrix) {
    const double poisson = find_along_directions(material, owner, matrix);
    rotate(unit_directions(material, owner), matrix);
    if (model.mesh.dimensions == 3) return poisson;
    // In the plane of the mesh nothing may strain out of it by shear.
    double largest = 0, coupling = 0;
    for (int i = 0; i < 4; ++i) {
        largest = std::max(largest, matrix[i][i]);
        for (int j = 4; j < 6; ++j) coupling = std::max(coupling, std::abs(matrix[i][j]));
    }
    require(coupling <= 1e-9 * largest, owner,
            ": in a plane mesh one direction of an orthotropic material must be along z");
    for (int i = 0; i < 6; ++i) {
        for (int j = 4; j < 6; ++j) {
            if (i != j) matrix[i][j] = matrix[j][i] = 0;
        }
    }
    if (!is_plane_stress(model)) return poisson;
    for (int i = 0; i < 6; ++i) {  // Static condensation of zz.
        for (int j = i; j < 6 && i != 2; ++j) {
            if (j == 2) continue;
            matrix[i][j] -= matrix[i][2] * matrix[2][j] / matrix[2][2];
            matrix[j][i] = matrix[i][j];
        }
    }
    for (const int k : {2, 4, 5}) {
        for (int i = 0; i < 6; ++i) matrix[i][k] = matrix[k][i] = 0;
    }
    return poisson;
}

/// The sum over the directions of expansion times their dyads.
void find_expansion(const Model& model, const Material& material, const std::string& owner,
                    ElasticLaw& law) {
    for (const double expansion : material.expansion) {
        require(std::isfinite(expansion), owner, ": the thermal expansion ", number_text(expansion),
                " is not a number");
    }
    std::array<Vector, 3> directions{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    if (material.orthotropic) directions = unit_directions(*material.orthotropic, owner);
    for (std::size_t p = 0; p < 6; ++p) {
        const std::size_t i = tensor_rows[p], j = tensor_columns[p];
        for (std::size_t k = 0; k < 3; ++k) {
            law.expansion[p] +=
                material.expansion[k] * directions[k][i] * directions[k][j] * (p < 3 ? 1 : 2);
        }
    }
    // In the plane of the mesh nothing strains out of it by shear.
    if (model.mesh.dimensions == 2) law.expansion[4] = law.expansion[5] = 0;
    for (int p = 0; p < 6; ++p) {
        for (int q = 0; q < 6; ++q) {
            law.thermal_stress[p] += law.matrix[p][q] * law.expansion[q];
        }
    }
}

}  // namespace

ElasticLaw elastic_law(const Model& model, const Material& material, const std::string& owner) {
    require(material.density >= 0 && std::isfinite(material.density), owner, ": the density ",
            number_text(material.density), " is negative or not finite");
    ElasticLaw law;
    law.density = material.density;
    if (material.orthotropic) {
        law.poisson_ratio = find_orthotropic(model, *material.orthotropic, owner, law.matrix);
    } else {
        law.poisson_ratio = material.poisson_ratio;
        find_isotropic(model, material, owner, law.matrix);
    }
    find_expansion(model, material, owner, law);
    const int d = model.mesh.dimensions;
    for (int i = 0; i < d; ++i) {
        for (int j = 0; j < d; ++j) {
            for (int k = 0; k < 3; ++k) {
                for (int l = 0; l < 3; ++l) {
                    const int row = strain_component(d, i, k), column = strain_component(d, j, l);
                    if (row < 0 || column < 0) continue;
                    law.couplings[i][j][k][l] = law.matrix[row][column];
                }
            }
        }
    }
    return law;
}

}  // namespace tessera::elasticity
