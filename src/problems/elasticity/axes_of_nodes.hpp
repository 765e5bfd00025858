#pragma once

#include "problems/elasticity/elements/elements.hpp"

/// Nodes whose unknowns are along axes of their own.
namespace tessera::elasticity {

using Axes = std::array<Vector, 3>;

/// The axes of the nodes of a system, to which it refers.
class AxesOfNodes {
  public:
    AxesOfNodes(const System& system, Index node_count) : system_(system) {
        if (system.node_axes.empty()) return;
        places_.assign(std::size_t(node_count), -1);
        for (std::size_t k = 0; k < system.node_axes.size(); ++k) {
            places_[std::size_t(system.node_axes[k].node)] = Index(k);
        }
    }
    bool empty() const { return places_.empty(); }
    /// nullptr: x, y and z.
    const Axes* find(Index node) const {
        if (places_.empty() || places_[std::size_t(node)] < 0) return nullptr;
        return &system_.node_axes[std::size_t(places_[std::size_t(node)])].axes;
    }

  private:
    const System& system_;
    std::vector<Index> places_;  ///< In System::node_axes; -1: none.
};

/// The components along axes of a vector of d components along x, y and z, in place.
inline void to_axes(const Axes& axes, std::size_t d, double* vector) {
    const Vector old{vector[0], vector[1], d == 3 ? vector[2] : 0};
    for (std::size_t i = 0; i < d; ++i) {
        vector[i] = axes[i][0] * old[0] + axes[i][1] * old[1] + axes[i][2] * old[2];
    }
}

inline void from_axes(const Axes& axes, std::size_t d, double* vector) {
    const Vector old{vector[0], vector[1], d == 3 ? vector[2] : 0};
    for (std::size_t i = 0; i < d; ++i) {
        vector[i] = 0;
        for (std::size_t j = 0; j < d; ++j) vector[i] += axes[j][i] * old[j];
    }
}

/// Turns the stiffness and the forces of an element, as find_element_system returns them, to the
/// axes of its nodes; the stiffness stays bitwise symmetric.
inline void turn_element(const AxesOfNodes& axes_of_nodes, std::span<const Index> nodes,
                         std::size_t d, double* result) {
    const std::size_t n = nodes.size() * d;
    bool is_turned = false;
    for (std::size_t a = 0; a < nodes.size(); ++a) {
        const Axes* const axes = axes_of_nodes.find(nodes[a]);
        if (axes == nullptr) continue;
        is_turned = true;
        for (std::size_t j = 0; j < n; ++j) {
            double column[3]{};
            for (std::size_t i = 0; i < d; ++i) column[i] = result[(a * d + i) * n + j];
            to_axes(*axes, d, column);
            for (std::size_t i = 0; i < d; ++i) result[(a * d + i) * n + j] = column[i];
        }
        for (std::size_t j = 0; j < n; ++j) to_axes(*axes, d, result + j * n + a * d);
        to_axes(*axes, d, result + n * n + a * d);
    }
    for (std::size_t i = 0; i < n && is_turned; ++i) {
        for (std::size_t j = 0; j < i; ++j) result[i * n + j] = result[j * n + i];
    }
}

}  // namespace tessera::elasticity
