#pragma once

#include <functional>
#include <limits>
#include <memory>

#include "distributed/communicator.hpp"

namespace tessera {

/// Runs f(communicator) on `size` threads of this process, which are the ranks, and throws the
/// error of the first rank that ended with one of its own. The caller's thread is rank 0. Each has
/// a Context of its own, on the CPU or on a GPU, which may be the same for some. TimeLimits of the
/// caller hold on all threads. A rank that waits for others for longer than `max_wait_seconds`, or
/// for a rank that has returned, ends with a RankError, and with it all others.
void run_ranks(int size, const std::function<void(const Communicator&)>& f,
               double max_wait_seconds = std::numeric_limits<double>::infinity());

}  // namespace tessera
