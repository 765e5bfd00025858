#pragma once

#include "base/dispatch.hpp"

namespace tessera {

// Work of several Contexts of one process, each of a thread of its own.
// clang-format off
TESSERA_BACKENDS(
    /// Copies from the memory of another Context, on `from_device` (-1: of the host). On a GPU it
    /// need not wait; the other's work must be complete, or waited for (wait_for_event).
    void copy_from_peer(const Context& context, const void* from, int from_device, void* to,
                        Offset bytes);
    /// Lets another device, if it can, read the memory of this Context without the host between.
    void share_with_device(const Context& context, int device);
    /// A point after the work of this Context so far; `event` is made if it is null.
    void record_event(const Context& context, std::shared_ptr<void>& event);
    /// Later work of this Context follows the point recorded by another one.
    void wait_for_event(const Context& context, const std::shared_ptr<void>& event);
)
// clang-format on

}  // namespace tessera
