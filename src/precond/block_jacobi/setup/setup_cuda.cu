#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

namespace {

template <class T, bool Reduced>
void setup_fused(const Context& context, const SetupJob<T>& job) {
    const PackedBlocks<T>& blocks = job.blocks;
    const bool one_size = blocks.rows == Offset(blocks.count) * blocks.largest;
    if (one_size && setup_fixed_size<T, Reduced>(context, job)) return;
    setup_any_size<T, Reduced>(context, job);
}

}  // namespace

template <class T>
void setup(const Context& context, const SetupJob<T>& job) {
    if (job.blocks.count == 0) return;
    if (job.blocks.largest > largest_fused_block) return setup_large(context, job);
    if (job.reduced.bytes != nullptr) return setup_fused<T, true>(context, job);
    setup_fused<T, false>(context, job);
}

template void setup<float>(const Context&, const SetupJob<float>&);
template void setup<double>(const Context&, const SetupJob<double>&);

}  // namespace tessera::cuda
