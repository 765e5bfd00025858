#pragma once

#include "problems/elasticity/assembly/neighbours.hpp"
#include "problems/elasticity/axes_of_nodes.hpp"
#include "problems/elasticity/elements/element_stiffness.hpp"

/// Sums of the stiffnesses and forces of elements.
namespace tessera::elasticity {

/// The elements of a system and what they depend on.
struct ElementData {
    const Elements& elements;
    const Model& model;
    const Stiffness& stiffness;
    const Thickness& thickness;
    const ActiveNodes& active;
};

/// A flag for each element whose stiffness is changed by dependent displacements or by axes of its
/// nodes; empty: none is.
std::vector<unsigned char> find_changed_elements(const ElementData& data, const System& system);

/// The elements whose stiffnesses are added to a matrix.
enum class Stiffnesses : unsigned char { none, changed, all };

/// Adds the forces of all elements to the load of a system, and stiffnesses to its matrix: in
/// batches, first each element by one thread; then the sums, each row by one thread in the order of
/// the elements, so that the result does not depend on the number of threads.
class ElementSums {
  public:
    /// `changed` is the result of find_changed_elements; only Stiffnesses::none has no neighbours.
    ElementSums(const Context& cpu, const ElementData& data, std::span<const unsigned char> changed,
                Stiffnesses stiffnesses, const Neighbours* neighbours, System& system);
    void add();

  private:
    /// What is needed of an element.
    enum class Part : unsigned char { nothing, forces, stiffness_and_forces };
    /// An element of which something is needed.
    struct Item {
        Index element;
        bool with_stiffness;
    };

    std::size_t d() const { return std::size_t(data_.model.mesh.dimensions); }
    bool is_changed(Index element) const {
        return !changed_.empty() && changed_[std::size_t(element)] != 0;
    }
    /// Whether the stiffness of an element is added to the matrix.
    bool is_in_matrix(Index element) const {
        return stiffnesses_ == Stiffnesses::all ||
               (stiffnesses_ == Stiffnesses::changed && is_changed(element));
    }
    Part needed_part(Index element) const;
    bool has_prescribed(Index element) const;
    void add_batch(std::span<const Item> batch);
    void compute(Item item, double* result) const;
    void add_rows(Item item, const double* result, Offset part, Offset parts);
    template <int D>
    void add_rows_of_node(Item item, std::size_t a, const double* result);
    template <int D>
    void add_prescribed(std::span<const Index> nodes, std::size_t a, const double* result);

    const Context& cpu_;
    const ElementData data_;
    const std::span<const unsigned char> changed_;
    const Stiffnesses stiffnesses_;
    const Neighbours* const neighbours_;
    System& system_;
    AxesOfNodes axes_of_nodes_;
    std::vector<double> results_;  ///< Systems of the elements of a batch.
};

}  // namespace tessera::elasticity
