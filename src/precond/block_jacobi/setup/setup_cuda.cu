#include "precond/block_jacobi/kernels.hpp"

namespace tessera::cuda {

template <class T>
void setup(const Context& context, const SetupJob<T>& job) {
    if (job.blocks.count == 0) return;
    switch (job.extraction) {
        case BlockExtraction::separate:
            return setup_separate(context, job);
        case BlockExtraction::shared_multiple:
            return setup_merged(context, job);
        default:
            return setup_compared(context, job);
    }
}

template void setup<float>(const Context&, const SetupJob<float>&);
template void setup<double>(const Context&, const SetupJob<double>&);

}  // namespace tessera::cuda
