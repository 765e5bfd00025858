#pragma once

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/threads/thread_team.hpp"

namespace tessera {

/// Minimum number of elements for a second thread.
inline constexpr Offset parallel_grain = 16384;

/// f(part, first, last) for `parts` ranges of equal length of 0..count, which do not depend on the
/// number of threads. The first exception is rethrown.
template <class F>
void parallel_parts(int threads, Offset count, Offset parts, F&& f) {
    if (count <= 0) return;
    parts = std::clamp<Offset>(parts, 1, count);
    std::exception_ptr error = nullptr;
    std::atomic<bool> failed{false};
    auto call = [&](Offset part) {
        if (failed.load(std::memory_order_relaxed)) return;
        try {
            f(part, count * part / parts, count * (part + 1) / parts);
        } catch (...) {
            if (!failed.exchange(true)) error = std::current_exception();
        }
    };
    run_parts(
        threads, parts,
        [](void* function, Offset part) { (*static_cast<decltype(call)*>(function))(part); },
        &call);
    if (error) std::rethrow_exception(error);
}

/// f(first, last) over 0..count, one range per thread: the ranges depend on the number of threads.
template <class F>
void parallel_ranges(int threads, Offset count, F&& f, Offset grain = parallel_grain) {
    const Offset parts = std::clamp<Offset>(count / std::max<Offset>(grain, 1), 1, threads);
    parallel_parts(threads, count, parts,
                   [&](Offset, Offset first, Offset last) { f(first, last); });
}

/// f(k) for k in 0..count, each by the next idle thread: for tasks of unequal length.
template <class F>
void parallel_tasks(int threads, Offset count, F&& f) {
    std::atomic<Offset> next{0};
    const Offset workers = std::min<Offset>(threads, count);
    parallel_parts(threads, workers, workers, [&](Offset, Offset, Offset) {
        for (Offset k = next++; k < count; k = next++) f(k);
    });
}

}  // namespace tessera
