#pragma once

#include "base/dispatch.hpp"

namespace tessera {

// Work of several Contexts of one process, each of a thread of its own.
// clang-format off
TESSERA_BACKENDS(
    /// A stream beside that of the Context, for copies that overlap its work; null on the CPU. Where
    /// functions below take a stream, null is that of the Context.
    std::shared_ptr<void> make_copy_stream(const Context& context);
    /// Copies from the memory of another Context, on `from_device` (-1: of the host). On a GPU it
    /// need not wait; the other's work must be complete, or waited for (wait_for_event).
    void copy_from_peer(const Context& context, const void* from, int from_device, void* to,
                        Offset bytes, void* stream);
    /// Lets another device, if it can, read the memory of this Context without the host between.
    void share_with_device(const Context& context, int device);
    /// A point after the work of a stream so far; `event` is made if it is null.
    void record_event(const Context& context, std::shared_ptr<void>& event, void* stream);
    /// Later work of a stream follows the point recorded on another one.
    void wait_for_event(const Context& context, const std::shared_ptr<void>& event, void* stream);
)
// clang-format on

}  // namespace tessera
