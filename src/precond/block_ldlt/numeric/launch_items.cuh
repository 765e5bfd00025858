#pragma once

#include <utility>

#include "gpu/launch.cuh"

namespace tessera::block_ldlt::cuda {

namespace {

/// Launches a kernel on `count` items, `items` a thread block of `threads`; none for none.
template <int threads, class... Parameters, class... Arguments>
void launch_items(const Context& context, void (*kernel)(Parameters...), Offset count, int items,
                  Arguments&&... arguments) {
    using namespace tessera::cuda;
    if (count == 0) return;
    launch_dependent(kernel, blocks_for(count, items), threads, 0, stream_of(context),
                     std::forward<Arguments>(arguments)...);
}

}  // namespace

}  // namespace tessera::block_ldlt::cuda
