#include <cmath>

#include "base/checks.hpp"
#include "tessera/elasticity.hpp"

namespace tessera::elasticity {

Field rotation(double angle, const Vector& point, const Vector& direction) {
    const double length = std::hypot(direction[0], direction[1], direction[2]);
    require(length > 0 && std::isfinite(length), "the direction of a rotation has no length");
    require(std::isfinite(angle + point[0] + point[1] + point[2]),
            "the angle or the point of a rotation is not a number");
    Vector turn = direction;
    for (double& component : turn) component *= angle / length;
    return [turn, point](const Vector& x) {
        Vector displacement{};
        for (std::size_t i = 0; i < 3; ++i) {
            const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
            displacement[i] = turn[j] * (x[k] - point[k]) - turn[k] * (x[j] - point[j]);
        }
        return displacement;
    };
}

}  // namespace tessera::elasticity
