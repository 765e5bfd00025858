#include "precond/block_jacobi/setup/setup_any_size.cuh"

namespace tessera::cuda {

template <class T>
void setup_narrow(const Context& context, const SetupJob<T>& job) {
    with_tile<4>(job.blocks.largest, [&](auto tile) {
        launch_setup<T, decltype(tile)::value, BlockExtraction::shared_multiple, true>(context,
                                                                                       job);
    });
}

template void setup_narrow<float>(const Context&, const SetupJob<float>&);

}  // namespace tessera::cuda
