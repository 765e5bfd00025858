#include "precond/multigrid/symmetric_part/symmetric_part.hpp"

#include "base/checks.hpp"
#include "base/gather_rows.hpp"
#include "base/transpose_pattern.hpp"
#include "base/zeros.hpp"
#include "precond/multigrid/symmetric_part/symmetric_part_rows.hpp"

namespace tessera {

namespace {

/// The pattern of A and A^T; A is in host memory.
template <class T>
GatheredRows pattern_with_transpose(int threads, const CsrView<T>& a) {
    std::vector<Offset> offsets(std::size_t(a.rows) + 1);
    std::vector<Index> transposed(std::size_t(a.nonzeros));
    transpose_pattern(a.rows, a.row_offsets, a.column_indices, offsets, transposed.data(),
                      [](Offset e, Offset) {
                          if (e % 65536 == 0) check_time();
                      });
    return gather_rows(threads, a.rows, [&](Offset i, std::vector<Index>& list) {
        list.insert(list.end(), a.column_indices + a.row_offsets[i],
                    a.column_indices + a.row_offsets[i + 1]);
        list.insert(list.end(), transposed.begin() + offsets[std::size_t(i)],
                    transposed.begin() + offsets[std::size_t(i) + 1]);
    });
}

}  // namespace

template <class T>
OfSymmetricPart<T>::OfSymmetricPart(const Context& context, const CsrView<T>& matrix,
                                    const Make& make)
    : nonzeros_(matrix.nonzeros) {
    check_square("symmetric_part", matrix.rows, matrix.columns);
    const CsrMatrix<T> copied = context.on_gpu() ? copy_to_host(context, matrix) : CsrMatrix<T>();
    const GatheredRows pattern =
        pattern_with_transpose(context.threads(), context.on_gpu() ? copied.view() : matrix);
    part_ = CsrMatrix<T>(context, matrix.rows, matrix.rows, pattern.offsets.back());
    copy_from_host<Offset>(context, pattern.offsets, part_.row_offsets().view());
    copy_from_host<Index>(context, pattern.items, part_.column_indices().view());
    load(context, matrix);
    of_part_ = make(part_.view());
}

template <class T>
void OfSymmetricPart<T>::load(const Context& context, const CsrView<T>& matrix) {
    for_each_index(context, rows(),
                   SymmetricPartRow<T>{matrix, part_.row_offsets().data(),
                                       part_.column_indices().data(), part_.values().data()});
}

template <class T>
void OfSymmetricPart<T>::update(const Context& context, const CsrView<T>& matrix) {
    check_matrix("symmetric_part", matrix);
    Buffer<int> fault = zeros<int>(context, 1);
    const bool same_size =
        matrix.rows == rows() && matrix.columns == rows() && matrix.nonzeros == nonzeros_;
    if (same_size) {
        for_each_index(context, rows(), CheckRowOfPart<T>{matrix, part_.view(), fault.data()});
    }
    require(same_size && copy_to_host(context, fault)[0] == 0,
            "symmetric_part: update needs the pattern that it was set up with");
    load(context, matrix);
    of_part_->update(context, part_.view());
}

template class OfSymmetricPart<float>;
template class OfSymmetricPart<double>;

}  // namespace tessera
