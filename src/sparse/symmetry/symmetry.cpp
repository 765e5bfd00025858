#include "tessera/csr.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/checks.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera {

namespace {

std::string position(Index row, Index column) {
    return "(" + std::to_string(row) + ", " + std::to_string(column) + ")";
}

}  // namespace

template <class T>
bool is_symmetric(const Context& context, const CsrView<T>& matrix) {
    check_matrix("is_symmetric", matrix);
    check_memory(context, "is_symmetric", matrix);
    return matrix.rows == matrix.columns &&
           TESSERA_RUN(compare_mirror_images<T>, context, matrix, true).first_fault ==
               matrix.nonzeros;
}

template <class T>
bool check_symmetry(const Context& context, const CsrView<T>& matrix, const char* who) {
    if (who == nullptr) who = "check_symmetry";
    check_matrix(who, matrix);
    check_memory(context, who, matrix);
    check_square(who, matrix.rows, matrix.columns);
    const auto found = TESSERA_RUN(compare_mirror_images<T>, context, matrix, false);
    const Offset k = found.first_fault;
    if (k == matrix.nonzeros) return !found.unpaired;
    const CsrMatrix<T> copied = copy_to_host(context, matrix);
    const CsrView<T> host = copied.view();
    require_argument("matrix", std::isfinite(host.values[k]), who,
                     ": the matrix holds values that are not finite");
    const auto offsets = host.row_offsets_span();
    const Index i = Index(std::ranges::upper_bound(offsets, k) - offsets.begin()) - 1;
    const Index j = host.column_indices[k];
    throw InvalidArgument(
        std::string(who) + ": the matrix is not symmetric: entry " + position(i, j) +
            (find_csr_entry(host, j, i) >= 0 ? " differs from " : " is stored, but not ") +
            position(j, i),
        "matrix");
}

template bool is_symmetric(const Context&, const CsrView<float>&);
template bool is_symmetric(const Context&, const CsrView<double>&);
template bool check_symmetry(const Context&, const CsrView<float>&, const char*);
template bool check_symmetry(const Context&, const CsrView<double>&, const char*);

}  // namespace tessera
