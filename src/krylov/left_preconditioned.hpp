#pragma once

#include "tessera/operator.hpp"

namespace tessera {

/// The operator M^-1 A.
template <class T>
class LeftPreconditioned final : public Operator<T> {
  public:
    LeftPreconditioned(const Context& context, const Operator<T>& matrix,
                       const Operator<T>& preconditioner)
        : matrix_(matrix), preconditioner_(preconditioner), product_(context, matrix.rows()) {}
    Index rows() const override { return matrix_.rows(); }
    Index columns() const override { return matrix_.columns(); }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override {
        matrix_.apply(context, x, product_.view());
        preconditioner_.apply(context, product_.view(), y);
    }

  private:
    const Operator<T>& matrix_;
    const Operator<T>& preconditioner_;
    mutable Buffer<T> product_;
};

}  // namespace tessera
