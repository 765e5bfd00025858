#pragma once

#include "tessera/context.hpp"

namespace tessera {

/// call(function, part) for part = 0 .. parts - 1 on the calling thread and at most threads - 1
/// others; returns when all are done. `call` must not throw.
///
/// Each calling thread has a team of worker threads of its own, started when first needed and ended
/// with it: several threads may call at once, and the child of a fork starts a new team. Thread t
/// begins with the t-th of `threads` equal ranges of parts, so that calls find their data in its
/// caches, and then takes parts that others have not begun: a worker that is late because the
/// machine is busy is not waited for. Between calls workers spin for some microseconds, then sleep.
/// Where the system refuses threads there are fewer of them; calls from a part run on its thread.
void run_parts(int threads, Offset parts, void (*call)(void* function, Offset part),
               void* function);

/// Starts the team of the calling thread now, for loops on `threads` threads; returns how many
/// there are, with the calling thread: fewer than `threads` where the system refuses.
int start_threads(int threads);

/// Forks between the start of the program and this process.
int forks_above();

/// Threads of a Context that names no number: OMP_NUM_THREADS or, where that is not set, the CPUs
/// that this process may use.
int default_threads();

}  // namespace tessera
