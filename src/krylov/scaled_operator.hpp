#pragma once

#include "base/scratch/scratch.hpp"
#include "krylov/range_scaling.hpp"
#include "tessera/operator.hpp"

namespace tessera {

/// 2^e A for an operator A, with e = 0 at first: then it is A to the last bit. For other e both x
/// and A x are multiplied, by about 2^(e/2) each, so that A x stays within the range of T.
template <class T>
class ScaledOperator final : public Operator<T> {
  public:
    explicit ScaledOperator(const Operator<T>& matrix) : matrix_(matrix) {}
    void set_exponent(int exponent) { exponent_ = exponent; }
    int exponent() const { return exponent_; }

    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.columns(); }
    bool can_be_captured() const override { return matrix_.can_be_captured(); }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        if (exponent_ == 0) return matrix_.apply(context, x, y);
        const Scratch<T> scaled(context, columns());
        copy(context, x, scaled.view());
        multiply_by_power(context, scaled.view(), exponent_ / 2);
        matrix_.apply(context, scaled.view(), y);
        multiply_by_power(context, y, exponent_ - exponent_ / 2);
    }
    void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                   T* xy) const override {
        if (exponent_ == 0) return matrix_.apply_dot(context, x, y, xy);
        Operator<T>::apply_dot(context, x, y, xy);
    }
    void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const override {
        if (exponent_ == 0) return matrix_.apply_vectors(context, x, y);
        Operator<T>::apply_vectors(context, x, y);
    }

  private:
    const Operator<T>& matrix_;
    int exponent_ = 0;
};

}  // namespace tessera
