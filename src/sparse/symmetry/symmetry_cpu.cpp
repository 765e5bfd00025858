#include <algorithm>
#include <atomic>
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
        if (j < i) return true;  // Row j compares the values.
        return std::abs(matrix.values[k] - matrix.values[mirror - matrix.column_indices]) <=
               tolerance * std::min(largest[i], largest[j]);
    };
    // Where all entries above the diagonal have a mirror image, and there are as many below it, so
    // have these.
    constexpr Offset ahead = 16;
    std::atomic<Offset> surplus{0};
    std::atomic<bool> is_symmetric{true};
    const auto check_upper = [&](Offset first, Offset last) {
        Offset more = 0;
        bool all_fine = true;
        for (Index i = Index(first); i < Index(last); ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (k + 2 * ahead < matrix.nonzeros) {
                    __builtin_prefetch(&matrix.row_offsets[matrix.column_indices[k + 2 * ahead]]);
                    const Index to = matrix.column_indices[k + ahead];
                    if (to > i) {
                        __builtin_prefetch(&matrix.column_indices[matrix.row_offsets[to]]);
                        __builtin_prefetch(&matrix.values[matrix.row_offsets[to]]);
                        __builtin_prefetch(&largest[to]);
                    }
                }
                const Index j = matrix.column_indices[k];
                more += (j > i) - (j < i);
                all_fine &= j < i ? std::isfinite(matrix.values[k]) : is_fine(i, k);
            }
        }
        surplus += more;
        if (!all_fine) is_symmetric = false;
    };
    parallel_ranges(context.threads(), matrix.rows, check_upper, 1024);
    if (is_symmetric && surplus == 0) return -1;

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
