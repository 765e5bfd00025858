#include <vector>

#include "precond/block_jacobi/block_ranges.hpp"
#include "precond/block_jacobi/setup/principal_pivot_inverse.hpp"

namespace tessera::cpu {

template <class T>
void replace_singular(const Context& context, const ReplaceJob<T>& job) {
    const PackedBlocks<T>& blocks = job.blocks;
    for_block_ranges(context, blocks.count, blocks.entry_offsets, 8, [&](Index first, Index last) {
        std::vector<T> work(std::size_t(replace_values(blocks.largest)));
        for (Index b = first; b < last; ++b) {
            job.shift_exponents[b] = -1;
            if (job.info[b] != 0) replace_block(OneThread(), job, b, work.data());
        }
    });
}

template decltype(replace_singular<float>) replace_singular<float>;
template decltype(replace_singular<double>) replace_singular<double>;

}  // namespace tessera::cpu
