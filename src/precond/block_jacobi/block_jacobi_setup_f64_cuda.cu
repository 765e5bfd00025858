#include "precond/block_jacobi/setup/setup_any_size.cuh"

namespace tessera::cuda {

template <class T>
void setup_merged(const Context& context, const SetupJob<T>& job) {
    if (setup_equal(context, job)) return;
    if (job.narrow.bytes != nullptr) return setup_narrow(context, job);
    with_tile<4>(job.blocks.largest, [&](auto tile) {
        launch_setup<T, decltype(tile)::value, BlockExtraction::shared_multiple>(context, job);
    });
}

template void setup_merged<double>(const Context&, const SetupJob<double>&);

}  // namespace tessera::cuda
