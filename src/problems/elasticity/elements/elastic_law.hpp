#pragma once

#include <string>

#include "tessera/elasticity.hpp"

namespace tessera::elasticity {

/// What enters strains of a function N in D dimensions: dN / dx, dN / dy and, in space, dN / dz, in
/// the plane N / r where it is axisymmetric, else 0.
using Slopes = double[3];

/// The component of strain to which slope k of the displacement along axis i adds; -1: none.
constexpr int strain_component(int dimensions, int i, int k) {
    constexpr int plane[2][3] = {{0, 3, 2}, {3, 1, -1}};
    constexpr int solid[3][3] = {{0, 3, 5}, {3, 1, 4}, {5, 4, 2}};
    return dimensions == 2 ? plane[i][k] : solid[i][k];
}

/// The elastic law of a material, as the elements of a model use it.
struct ElasticLaw {
    /// stress = matrix strain, by the components xx, yy, zz, xy, yz, xz; strains of shear are the
    /// engineering ones, twice the tensor's. In plane stress the rows and columns of zz, yz and xz
    /// are 0.
    double matrix[6][6]{};
    /// The stiffness between displacements along axes i and j of two functions: the sum over k and
    /// l of couplings[i][j][k][l] times the integral of slope k of one times slope l of the other.
    double couplings[3][3][3][3]{};
    double expansion[6]{};       ///< The thermal strain of a unit of temperature.
    double thermal_stress[6]{};  ///< matrix expansion.
    double temperature = 0;      ///< The change of temperature, where nodes have none.
    double poisson_ratio = 0;
    double density = 0;

    friend bool operator==(const ElasticLaw&, const ElasticLaw&) = default;
};

/// Without a temperature. Throws InvalidArgument for constants that are out of range; `owner` names
/// the material.
ElasticLaw elastic_law(const Model& model, const Material& material, const std::string& owner);

}  // namespace tessera::elasticity
