#pragma once

#include "tessera/block_jacobi.hpp"

namespace tessera {

/// Scalar Jacobi: z_i = r_i / a_ii. A zero, missing or non-finite diagonal entry counts as a
/// singular block of one row.
template <class T>
class Jacobi final : public Preconditioner<T> {
  public:
    Jacobi(const Context& context, const CsrView<T>& matrix,
           SingularPolicy policy = SingularPolicy::stop);
    Index rows() const override { return Index(inverse_.size()); }
    Index columns() const override { return rows(); }
    void apply(const Context& context, std::span<const T> r, std::span<T> z) const override;
    void apply_vectors(const Context& context, Vectors<const T> r, Vectors<T> z) const override;
    void apply_dot(const Context& context, std::span<const T> r, std::span<T> z,
                   T* rz) const override;
    void update(const Context& context, const CsrView<T>& matrix) override;
    std::string describe() const override {
        return std::string("jacobi,singular=") + to_string(policy_);
    }
    Index singular_blocks() const override { return singular_; }

  private:
    PreconditionerReport make_report() const override;
    void invert(const Context& context, const CsrView<T>& matrix);

    Context context_;
    SingularPolicy policy_;
    Buffer<T> inverse_;
    Buffer<Index> info_;
    std::vector<Index> host_info_;
    Index singular_ = 0;
};

}  // namespace tessera
