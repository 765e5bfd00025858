#pragma once

#include <atomic>
#include <cstdint>

#include "base/for_each.hpp"

namespace tessera {

/// *sum += value, where several i may do so at once.
TESSERA_HOST_DEVICE inline void add_to(std::uint64_t* sum, std::uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(sum), value);
#else
    std::atomic_ref<std::uint64_t>(*sum).fetch_add(value, std::memory_order_relaxed);
#endif
}

/// The rows that each of many threads visits: a range of its own or, where `lanes` threads share a
/// row, whose entries they read side by side, every so-many-th row.
struct RowsOfThread {
    /// Elements of a result; thread t adds to number t % results, as atomic operations on one
    /// address wait for each other.
    static constexpr Offset results = 1024;
    Offset rows = 0;
    int lanes = 1;
    Offset threads = 0;  ///< A multiple of `lanes`.

    RowsOfThread(bool on_gpu, Offset row_count) : rows(row_count), lanes(on_gpu ? 8 : 1) {
        const Offset max_threads = on_gpu ? 1 << 19 : 4096;
        threads = rows * lanes < max_threads ? rows * lanes : max_threads;
    }
    /// f(row, lane) for the rows of a thread.
    template <class F>
    TESSERA_HOST_DEVICE void visit(Offset thread, F&& f) const {
        const Offset teams = threads / lanes, team = thread / lanes;
        const bool in_ranges = lanes == 1;
        const Offset end = in_ranges ? rows * (team + 1) / teams : rows;
        for (Offset row = in_ranges ? rows * team / teams : team; row < end;
             row += in_ranges ? 1 : teams) {
            f(row, thread % lanes);
        }
    }
};

}  // namespace tessera
