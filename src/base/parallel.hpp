#pragma once

#include <algorithm>
#include <atomic>
#include <exception>

#include "base/check_time.hpp"
#include "base/threads/thread_team.hpp"

namespace tessera {

/// Minimum number of elements for a second thread.
inline constexpr Offset parallel_grain = 16384;

/// f(part, first, last) for `parts` ranges of equal length of 0..count, which do not depend on the
/// number of threads. The first exception is rethrown; a TimeLimit of the caller holds on all
/// threads.
template <class F>
void parallel_parts(int threads, Offset count, Offset parts, F&& f) {
    if (count <= 0) return;
    parts = std::clamp<Offset>(parts, 1, count);
    std::exception_ptr error = nullptr;
    std::atomic<bool> failed{false};
    TimeLimit::State* const limit = time_limit_in_use;
    auto call = [&](Offset part) {
        if (failed.load(std::memory_order_relaxed)) return;
        const UseTimeLimit use(limit);
        try {
            check_time();
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

/// f(first, last) over pieces of a range, between which a TimeLimit may end the loop.
template <class F>
void in_pieces(Offset first, Offset last, Offset piece, F&& f) {
    for (; first < last; first += piece) {
        check_time();
        f(first, std::min(first + piece, last));
    }
}

/// f(k) for k in 0..count, each by the next idle thread: for tasks of unequal length.
template <class F>
void parallel_tasks(int threads, Offset count, F&& f) {
    std::atomic<Offset> next{0};
    const Offset workers = std::min<Offset>(threads, count);
    parallel_parts(threads, workers, workers, [&](Offset, Offset, Offset) {
        for (Offset k = next++; k < count; k = next++) {
            check_time();
            f(k);
        }
    });
}

}  // namespace tessera
