#pragma once

#include "precond/jacobi/jacobi.hpp"

namespace tessera {

/// The preconditioner of CONTRIBUTING.md: z = D^-1 r / order.
template <class T>
class Toy final : public Preconditioner<T> {
  public:
    Toy(const Context& context, const CsrView<T>& matrix, int order);
    Index rows() const override { return jacobi_.rows(); }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override { return "toy:" + std::to_string(order_); }

  private:
    PreconditionerReport make_report() const override;

    int order_;
    Jacobi<T> jacobi_;
};

}  // namespace tessera
