#pragma once

#include <memory>
#include <span>

#include "base/dispatch.hpp"

namespace tessera {

/// Bytes that come from the memory of another Context, on `from_device` (-1: of the host).
struct PeerCopy {
    const void* from;
    int from_device;
    bool is_shared;  ///< share_with_device has returned true for the other Context and this device.
    void* to;
    Offset bytes;
};

// Work of several Contexts of one process, each of a thread of its own.
// clang-format off
TESSERA_BACKENDS(
    /// A stream beside that of the Context, for copies that overlap its work; null on the CPU. Where
    /// functions below take a stream, null is that of the Context.
    std::shared_ptr<void> make_copy_stream(const Context& context);
    /// Copies from other Contexts. On a GPU it need not wait; the others' work must be complete, or
    /// waited for (wait_for_event).
    void copy_from_peers(const Context& context, std::span<const PeerCopy> copies, void* stream);
    /// Lets another device, if it can, read the memory of this Context. Returns whether its kernels
    /// can; where they cannot, copies still can, through the host if need be.
    bool share_with_device(const Context& context, int device);
    /// The unique identifier of a GPU, 16 bytes.
    void write_device_id(const Context& context, std::byte* id);
    /// A point after the work of a stream so far; `event` is made if it is null.
    void record_event(const Context& context, std::shared_ptr<void>& event, void* stream);
    /// Later work of a stream follows the point recorded on another one.
    void wait_for_event(const Context& context, const std::shared_ptr<void>& event, void* stream);
    /// Memory of the host, for copies that do not wait.
    std::shared_ptr<std::byte> page_locked_memory(const Context& context, Offset bytes);
)
// clang-format on

}  // namespace tessera
