#pragma once

#include <algorithm>
#include <atomic>

#include "base/parallel.hpp"

namespace tessera::io {

/// f(k) for k in 0..count, each by the next thread that is free: for tasks of unequal length whose
/// results do not depend on who runs them.
template <class F>
void parallel_tasks(int threads, Offset count, F&& f) {
    std::atomic<Offset> next{0};
    const Offset workers = std::min<Offset>(threads, count);
    parallel_parts(threads, workers, workers, [&](Offset, Offset, Offset) {
        for (Offset k = next++; k < count; k = next++) f(k);
    });
}

}  // namespace tessera::io
