#pragma once

#include <algorithm>
#include <vector>

#include "problems/elasticity/elements/elements.hpp"

/// Stiffnesses of elements with dependent displacements.
namespace tessera::elasticity {

/// The nodes on whose unknowns elements act: their own, then those from which their dependent
/// displacements follow. Refers to the elements and the system.
class ActiveNodes {
  public:
    ActiveNodes(const Elements& elements, const System& system)
        : elements_(elements), system_(system), d_(elements.mesh().dimensions) {
        if (system.dependents.empty()) return;
        lists_of_elements_.assign(std::size_t(elements.count()), -1);
        for (Index element = 0; element < elements.count(); ++element) {
            std::vector<Index> nodes = active_nodes(elements.nodes(element));
            if (nodes.size() == elements.nodes(element).size() &&
                !has_dependents(elements.nodes(element))) {
                continue;
            }
            lists_of_elements_[std::size_t(element)] = Index(lists_.size());
            lists_.push_back(std::move(nodes));
        }
    }

    bool empty() const { return lists_.empty(); }
    std::span<const Index> operator()(Index element) const {
        const Index list = empty() ? -1 : lists_of_elements_[std::size_t(element)];
        if (list < 0) return elements_.nodes(element);
        return lists_[std::size_t(list)];
    }
    bool is_reduced(Index element) const {
        return !empty() && lists_of_elements_[std::size_t(element)] >= 0;
    }

    /// Some nodes, then those from which their dependent displacements follow.
    std::vector<Index> active_nodes(std::span<const Index> nodes) const {
        std::vector<Index> active(nodes.begin(), nodes.end());
        for (const Index node : nodes) {
            for (int i = 0; i < d_; ++i) {
                const System::Dependent* const dependent = find(Offset(node) * d_ + i);
                if (dependent == nullptr) continue;
                for (const auto& [k, factor] : dependent->terms) {
                    const auto other = Index(k / d_);
                    if (std::ranges::find(active, other) == active.end()) active.push_back(other);
                }
            }
        }
        return active;
    }

    /// T^T K T and T^T (f - K c) in the place of K and f: n x n numbers of `nodes`, then n, become
    /// those of `active`, with zeros for dependent displacements. The stiffness is symmetric to the
    /// last bit.
    void reduce(std::span<const Index> nodes, std::span<const Index> active, double* result) const {
        const std::size_t n = nodes.size() * std::size_t(d_);
        const std::size_t m = active.size() * std::size_t(d_);
        const std::vector<double> old(result, result + n * n + n);
        std::fill(result, result + m * m + m, 0.);
        std::vector<std::vector<std::pair<std::size_t, double>>> targets(n);
        std::vector<double> constants(n, 0);
        for (std::size_t k = 0; k < n; ++k) {
            const Offset own = Offset(nodes[k / std::size_t(d_)]) * d_ + Offset(k) % d_;
            const System::Dependent* const dependent = find(own);
            if (dependent == nullptr) {
                targets[k] = {{k, 1}};
                continue;
            }
            constants[k] = system_.prescribed[std::size_t(own)];
            for (const auto& [other, factor] : dependent->terms) {
                const auto at = std::ranges::find(active, Index(other / d_)) - active.begin();
                targets[k].emplace_back(std::size_t(Offset(at) * d_ + other % d_), factor);
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            double force = old[n * n + i];
            for (std::size_t j = 0; j < n; ++j) force -= old[i * n + j] * constants[j];
            for (const auto& [row, share] : targets[i]) {
                result[m * m + row] += share * force;
                for (std::size_t j = 0; j < n; ++j) {
                    for (const auto& [column, factor] : targets[j]) {
                        result[row * m + column] += share * factor * old[i * n + j];
                    }
                }
            }
        }
        for (std::size_t i = 0; i < m; ++i) {
            for (std::size_t j = 0; j < i; ++j) result[i * m + j] = result[j * m + i];
        }
    }

  private:
    const System::Dependent* find(Offset displacement) const {
        if (system_.unknowns[std::size_t(displacement)] != -2) return nullptr;
        return &*std::ranges::lower_bound(system_.dependents, displacement, {},
                                          &System::Dependent::displacement);
    }
    bool has_dependents(std::span<const Index> nodes) const {
        return std::ranges::any_of(nodes, [&](Index node) {
            for (int i = 0; i < d_; ++i) {
                if (find(Offset(node) * d_ + i) != nullptr) return true;
            }
            return false;
        });
    }

    const Elements& elements_;
    const System& system_;
    int d_;
    std::vector<Index> lists_of_elements_;  ///< -1: the element's own nodes.
    std::vector<std::vector<Index>> lists_;
};

}  // namespace tessera::elasticity
