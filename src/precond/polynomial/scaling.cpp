#include "precond/polynomial/scaling.hpp"

#include <algorithm>

#include "base/checks.hpp"
#include "base/dispatch.hpp"
#include "base/phases.hpp"
#include "precond/polynomial/scaling_rows.hpp"
#include "tessera/vector_ops.hpp"

namespace tessera {

template <class T>
SymmetricScaling<T>::SymmetricScaling(const Context& context, const CsrView<T>& matrix,
                                      bool keeps_matrix)
    : rows_(matrix.rows),
      nonzeros_(matrix.nonzeros),
      diagonal_(context, matrix.rows),
      bad_rows_(context, matrix.rows),
      any_bad_(context, 1) {
    check_square("SymmetricScaling", matrix.rows, matrix.columns);
    if (keeps_matrix) {
        scaled_ = CsrMatrix<T>(context, matrix.rows, matrix.columns, matrix.nonzeros);
        copy(context, matrix.row_offsets_span(), scaled_.row_offsets().view());
        copy(context, matrix.column_indices_span(), scaled_.column_indices().view());
    }
    update(context, matrix);
}

template <class T>
void SymmetricScaling<T>::update(const Context& context, const CsrView<T>& matrix) {
    require(matrix.rows == rows_ && matrix.nonzeros == nonzeros_,
            "SymmetricScaling: update needs a matrix of the pattern that it was set up with");
    const Phase phase(context, "setup",
                      double(matrix.nonzeros) * (2 * sizeof(T) + sizeof(Index)) +
                          double(matrix.rows) * (sizeof(Offset) + sizeof(T)),
                      PhaseStep::setup);
    copy_from_host<int>(context, std::vector<int>{0}, any_bad_.view());
    for_each_index(
        context, rows_,
        scaling::InvertRoot<T>{matrix, diagonal_.data(), bad_rows_.data(), any_bad_.data()});
    not_positive_ = 0;
    first_not_positive_ = -1;
    if (copy_to_host(context, any_bad_)[0] != 0) {
        const auto bad = copy_to_host(context, bad_rows_);
        not_positive_ = Index(std::ranges::count(bad, 1));
        first_not_positive_ = Index(std::ranges::find(bad, 1) - bad.begin());
    }
    if (scaled_.rows() < rows_) return;
    const int lanes = context.on_gpu() ? 8 : 1;  // Lanes per row.
    for_each_index(
        context, Offset(rows_) * lanes,
        scaling::ScaleEntries<T>{lanes, matrix, diagonal_.data(), scaled_.values().data()});
}

template class SymmetricScaling<float>;
template class SymmetricScaling<double>;

}  // namespace tessera
