#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "base/parallel.hpp"
#include "sparse/symmetry/kernels.hpp"

namespace tessera::cpu {

template <class T>
SymmetryFindings compare_mirror_images(const Context& context, const CsrView<T>& matrix) {
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
    std::atomic<bool> unpaired{false};
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
                const Mirrored mirrored = compare_mirror_image(matrix, largest.data(), i, k);
                if (mirrored == Mirrored::yes) continue;
                if (mirrored == Mirrored::unpaired) {
                    unpaired = true;
                    continue;
                }
                Offset known = fault;
                while (k < known && !fault.compare_exchange_weak(known, k)) {
                }
                return;
            }
        }
    };
    parallel_ranges(context.threads(), matrix.rows, check, 1024);
    return {fault, unpaired && fault == matrix.nonzeros};
}

template SymmetryFindings compare_mirror_images<float>(const Context&, const CsrView<float>&);
template SymmetryFindings compare_mirror_images<double>(const Context&, const CsrView<double>&);

}  // namespace tessera::cpu
