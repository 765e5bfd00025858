#include "precond/block_jacobi/setup/setup_any_size.cuh"

namespace tessera::cuda {

namespace {

template <class T, BlockExtraction extraction>
void launch_compared(const Context& context, const SetupJob<T>& job) {
    with_tile<8>(job.blocks.largest, [&](auto tile) {
        constexpr int width = decltype(tile)::value;
        launch_setup<T, width == 24 ? 32 : width, extraction>(context, job);
    });
}

}  // namespace

template <class T>
void setup_compared(const Context& context, const SetupJob<T>& job) {
    switch (job.extraction) {
        case BlockExtraction::cached:
            return launch_compared<T, BlockExtraction::cached>(context, job);
        case BlockExtraction::shared_full:
            return launch_compared<T, BlockExtraction::shared_full>(context, job);
        default:
            return launch_compared<T, BlockExtraction::shared>(context, job);
    }
}

template void setup_compared<float>(const Context&, const SetupJob<float>&);
template void setup_compared<double>(const Context&, const SetupJob<double>&);

}  // namespace tessera::cuda
