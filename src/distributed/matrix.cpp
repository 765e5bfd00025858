#include "distributed/matrix.hpp"

#include <numeric>

#include "base/checks.hpp"
#include "base/zeros.hpp"
#include "distributed/distributed_rows.hpp"

namespace tessera {

using namespace distributed;

namespace {

/// The largest square block that products take and that divides the blocks of a matrix.
Index product_block(const BsrView<double>& matrix) {
    const int common = std::gcd(matrix.height, matrix.width);
    for (const int block : {6, 4, 3, 2}) {
        if (common % block == 0) return block;
    }
    return 1;
}

template <class T>
std::unique_ptr<SlicedMatrix<T>> sliced(const Context& context, const BsrView<double>& matrix,
                                        ValueFormat values) {
    FormatOptions options;
    options.block = product_block(matrix);
    if (options.block == 1) options.format = MatrixFormat::sell;
    options.values = values;
    return std::make_unique<SlicedMatrix<T>>(SlicedMatrix<T>::from_bsr(context, matrix, options));
}

}  // namespace

template <class T>
DistributedMatrix<T>::DistributedMatrix(const Context& context, const BsrView<double>& rows,
                                        const Halo* halo, ValueFormat values)
    : halo_(halo != nullptr && halo->communicator().size() > 1 ? halo : nullptr),
      rows_(rows.block_rows * rows.height),
      columns_((halo == nullptr ? rows.block_columns : halo->own()) * rows.width),
      height_(rows.height),
      width_(rows.width) {
    if (halo_ == nullptr) {
        own_ = sliced<T>(context, rows, values);
        return;
    }
    require(rows.block_columns == halo->nodes(),
            "a distributed matrix has the columns of its numbering");
    BsrView<double> pattern = rows;
    pattern.values = nullptr;
    {
        const BsrMatrix<double> own = column_range(context, pattern, 0, halo->own());
        own_blocks_ = own.blocks();
        own_ = sliced<T>(context, own.view(), values);
    }
    update_own(context, rows);
    list_rows(context, rows);
    if (rows_with_ghosts_.size() == 0) return;
    ghosts_ = sliced<T>(context, ghost_part(context, rows).view(), values);
}

/// Own columns come first in each row: further blocks are not read.
template <class T>
void DistributedMatrix<T>::update_own(const Context& context, BsrView<double> rows) {
    rows.block_columns = halo_->own();
    rows.blocks = own_blocks_;
    own_->update(context, rows);
}

template <class T>
BsrMatrix<double> DistributedMatrix<T>::ghost_part(const Context& context,
                                                   const BsrView<double>& rows) const {
    return column_range(context, rows, halo_->own(), halo_->ghosts(), &rows_with_ghosts_);
}

template <class T>
void DistributedMatrix<T>::list_rows(const Context& context, const BsrView<double>& rows) {
    const Index count = rows.block_rows, own = halo_->own(), ghosts = halo_->ghosts();
    Buffer<Index> counts(context, count);
    for_each_index(context, count, CountInRange{rows, own, own + ghosts, counts.data()});
    Buffer<Offset> positions(context, Offset(count) + 1);
    exclusive_scan(context, count, HasBlocks{counts.data()}, positions.data());
    rows_with_ghosts_ =
        Buffer<Index>(context, Index(read_value(context, positions.data() + count)));
    for_each_index(context, count,
                   ListRows{counts.data(), positions.data(), rows_with_ghosts_.data()});
}

template <class T>
void DistributedMatrix<T>::update(const Context& context, const BsrView<double>& rows) {
    if (halo_ == nullptr) return own_->update(context, rows);
    update_own(context, rows);
    if (ghosts_) ghosts_->update(context, ghost_part(context, rows).view());
}

template <class T>
template <class MultiplyOwn>
void DistributedMatrix<T>::with_ghosts(const Context& context, T alpha, std::span<const T> x,
                                       std::span<T> y, MultiplyOwn&& multiply_own) const {
    check_vector("a distributed matrix", "x", x, columns_);
    check_vector("a distributed matrix", "y", y, rows_);
    const Scratch<T> items(context, Offset(halo_->ghosts()) * width_);
    typename Halo::Exchange<T> exchange(*halo_, context, width_, x.data(), items.data());
    multiply_own();
    exchange.finish();
    if (!ghosts_) return;
    const Scratch<T> products(context, ghosts_->rows());
    ghosts_->apply(context, std::span<const T>(items.view()), products.view());
    for_each_index(
        context, ghosts_->rows(),
        AddListed<T>{height_, rows_with_ghosts_.data(), alpha, products.data(), y.data()});
}

template <class T>
void DistributedMatrix<T>::apply(const Context& context, std::span<const T> x,
                                 std::span<T> y) const {
    if (halo_ == nullptr) return own_->apply(context, x, y);
    with_ghosts(context, T(1), x, y, [&] { own_->apply(context, x, y); });
}

template <class T>
void DistributedMatrix<T>::add_product(const Context& context, std::span<const T> x,
                                       std::span<T> y) const {
    const auto multiply_own = [&] { multiply<T>(context, *own_, T(1), x, T(1), y); };
    if (halo_ == nullptr) return multiply_own();
    with_ghosts(context, T(1), x, y, multiply_own);
}

template <class T>
void DistributedMatrix<T>::apply_dot(const Context& context, std::span<const T> x, std::span<T> y,
                                     T* xy) const {
    if (halo_ == nullptr) return own_->apply_dot(context, x, y, xy);
    Operator<T>::apply_dot(context, x, y, xy);
}

template <class T>
void DistributedMatrix<T>::apply_step(const Context& context, const RecurrenceStep<T>& step,
                                      std::span<const T> x, std::span<const T> y,
                                      std::span<const T> r, std::span<T> next,
                                      std::span<T> work) const {
    const auto multiply_own = [&] { own_->apply_step(context, step, x, y, r, next, work); };
    if (halo_ == nullptr) return multiply_own();
    with_ghosts(context, step.alpha, x, next, multiply_own);
}

template <class T>
void DistributedMatrix<T>::apply_vectors(const Context& context, Vectors<const T> x,
                                         Vectors<T> y) const {
    if (halo_ == nullptr) return own_->apply_vectors(context, x, y);
    Operator<T>::apply_vectors(context, x, y);
}

template <class T>
void DistributedMatrix<T>::apply_step_vectors(const Context& context, const RecurrenceStep<T>& step,
                                              Vectors<const T> x, Vectors<const T> y,
                                              Vectors<const T> r, Vectors<T> next,
                                              Vectors<T> work) const {
    if (halo_ == nullptr) {
        return own_->apply_step_vectors(context, step, x, y, r, next, work);
    }
    detail::check_same_count<T>({x, y, r, next, work});
    for (int j = 0; j < x.count; ++j) {
        apply_step(context, step, x[j], y[j], r[j], next[j], work[j]);
    }
}

template <class T>
bool DistributedMatrix<T>::can_be_captured() const {
    return halo_ == nullptr || halo_->communicator().can_be_captured();
}

template class DistributedMatrix<float>;
template class DistributedMatrix<double>;

}  // namespace tessera
