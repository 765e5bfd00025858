#pragma once

#include "problems/elasticity/elements/element_stiffness.hpp"

namespace tessera::elasticity {

/// The forces that some elements exert on their nodes: of their stresses, less their body and
/// thermal forces.
class ElementForces {
  public:
    ElementForces(const Context& cpu, const Elements& elements, const Model& model,
                  const Thickness& thickness, std::vector<Index> list,
                  std::span<const double> displacements)
        : elements_(elements), d_(std::size_t(model.mesh.dimensions)), list_(std::move(list)) {
        const Stiffness stiffness(model);
        for (const Index element : list_) {
            starts_.push_back(starts_.back() + elements.nodes(element).size() * d_);
        }
        forces_.resize(starts_.back());
        const auto find = [&](Offset first, Offset last) {
            std::vector<double> one(max_element_unknowns * (max_element_unknowns + 1));
            for (Offset k = first; k < last; ++k) {
                const Index element = list_[std::size_t(k)];
                const std::span<const Index> nodes = elements.nodes(element);
                const std::size_t n = nodes.size() * d_;
                find_element_system(elements, model, stiffness, thickness, element, true,
                                    one.data());
                for (std::size_t i = 0; i < n; ++i) {
                    double sum = -one[n * n + i];
                    for (std::size_t j = 0; j < n; ++j) {
                        sum += one[i * n + j] *
                               displacements[std::size_t(nodes[j / d_]) * d_ + j % d_];
                    }
                    forces_[starts_[std::size_t(k)] + i] = sum;
                }
            }
        };
        parallel_ranges(cpu.threads(), Offset(list_.size()), find, 256);
    }

    /// visit(displacement, force) for the displacements of each element.
    template <class Visit>
    void each(Visit&& visit) const {
        for (std::size_t k = 0; k < list_.size(); ++k) {
            const std::span<const Index> nodes = elements_.nodes(list_[k]);
            for (std::size_t i = 0; i < nodes.size() * d_; ++i) {
                visit(std::size_t(nodes[i / d_]) * d_ + i % d_, forces_[starts_[k] + i]);
            }
        }
    }

  private:
    const Elements& elements_;
    std::size_t d_;
    std::vector<Index> list_;
    std::vector<std::size_t> starts_{0};  ///< First force of each.
    std::vector<double> forces_;
};

/// Adds a force at x.
inline void add_force(Resultant& sum, const Vector& x, const Vector& force) {
    for (std::size_t i = 0; i < 3; ++i) {
        const std::size_t j = (i + 1) % 3, k = (i + 2) % 3;
        sum.force[i] += force[i];
        sum.moment[i] += x[j] * force[k] - x[k] * force[j];
    }
}

}  // namespace tessera::elasticity
