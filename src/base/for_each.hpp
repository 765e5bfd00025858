#pragma once

#include <atomic>
#include <type_traits>

#include "base/dispatch.hpp"
#include "base/host_device.hpp"
#ifndef __CUDACC__
#include "base/parallel.hpp"
#endif

/// Before a loop of a body: unrolled on the device, so that small arrays stay in registers.
#ifdef __CUDA_ARCH__
#define TESSERA_UNROLL _Pragma("unroll")
#else
#define TESSERA_UNROLL
#endif

namespace tessera {

namespace cuda {
/// Defined in gpu/for_each.cuh; a .cu file instantiates it for every F.
template <class F>
void for_each_index(const Context& context, Offset count, const F& f);
/// Defined in gpu/scan.cuh.
template <class F>
void exclusive_scan(const Context& context, Offset count, F values, Offset* sums);
}  // namespace cuda

#ifndef __CUDACC__
namespace cpu {
template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    parallel_ranges(
        context.threads(), count,
        [&](Offset first, Offset last) {
            in_pieces(first, last, std::max<Offset>(1, (1 << 22) / F::work),
                      [&](Offset begin, Offset end) {
                          for (Offset i = begin; i < end; ++i) f(i);
                      });
        },
        std::max<Offset>(1, parallel_grain / F::work));
}
template <class F>
void exclusive_scan(const Context&, Offset count, F values, Offset* sums) {
    sums[0] = 0;
    for (Offset i = 0; i < count; ++i) sums[i + 1] = sums[i] + values(i);
}
}  // namespace cpu

/// f(i) for i = 0 .. count - 1 in any order on the backend of the Context: one function for both. F
/// is a trivially copyable struct with F::work, about how many numbers one i reads. Does not wait.
template <class F>
void for_each_index(const Context& context, Offset count, const F& f) {
    select(context, &cpu::for_each_index<F>, TESSERA_IF_CUDA(cuda::for_each_index<F>))(context,
                                                                                       count, f);
}

/// How many threads share each of `count` parts of a loop: one on a CPU; on a GPU at least `least`,
/// a power of two, and more where there are few parts.
inline int sharing_threads(const Context& context, Offset count, int least) {
    constexpr Offset threads_to_fill_gpu = 1 << 17;
    if (!context.on_gpu()) return 1;
    int threads = least;
    while (threads < 128 && threads * count < threads_to_fill_gpu) threads *= 2;
    return threads;
}

/// sums[i] = values(0) + ... + values(i - 1) for i = 0 .. count. `values` is a struct of plain
/// values. No wait.
template <class F>
void exclusive_scan(const Context& context, Offset count, const F& values, Offset* sums) {
    select(context, &cpu::exclusive_scan<F>, TESSERA_IF_CUDA(cuda::exclusive_scan<F>))(
        context, count, values, sums);
}

#endif

/// The numbers of an array as values of exclusive_scan.
struct CountAt {
    const Index* counts;
    TESSERA_HOST_DEVICE Offset operator()(Offset i) const { return counts[i]; }
};

/// Sets a flag; several i may do so at once.
TESSERA_HOST_DEVICE inline void raise_flag(int* flag) {
#ifdef __CUDA_ARCH__
    *flag = 1;
#else
    const std::atomic_ref<int> shared(*flag);
    if (shared.load(std::memory_order_relaxed) == 0) shared.store(1, std::memory_order_relaxed);
#endif
}

/// *largest = max(*largest, value), where several i may do so at once.
template <class T>
TESSERA_HOST_DEVICE void raise_to(T* largest, T value) {
#ifdef __CUDA_ARCH__
    using Word = std::conditional_t<sizeof(T) == 8, unsigned long long, T>;
    if (value <= *static_cast<volatile T*>(largest)) return;
    atomicMax(reinterpret_cast<Word*>(largest), Word(value));
#else
    const std::atomic_ref<T> shared(*largest);
    T seen = shared.load(std::memory_order_relaxed);
    while (value > seen && !shared.compare_exchange_weak(seen, value, std::memory_order_relaxed)) {
    }
#endif
}

}  // namespace tessera
