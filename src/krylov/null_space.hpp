#pragma once

#include "tessera/amg.hpp"
#include "tessera/choice.hpp"

namespace tessera {

/// The vectors that may be in the null space of a matrix whose row sums vanish: translations and,
/// with coordinates, rotations.
NearNullSpace null_vector_candidates(const MatrixFacts& facts, const NodeCoordinates& points);

/// Vector c of the `vectors`, in the memory of `context`.
template <class T>
Buffer<T> column_of(const Context& context, const NearNullSpace& vectors, int c);

/// An orthonormal basis of vectors z with A z = 0: x of A x = b is known up to them. If A is
/// symmetric, there are solutions where b is orthogonal to them.
template <class T>
class NullSpace {
  public:
    NullSpace() = default;
    /// The space that vectors of a caller span. Throws InvalidArgument where A z is not 0: for an
    /// element more than 1e-6 (float: 1e-3) of the sum of its absolute terms.
    NullSpace(const Context& context, const CsrView<T>& matrix, const NearNullSpace& vectors);
    /// The constant, the translations and, with coordinates, the rotations with A z = 0 up to
    /// rounding, if the row sums of the matrix vanish; else none.
    static NullSpace found(const Context& context, const CsrView<T>& matrix,
                           const MatrixFacts& facts, const NodeCoordinates& coordinates);

    /// The space of D z, D the diagonal matrix of `factors`: that of A^T where D A is symmetric.
    NullSpace times(const Context& context, const std::vector<double>& factors) const;

    /// Adds the part of z orthogonal to the basis, unless that is rounding error.
    void add(const Context& context, std::span<const T> z);

    int vectors() const { return count_; }
    /// The vectors, one after the other.
    std::span<const T> basis() const { return basis_.view(); }
    std::span<const T> vector(int k) const {
        const std::size_t n = basis().size() / std::size_t(count_);
        return basis().subspan(std::size_t(k) * n, n);
    }
    /// v -= Z Z^T v. Waits; ||Z^T v||.
    double remove_from(const Context& context, std::span<T> v) const;

  private:
    int count_ = 0;
    Buffer<T> basis_;
};

}  // namespace tessera
