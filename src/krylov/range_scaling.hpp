#pragma once

#include <functional>
#include <span>

#include "tessera/vector_ops.hpp"

namespace tessera {

/// Keeps b^T b, and what the methods square, inside the range of T: where it would leave it, b and
/// x are multiplied by a power of two, which changes no digit.
template <class T>
class RangeScaling {
  public:
    explicit RangeScaling(const Context& context) : context_(context) {}

    /// Multiplies x, and makes b a multiplied copy that is held here, where that is needed. Returns
    /// ||b|| as it is then, in the way of `norm`.
    double scale(const std::function<double(std::span<const T>)>& norm, std::span<const T>& b,
                 std::span<T> x);

    /// What becomes of a length.
    double scaled(double length) const;

    void undo(std::span<T> x) const;

  private:
    const Context& context_;
    Buffer<T> scaled_b_;
    T factor_ = 1;  ///< b and x are held multiplied by factor_^rounds_.
    int rounds_ = 0;
};

}  // namespace tessera
