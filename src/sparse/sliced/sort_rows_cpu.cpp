#include <algorithm>
#include <numeric>

#include "base/parallel.hpp"
#include "sparse/sliced/sort_rows.hpp"

namespace tessera::cpu {

Buffer<Index> sort_rows(const Context& context, const Buffer<Index>& lengths, Index /*limit*/,
                        Index window) {
    const Offset count = lengths.size();
    Buffer<Index> order(context, count);
    Index* const rows = order.data();
    const auto is_longer = [length = lengths.data()](Index a, Index b) {
        return length[a] > length[b];
    };
    parallel_tasks(context.threads(), (count + window - 1) / window, [&](Offset k) {
        const Offset first = k * window, last = std::min<Offset>(count, first + window);
        std::iota(rows + first, rows + last, Index(first));
        std::stable_sort(rows + first, rows + last, is_longer);
    });
    return order;
}

}  // namespace tessera::cpu
