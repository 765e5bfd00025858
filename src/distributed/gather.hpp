#pragma once

#include "distributed/communicator.hpp"

namespace tessera {

/// Collects the parts of all ranks, of counts[r] items each, in the order of ranks, on every rank.
/// Collective.
template <class T>
void gather_parts(const Communicator& communicator, const Context& context,
                  const std::vector<Offset>& counts, const T* mine, T* all) {
    const int rank = communicator.rank();
    std::vector<Communicator::Message> send, receive;
    Offset first = 0, own_first = 0;
    const Offset own = counts[std::size_t(rank)];
    for (int r = 0; r < communicator.size(); ++r) {
        const Offset count = counts[std::size_t(r)];
        if (r == rank) {
            own_first = first;
        } else {
            // A message is read alone, though its type allows to write.
            if (own > 0) send.push_back({r, bytes_of(const_cast<T*>(mine), own)});
            if (count > 0) receive.push_back({r, bytes_of(all + first, count)});
        }
        first += count;
    }
    PendingExchange exchange(communicator, context, send, receive);
    copy<T>(context, std::span<const T>(mine, std::size_t(own)),
            std::span<T>(all + own_first, std::size_t(own)));
    exchange.end();
}

}  // namespace tessera
