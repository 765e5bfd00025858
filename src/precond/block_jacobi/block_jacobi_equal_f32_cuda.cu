#include "precond/block_jacobi/setup/setup_one_size.cuh"

namespace tessera::cuda {

template <class T>
bool setup_equal(const Context& context, const SetupJob<T>& job) {
    const auto& blocks = job.blocks;
    return blocks.rows == Offset(blocks.count) * blocks.largest && launch_equal(context, job);
}

template bool setup_equal<float>(const Context&, const SetupJob<float>&);

}  // namespace tessera::cuda
