#include "distributed/communicator.hpp"

#include "base/peers.hpp"

namespace tessera {

std::shared_ptr<std::byte> page_locked_memory(const Context& context, Offset bytes) {
    return TESSERA_RUN(page_locked_memory, context, bytes);
}

}  // namespace tessera
