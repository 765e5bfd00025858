#include "tessera/operator.hpp"

namespace tessera {

CsrMatrix<float> rounded_to_float(const Context& context, const CsrView<double>& matrix) {
    CsrMatrix<float> rounded(context, matrix.rows, matrix.columns, matrix.nonzeros);
    copy(context, matrix.row_offsets_span(), rounded.row_offsets().view());
    copy(context, matrix.column_indices_span(), rounded.column_indices().view());
    convert<double, float>(context, matrix.values_span(), rounded.values().view());
    return rounded;
}

}  // namespace tessera
