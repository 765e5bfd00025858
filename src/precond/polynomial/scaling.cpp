#include "precond/polynomial/scaling.hpp"

#include <algorithm>
#include <string>

#include "base/phases.hpp"
#include "tessera/detail/blocks.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      bool keeps_matrix)
    : rows_(matrix.rows),
      nonzeros_(matrix.nonzeros),
      diagonal_(context, matrix.rows),
      row_faults_(context, matrix.rows),
      any_fault_(context, 1) {
    require(matrix.rows == matrix.columns, "SymmetricScaling: the matrix must be square");
    if (keeps_matrix) copy_pattern(context, matrix);
    update(context, matrix);
}

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      const BlockPartition& blocks)
    : rows_(matrix.rows),
      nonzeros_(matrix.nonzeros),
      row_faults_(context, matrix.rows),
      any_fault_(context, 1) {
    require(matrix.rows == matrix.columns, "SymmetricScaling: the matrix must be square");
    require(blocks.rows == matrix.rows, "SymmetricScaling: the blocks are of another matrix");
    copy_pattern(context, matrix);
    if (matrix.rows == 0) return;
    make_blocks(context, blocks);
    update(context, matrix);
}

template <class T>
void SymmetricScaling<T>::copy_pattern(const Context& context, const CsrView<T>& matrix) {
    scaled_ = CsrMatrix<T>(context, matrix.rows, matrix.columns, matrix.nonzeros);
    copy(context, matrix.row_offsets_span(), scaled_.row_offsets().view());
    copy(context, matrix.column_indices_span(), scaled_.column_indices().view());
}

template <class T>
void SymmetricScaling<T>::make_blocks(const Context& context, const BlockPartition& blocks) {
    starts_ = Buffer<Index>(context, Offset(blocks.count) + 1);
    copy(context, blocks.block_offsets.view(), starts_.view());
    block_of_row_ = Buffer<Index>(context, rows_);
    sizes_ = Buffer<Index>(context, blocks.count);
    info_ = Buffer<Index>(context, blocks.count);
    for_each_index(context, blocks.count,
                   scaling::MarkRows{starts_.data(), block_of_row_.data(), sizes_.data()});
    offsets_ = Buffer<Offset>(context, Offset(blocks.count) + 1);
    block_entry_offsets(context, blocks, offsets_.view());
    factors_ = Buffer<T>(context, blocks.entries);
    inverses_ = Buffer<T>(context, blocks.entries);
    plan_ = batched::Plan(context, blocks.count, sizes_.data());
}

template <class T>
void SymmetricScaling<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == rows_ && matrix.nonzeros == nonzeros_,
            "SymmetricScaling: update needs a matrix of the pattern that it was set up with");
    const Phase phase(context, "setup",
                      double(matrix.nonzeros) * (2 * sizeof(T) + sizeof(Index)) +
                          double(matrix.rows) * (sizeof(Offset) + sizeof(T)));
    const int lanes = context.on_gpu() ? 8 : 1;  // Lanes per row.
    T* const values = scaled_.values().data();
    const scaling::Faults faults{row_faults_.data(), any_fault_.data()};
    copy_from_host<int>(context, std::vector<int>{0}, any_fault_.view());
    if (starts_.empty()) {
        for_each_index(context, rows_, scaling::InvertRoot<T>{matrix, diagonal_.data(), faults});
        read_faults(context);
        if (scaled_.rows() < rows_) return;
        for_each_index(context, Offset(rows_) * lanes,
                       scaling::ScalePoint<T>{lanes, matrix, diagonal_.data(), values});
        return;
    }
    const auto factor = blocks_of(factors_.data()), inverse = blocks_of(inverses_.data());
    for_each_index(context, rows_, scaling::CopyBlockRow<T>{matrix, factor, faults});
    const auto batch = batched::BatchView<T>::packed(sizes_.size(), sizes_.data(), offsets_.data(),
                                                     factors_.data());
    batched::FactorResults<T> results;
    results.info = info_.data();
    batched::llt<T>(context, batched::Pivoting::fixed, batch, batch, {}, results, {}, &plan_);
    for_each_index(context, rows_, scaling::InvertColumn<T>{factor, inverse, info_.data(), faults});
    read_faults(context);
    for_each_index(context, Offset(rows_) * lanes,
                   scaling::ScaleBlockEntry<T>{lanes, matrix, inverse, values});
}

template <class T>
void SymmetricScaling<T>::multiply(const Context& context, bool transposed,
                                   const Vectors<const T>& x, const Vectors<T>& y) const {
    if (starts_.empty()) return multiply_elementwise_each(context, diagonal(), x, y);
    for (int j = 0; j < x.count; ++j) {
        for_each_index(context, rows_,
                       scaling::ApplyBlocks<T>{transposed, blocks_of(inverses_.data()), x[j].data(),
                                               y[j].data()});
    }
}

/// Reads the faults set by the rows since `any_fault_` was cleared.
template <class T>
void SymmetricScaling<T>::read_faults(const Context& context) {
    not_positive_ = 0;
    first_not_positive_ = -1;
    if (copy_to_host(context, any_fault_)[0] == 0) return;
    const auto faults = copy_to_host(context, row_faults_);
    const auto not_full = std::ranges::find(faults, scaling::Fault::not_full);
    if (not_full != faults.end()) {
        throw InvalidArgument("SymmetricScaling: row " + std::to_string(not_full - faults.begin()) +
                              " does not have the columns of its block's first row, or not all "
                              "columns of a block; use natural blocks, or point scaling");
    }
    not_positive_ = Index(std::ranges::count(faults, scaling::Fault::not_positive));
    const auto first = std::ranges::find(faults, scaling::Fault::not_positive);
    first_not_positive_ = Index(first - faults.begin());
}

template class SymmetricScaling<float>;
template class SymmetricScaling<double>;

}  // namespace tessera
