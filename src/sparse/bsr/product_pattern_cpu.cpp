#include <algorithm>

#include "base/gather_rows.hpp"
#include "sparse/bsr/kernels.hpp"

namespace tessera::cpu {

template <class T>
BsrMatrix<T> product_pattern(const Context& context, const BsrView<T>& a, const BsrView<T>& b) {
    // Each column once per row: marks of a part of the rows.
    const Offset parts = std::clamp<Offset>(a.block_rows / 256, 1, 4 * context.threads());
    std::vector<Offset> offsets(std::size_t(a.block_rows) + 1, 0);
    std::vector<std::vector<Index>> lists(static_cast<std::size_t>(parts));
    parallel_parts(
        context.threads(), a.block_rows, parts, [&](Offset part, Offset first, Offset last) {
            std::vector<Index> latest(std::size_t(b.block_columns), -1);
            std::vector<Index>& list = lists[std::size_t(part)];
            for (Offset i = first; i < last; ++i) {
                const std::size_t before = list.size();
                for (Offset k = a.row_offsets[i]; k < a.row_offsets[i + 1]; ++k) {
                    const Index row = a.column_indices[k];
                    for (Offset t = b.row_offsets[row]; t < b.row_offsets[row + 1]; ++t) {
                        const Index column = b.column_indices[t];
                        if (latest[std::size_t(column)] == Index(i)) continue;
                        latest[std::size_t(column)] = Index(i);
                        list.push_back(column);
                    }
                }
                std::sort(list.begin() + std::ptrdiff_t(before), list.end());
                offsets[std::size_t(i) + 1] = Offset(list.size() - before);
            }
        });
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
    BsrMatrix<T> product(context, a.block_rows, b.block_columns, a.height, b.width, offsets.back());
    std::ranges::copy(offsets, product.row_offsets().data());
    parallel_parts(context.threads(), a.block_rows, parts, [&](Offset part, Offset first, Offset) {
        std::ranges::copy(lists[std::size_t(part)],
                          product.column_indices().data() + offsets[std::size_t(first)]);
    });
    return product;
}

template decltype(product_pattern<float>) product_pattern<float>;
template decltype(product_pattern<double>) product_pattern<double>;

}  // namespace tessera::cpu
