#pragma once

#include <cerrno>

namespace tessera::io {

/// Calls the InterruptHandler of this thread, if there is one.
void handle_interrupt();

/// The result of a system call, which is repeated as long as signals interrupt it.
template <class Call>
auto repeated(Call&& call) {
    for (;;) {
        const auto result = call();
        if (result >= 0 || errno != EINTR) return result;
        handle_interrupt();
    }
}

}  // namespace tessera::io
