#pragma once

#include <memory>

#include "distributed/halo.hpp"
#include "tessera/formats.hpp"

namespace tessera {

/// The own block rows of a matrix over ranks, as an Operator on the own parts of vectors: x has the
/// own columns, y the own rows. A product begins the exchange of the ghosts' items of x, multiplies
/// with the own columns, and adds the products of the rows that have ghosts. On one rank it is the
/// sliced matrix alone.
template <class T>
class DistributedMatrix final : public Operator<T> {
  public:
    /// `rows` have the columns of the numbering of `halo`, which must outlive the matrix. Without a
    /// halo there are no ghosts. `values`: the type of stored values. Waits.
    DistributedMatrix(const Context& context, const BsrView<double>& rows, const Halo* halo,
                      ValueFormat values);

    /// New values on the same pattern. Without ghosts it neither waits nor allocates.
    void update(const Context& context, const BsrView<double>& rows);
    ValueFormat values() const { return own_->options().values; }

    Index rows() const override { return rows_; }
    Index columns() const override { return columns_; }
    void apply(const Context& context, std::span<const T> x, std::span<T> y) const override;
    /// y = A x + y
    void add_product(const Context& context, std::span<const T> x, std::span<T> y) const;
    void apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                   T* xy) const override;
    /// With ghosts the rounding may differ from that of apply and recurrence_step, as their terms
    /// are added last.
    void apply_step(const Context& context, const RecurrenceStep<T>& step, std::span<const T> x,
                    std::span<const T> y, std::span<const T> r, std::span<T> next,
                    std::span<T> work) const override;
    void apply_vectors(const Context& context, Vectors<const T> x, Vectors<T> y) const override;
    void apply_step_vectors(const Context& context, const RecurrenceStep<T>& step,
                            Vectors<const T> x, Vectors<const T> y, Vectors<const T> r,
                            Vectors<T> next, Vectors<T> work) const override;
    bool can_be_captured() const override;

  private:
    /// Calls multiply_own, and adds alpha times the product with the ghosts to y.
    template <class MultiplyOwn>
    void with_ghosts(const Context& context, T alpha, std::span<const T> x, std::span<T> y,
                     MultiplyOwn&& multiply_own) const;
    /// Lists the rows that have ghosts.
    void list_rows(const Context& context, const BsrView<double>& rows);
    BsrMatrix<double> ghost_part(const Context& context, const BsrView<double>& rows) const;
    void update_own(const Context& context, BsrView<double> rows);

    const Halo* halo_;
    Index rows_, columns_;
    int height_, width_;
    Offset own_blocks_ = 0;  ///< With a halo.
    std::unique_ptr<SlicedMatrix<T>> own_, ghosts_;
    Buffer<Index> rows_with_ghosts_;
};

}  // namespace tessera
