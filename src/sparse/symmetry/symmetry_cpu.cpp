#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera::cpu {

template <class T>
Offset first_unsymmetric(const Context& context, const CsrView<T>& matrix) {
    std::vector<T> largest(std::size_t(matrix.rows), T(0));
    const auto find_largest = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                largest[i] = std::max(largest[i], std::abs(matrix.values[k]));
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, find_largest, 1024);

    const T tolerance = 1000 * std::numeric_limits<T>::epsilon();
    const auto is_fine = [&](Index i, Offset k) {
        if (!std::isfinite(matrix.values[k])) return false;
        const Index j = matrix.column_indices[k];
        if (i == j) return true;
        const Index* const end = matrix.column_indices + matrix.row_offsets[j + 1];
        const Index* const mirror =
            std::lower_bound(matrix.column_indices + matrix.row_offsets[j], end, i);
        if (mirror == end || *mirror != i) return false;
        if (j < i) return true;  // Row j compared the values.
        return std::abs(matrix.values[k] - matrix.values[mirror - matrix.column_indices]) <=
               tolerance * std::min(largest[i], largest[j]);
    };
    std::vector<Offset> fault(std::size_t(matrix.rows), -1);
    const auto check = [&](Offset first, Offset last) {
        for (Offset i = first; i < last; ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (is_fine(Index(i), k)) continue;
                fault[i] = k;
                break;
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, check, 1024);
    const auto found = std::ranges::find_if(fault, [](Offset k) { return k >= 0; });
    return found == fault.end() ? -1 : *found;
}

template Offset first_unsymmetric<float>(const Context&, const CsrView<float>&);
template Offset first_unsymmetric<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cpu
