#pragma once

#include <memory>
#include <optional>

#include "base/dispatch.hpp"
#include "tessera/formats.hpp"
#include "tessera/precond.hpp"

namespace tessera {

/// The products with a matrix in a format.
template <class T>
class Products {
  public:
    Products(const Context& context, const CsrView<T>& matrix, const FormatOptions& format) {
        if (format.format == MatrixFormat::csr) {
            csr_.emplace(context, matrix);
        } else {
            sliced_.emplace(SlicedMatrix<T>::from_csr(context, matrix, format));
        }
    }
    void update(const Context& context, const CsrView<T>& matrix) {
        if (csr_) {
            csr_->update(matrix);
        } else {
            sliced_->update(context, matrix);
        }
    }
    const Operator<T>& operator*() const {
        if (csr_) return *csr_;
        return *sliced_;
    }
    /// Rows of the blocks of a format other than csr.
    Index block() const { return sliced_ ? sliced_->options().block : 0; }

  private:
    std::optional<CsrOperator<T>> csr_;
    std::optional<SlicedMatrix<T>> sliced_;
};

/// A matrix of value type T in a format, and its preconditioner.
template <class T>
class PreparedMatrix {
  public:
    PreparedMatrix(const Context& context, const CsrView<T>& matrix, const FormatOptions& format,
                   const PreconditionerConfig& config)
        : preconditioner_(config.make(context, matrix)), products_(context, matrix, format) {
        take_setup_report(context, matrix);
    }
    void update(const Context& context, const CsrView<T>& matrix) {
        products_.update(context, matrix);
        if (preconditioner_) preconditioner_->update(context, matrix);
        take_setup_report(context, matrix);
    }
    const Operator<T>& matrix() const { return *products_; }
    Index block() const { return products_.block(); }
    const Preconditioner<T>* preconditioner() const { return preconditioner_.get(); }
    const PreconditionerReport& report() const { return report_; }
    void take_report() {
        if (!preconditioner_) return;
        report_ = preconditioner_->report();
        require(!report_.overflow,
                "the inverse of a block has a value outside the range of the precision in which it "
                "is stored; use precision=adaptive, or scale the system");
    }

  private:
    void take_setup_report(const Context& context, const CsrView<T>& matrix) {
        take_report();
        if (report_.unusable.empty() || report_.first_non_finite_row >= 0) return;
        report_.first_non_finite_row = first_non_finite_row(context, matrix);
    }

    /// Made before the products: at the peak of its setup there is no copy of the matrix for them.
    std::unique_ptr<Preconditioner<T>> preconditioner_;
    Products<T> products_;
    PreconditionerReport report_;
};

}  // namespace tessera
