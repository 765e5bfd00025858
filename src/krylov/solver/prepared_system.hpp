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
    Products(const Context& context, const CsrView<T>& matrix, const FormatOptions& format)
        : format_(format) {
        if (format.format == MatrixFormat::csr) {
            csr_.emplace(context, matrix);
        } else {
            sliced_.emplace(SlicedMatrix<T>::from_csr(context, matrix, format));
            format_.block = sliced_->options().block;
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
    /// With the size of the blocks that was found.
    const FormatOptions& format() const { return format_; }

  private:
    FormatOptions format_;
    std::optional<CsrOperator<T>> csr_;
    std::optional<SlicedMatrix<T>> sliced_;
};

/// The operators of a system: made from a CSR matrix and options, or those of the caller.
template <class T>
class PreparedSystem {
  public:
    /// `source`: the matrix that the preconditioner is made for.
    PreparedSystem(const Context& context, const CsrView<T>& matrix, const CsrView<T>& source,
                   const FormatOptions& format, const PreconditionerConfig& config,
                   const PreconditionerInputs& inputs)
        : made_(config.make(context, source, inputs)), preconditioner_(made_.get()) {
        products_.emplace(context, matrix, format);
        take_setup_report(context, matrix);
    }
    PreparedSystem(const Context& context, const CsrView<T>& matrix, const FormatOptions& format,
                   const Operator<T>& preconditioner)
        : preconditioner_(&preconditioner) {
        products_.emplace(context, matrix, format);
    }
    PreparedSystem(const Operator<T>& matrix, const Operator<T>* preconditioner)
        : preconditioner_(preconditioner), operator_(&matrix) {}

    void update(const Context& context, const CsrView<T>& matrix, const CsrView<T>& source) {
        products_->update(context, matrix);
        if (made_) made_->update(context, source);
        take_setup_report(context, matrix);
    }
    const Operator<T>& matrix() const { return products_ ? **products_ : *operator_; }
    std::string format() const { return products_ ? to_string(products_->format()) : "operator"; }
    /// nullptr: none.
    const Operator<T>* preconditioner() const { return preconditioner_; }
    std::string preconditioner_text() const {
        return made_ ? made_->describe() : preconditioner_ != nullptr ? "operator" : "none";
    }
    const PreconditionerReport& report() const { return report_; }
    void take_report() {
        if (!made_) return;
        report_ = made_->report();
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
    std::unique_ptr<Preconditioner<T>> made_;
    const Operator<T>* preconditioner_ = nullptr;
    const Operator<T>* operator_ = nullptr;
    std::optional<Products<T>> products_;
    PreconditionerReport report_;
};

}  // namespace tessera
