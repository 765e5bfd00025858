#pragma once

#include <memory>

#include "tessera/ranks.hpp"

// Not a part of tessera.hpp: only programs with a process for each GPU need it.
namespace tessera {

/// Messages by NCCL between ranks that have a GPU each, in one process or in several. The library
/// libnccl.so.2 is loaded when first needed. `control`, which must outlive it, sends NCCL's
/// identifier at first, and errors; before each message all ranks meet by it, so that one that has
/// failed is noticed and no stream waits for it. (A call of NCCL that fails on one rank alone may
/// leave the streams of the others waiting.) Collective; waits. Throws on all ranks DeviceError
/// where the library is missing or fails, InvalidArgument for Contexts on the CPU, or two on one
/// GPU.
TESSERA_API std::unique_ptr<Communicator> nccl_communicator(const Context& context,
                                                            const Communicator& control);

}  // namespace tessera
