#include <algorithm>
#include <chrono>
#include <limits>

#include "harness/bench.hpp"

namespace tessera::bench {

namespace {

constexpr double factor = 3;

using Pair = double __attribute__((vector_size(16)));

/// A non-temporal store, which g++ has on x86-64 alone; `to` is aligned to 16 bytes.
inline void stream(Pair value, Pair* to) {
#if defined(__clang__)
    __builtin_nontemporal_store(value, to);
#elif defined(__x86_64__)
    __builtin_ia32_movntpd(reinterpret_cast<double*>(to), value);
#else
    *to = value;
#endif
}

/// a = b + factor c for the elements first .. last-1, even numbers, with non-temporal stores, or
/// with ordinary ones, which read a line before they write it.
void triad(bool streaming, Offset first, Offset last, double* a, const double* b, const double* c) {
    if (streaming) {
        for (Offset i = first; i < last; i += 2) {
            const Pair sum = {b[i] + factor * c[i], b[i + 1] + factor * c[i + 1]};
            stream(sum, reinterpret_cast<Pair*>(a + i));
        }
    } else {
        for (Offset i = first; i < last; ++i) a[i] = b[i] + factor * c[i];
    }
}

}  // namespace

double triad_rate(const Context& cpu) {
    const Offset most = std::min(Offset(1) << 26, cpu.free_memory() / 8 / Offset(sizeof(double)));
    const Offset a_thread = most / cpu.threads() / 8 * 8;
    const Offset count = a_thread * cpu.threads();
    Buffer<double> a(cpu, count), b(cpu, count), c(cpu, count);
    fill(cpu, 1.0, b.view());
    fill(cpu, 2.0, c.view());
    double best = std::numeric_limits<double>::infinity();
    for (int k = 0; k < 10; ++k) {
        const bool streaming = k % 2 == 0;
        const auto begin = std::chrono::steady_clock::now();
#pragma omp parallel for schedule(static) num_threads(cpu.threads())
        for (int thread = 0; thread < cpu.threads(); ++thread) {
            triad(streaming, thread * a_thread, (thread + 1) * a_thread, a.data(), b.data(),
                  c.data());
        }
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        best = std::min(best, elapsed.count());
        if (a.data()[count - 1] != 1 + factor * 2) throw Error("wrong results of the triad");
    }
    return 3.0 * sizeof(double) * double(count) / best;
}

}  // namespace tessera::bench
