#include <algorithm>
#include <mutex>

#include "base/parallel.hpp"
#include "krylov/row_scan.hpp"

namespace tessera::cpu {

template <class T>
RowScan scan_rows(const Context& context, const CsrView<T>& matrix) {
    RowScan scan;
    std::mutex joining;
    const auto raise = [](Offset& number, Offset value) { number = std::max(number, value); };
    parallel_ranges(
        context.threads(), matrix.rows,
        [&](Offset first, Offset last) {
            RowScan mine;
            in_pieces(first, last, 1 << 16, [&](Offset begin, Offset end) {
                for (Index i = Index(begin); i < Index(end); ++i) {
                    mine.note(matrix, i, summed(matrix, i));
                }
            });
            const std::lock_guard lock(joining);
            scan.join(mine, raise);
        },
        1024);
    return scan;
}

template RowScan scan_rows(const Context&, const CsrView<float>&);
template RowScan scan_rows(const Context&, const CsrView<double>&);

}  // namespace tessera::cpu
