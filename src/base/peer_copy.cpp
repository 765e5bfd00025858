#include "base/peer_copy.hpp"

#include "base/context_state.hpp"

namespace tessera::cpu {

void copy_from_peer(const Context& context, const void* from, int, void* to, Offset bytes) {
    context.state().copy_bytes(from, to, bytes);
}

}  // namespace tessera::cpu
