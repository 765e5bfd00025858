#pragma once

#include "base/dispatch.hpp"

namespace tessera {

TESSERA_BACKENDS(
    /// Copies from the memory of another Context of this process, on `from_device` (-1: of the
    /// host), whose work is complete; on a GPU it need not wait.
    void copy_from_peer(const Context& context, const void* from, int from_device, void* to,
                        Offset bytes);)

}  // namespace tessera
