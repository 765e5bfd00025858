#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "precond/block_jacobi/for_blocks.hpp"
#include "precond/block_jacobi/setup/principal_pivot_inverse.hpp"

namespace tessera::cpu {

namespace {

/// Reads a block, column-major. Returns the first row with a value that is not finite, n without
/// one.
template <class T>
Index read_block(const CsrView<T>& matrix, Index first, Index n, T* block) {
    std::fill(block, block + n * n, T(0));
    Index bad = n;
    for (Index i = 0; i < n; ++i) {
        for (Offset x = matrix.row_offsets[first + i]; x < matrix.row_offsets[first + i + 1]; ++x) {
            const Index c = matrix.column_indices[x] - first;
            if (c < 0 || c >= n) continue;
            block[i + c * n] = matrix.values[x];
            if (bad == n && !std::isfinite(matrix.values[x])) bad = i;
        }
    }
    return bad;
}

}  // namespace

template <class T>
void replace_singular(const Context& context, const CsrView<T>& matrix,
                      const PackedBlocks<T>& blocks, SingularPolicy policy, const Index* info,
                      T* inverses, std::int8_t* shifts, SetupSummary* summary) {
    std::atomic<unsigned> rows_from_end{0};
    for_blocks(context, blocks, inverses, [&](Index b, Index n, T* inverse) {
        shifts[b] = -1;
        if (info[b] == 0) return;
        std::vector<T> work(std::size_t(2 * n * n));
        int columns[2 * largest_stored_block];
        const Index row = blocks.block_offsets[b];
        const Index bad = read_block(matrix, row, n, work.data());
        if (bad < n) {
            const unsigned mine = unsigned(blocks.rows - row - bad);
            for (unsigned met = rows_from_end; met < mine;) {
                if (rows_from_end.compare_exchange_weak(met, mine)) break;
            }
        } else if (policy != SingularPolicy::stop) {
            shifts[b] = std::int8_t(replace_inverse(OneThread(), policy, n, n, work.data(),
                                                    work.data() + n * n, columns, inverse));
        }
    });
    summary->add({.rows_from_end = rows_from_end});
}

#define TESSERA_INSTANTIATE(T)                                                                   \
    template void replace_singular<T>(const Context&, const CsrView<T>&, const PackedBlocks<T>&, \
                                      SingularPolicy, const Index*, T*, std::int8_t*,            \
                                      SetupSummary*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
#undef TESSERA_INSTANTIATE

}  // namespace tessera::cpu
