#include <algorithm>
#include <atomic>
#include <cmath>
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

    constexpr Offset ahead = 16;
    std::atomic<Offset> fault{matrix.nonzeros};
    const auto check = [&](Offset first, Offset last) {
        for (Index i = Index(first); i < Index(last); ++i) {
            for (Offset k = matrix.row_offsets[i]; k < matrix.row_offsets[i + 1]; ++k) {
                if (k + 2 * ahead < matrix.nonzeros) {
                    __builtin_prefetch(&matrix.row_offsets[matrix.column_indices[k + 2 * ahead]]);
                    const Index to = matrix.column_indices[k + ahead];
                    __builtin_prefetch(&matrix.column_indices[matrix.row_offsets[to]]);
                    __builtin_prefetch(&matrix.values[matrix.row_offsets[to]]);
                    __builtin_prefetch(&largest[to]);
                }
                if (has_mirror_image(matrix, largest.data(), i, k)) continue;
                Offset known = fault;
                while (k < known && !fault.compare_exchange_weak(known, k)) {
                }
                return;
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, check, 1024);
    return fault;
}

template Offset first_unsymmetric<float>(const Context&, const CsrView<float>&);
template Offset first_unsymmetric<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cpu
