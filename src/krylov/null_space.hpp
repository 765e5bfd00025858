#pragma once

#include "tessera/amg.hpp"
#include "tessera/choice.hpp"

namespace tessera {

/// An orthonormal basis of vectors z with A z = 0, A symmetric: A x = b has solutions where b is
/// orthogonal to them, and x is known up to them.
template <class T>
class NullSpace {
  public:
    NullSpace() = default;
    /// The space that vectors of a caller span. Throws InvalidArgument where A z is not 0: for an
    /// element more than 1e-6 (float: 1e-3) of the sum of its absolute terms.
    NullSpace(const Context& context, const CsrView<T>& matrix, const NearNullSpace& vectors);
    /// The constant, the translations and, with coordinates, the rotations with A z = 0 up to
    /// rounding, if the row sums of the symmetric matrix vanish; else none.
    static NullSpace found(const Context& context, const CsrView<T>& matrix,
                           const MatrixFacts& facts, const NodeCoordinates& coordinates);

    int vectors() const { return count_; }
    /// v -= Z Z^T v. Waits; ||Z^T v||.
    double remove_from(const Context& context, std::span<T> v) const;

  private:
    /// Adds the part of z orthogonal to the basis, unless that is rounding error.
    void add(const Context& context, std::span<const T> z);

    int count_ = 0;
    Buffer<T> basis_;
};

}  // namespace tessera
