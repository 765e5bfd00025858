#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "base/check_cuda.hpp"
#include "gpu/for_each.cuh"
#include "sparse/sliced/sort_rows.hpp"

namespace tessera::cuda {

namespace {

using Key = unsigned long long;

/// Keys in the order of windows and, within them, of descending length.
struct SetKey {
    static constexpr int work = 4;
    const Index* lengths;
    Index limit, window;
    int length_bits;
    Key* keys;
    Index* rows;

    __device__ void operator()(Offset i) const {
        keys[i] = (Key(i / window) << length_bits) | Key(limit - lengths[i]);
        rows[i] = Index(i);
    }
};

}  // namespace

Buffer<Index> sort_rows(const Context& context, const Buffer<Index>& lengths, Index limit,
                        Index window) {
    const Offset count = lengths.size();
    Buffer<Index> order(context, count);
    if (count == 0) return order;
    const int length_bits = int(std::bit_width(unsigned(limit)));
    const int window_bits = int(std::bit_width(unsigned((count - 1) / window)));
    Buffer<Index> rows(context, count);
    Buffer<Key> keys(context, count), sorted_keys(context, count);
    for_each_index(context, count,
                   SetKey{lengths.data(), limit, window, length_bits, keys.data(), rows.data()});
    std::size_t bytes = 0;
    const auto sort = [&](void* space) {
        TESSERA_CUDA(cub::DeviceRadixSort::SortPairs(
            space, bytes, keys.data(), sorted_keys.data(), rows.data(), order.data(), count, 0,
            std::max(1, length_bits + window_bits), stream_of(context)));
    };
    sort(nullptr);  // Only says how much space it takes.
    Buffer<char> space(context, Offset(bytes));
    sort(space.data());
    return order;
}

}  // namespace tessera::cuda
