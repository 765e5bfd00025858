#include "base/check_cuda.hpp"
#include "gpu/for_each.cuh"
#include "gpu/sums.cuh"
#include "sparse/vector_ops/elements.hpp"
#include "sparse/vector_ops/kernels.hpp"

namespace tessera::cuda {

namespace {

constexpr int block_threads = sum_threads;
constexpr int elements_per_thread = int(reduction_chunk) / block_threads;

template <class T>
__device__ T value_of(const Scalar<T>& scalar) {
    return scalar.pointer != nullptr ? *scalar.pointer : scalar.value;
}

/// Ends a reduction with one result: *result = the sum over all thread blocks.
template <class T>
__device__ void finish_sum(T sum, T* partial, unsigned* counter, T* result) {
    __shared__ T shared[block_threads / 32];
    sum = block_sum(sum, shared);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
    finish_sums(counter, partial, 1, Offset(gridDim.x), result, shared);
}

/// Inner products by a fixed tree: one thread block per chunk and group of up to eight vectors
/// (blockIdx.y); the last block of a group adds the partial sums of all chunks.
template <class T>
__global__ void __launch_bounds__(block_threads)
    dots_kernel(int count, const T* __restrict__ x, const T* __restrict__ y, Offset n, T* partial,
                unsigned* counters, T* results) {
    __shared__ T shared[block_threads / 32];
    const int first = int(blockIdx.y) * vectors_per_pass;
    const int vectors = min(vectors_per_pass, count - first);
    const Offset chunks = gridDim.x;
    const Offset start = Offset(blockIdx.x) * reduction_chunk + threadIdx.x;
    T ys[elements_per_thread];
#pragma unroll
    for (int k = 0; k < elements_per_thread; ++k) {
        const Offset i = start + Offset(k) * block_threads;
        ys[k] = i < n ? y[i] : T(0);
    }
    T* const group_partial = partial + Offset(first) * chunks;
    for (int j = 0; j < vectors; ++j) {
        const T* const xj = x + Offset(first + j) * n;
        T sum = T(0);
#pragma unroll
        for (int k = 0; k < elements_per_thread; ++k) {
            const Offset i = start + Offset(k) * block_threads;
            if (i < n) sum = fma(xj[i], ys[k], sum);
        }
        sum = block_sum(sum, shared);
        if (threadIdx.x == 0) group_partial[j * chunks + blockIdx.x] = sum;
    }
    finish_sums(counters + blockIdx.y, group_partial, vectors, chunks, results + first, shared);
}

/// Elementwise z = alpha x + beta y + gamma z; four elements per thread; vectors with coefficient 0
/// are not read.
template <class T>
__global__ void __launch_bounds__(block_threads)
    axpbypcz_kernel(Scalar<T> alpha, const T* x, Scalar<T> beta, const T* y, Scalar<T> gamma, T* z,
                    Offset n) {
    const T a = value_of(alpha), b = value_of(beta), c = value_of(gamma);
    if (a == T(0) && b == T(0) && c == T(1)) return;
    for_elements<4>(n, [&](Offset i) {
        T sum = c == T(0) ? T(0) : c * z[i];
        if (b != T(0)) sum = fma(b, y[i], sum);
        if (a != T(0)) sum = fma(a, x[i], sum);
        z[i] = sum;
    });
}

/// Elementwise linear combination of y and up to eight vectors; four elements per thread.
template <class T>
__global__ void __launch_bounds__(block_threads)
    combine_kernel(int count, const T* __restrict__ x, const T* __restrict__ coefficients,
                   Scalar<T> beta, T* y, Offset n) {
    const T b = value_of(beta);
    T c[vectors_per_pass];
    for (int j = 0; j < vectors_per_pass; ++j) c[j] = j < count ? coefficients[j] : T(0);
    for_elements<4>(n, [&](Offset i) {
        T sum = b == T(0) ? T(0) : b * y[i];
#pragma unroll
        for (int j = 0; j < vectors_per_pass; ++j) {
            if (c[j] != T(0)) sum = fma(c[j], x[j * n + i], sum);
        }
        y[i] = sum;
    });
}

/// Elementwise updates of conjugate gradients fused with r^T r; one thread block per chunk, sums in
/// the order of dots_kernel.
template <class T>
__global__ void __launch_bounds__(block_threads)
    axpy_pair_dot_kernel(Scalar<T> alpha, const T* __restrict__ p, const T* __restrict__ q,
                         T* __restrict__ x, T* __restrict__ r, Offset n, T* partial,
                         unsigned* counter, T* rr) {
    const T a = value_of(alpha);
    const Offset start = Offset(blockIdx.x) * reduction_chunk + threadIdx.x;
    T sum = T(0);
#pragma unroll 8
    for (int k = 0; k < elements_per_thread; ++k) {
        const Offset i = start + Offset(k) * block_threads;
        if (i >= n) continue;
        T residual = r[i];
        if (a != T(0)) {
            x[i] = fma(a, p[i], x[i]);
            residual = fma(-a, q[i], residual);
            r[i] = residual;
        }
        sum = fma(residual, residual, sum);
    }
    finish_sum(sum, partial, counter, rr);
}

/// Elementwise product fused with an inner product; one thread block per chunk, sums in the order
/// of dots_kernel.
template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_dot_kernel(const T* __restrict__ d, const T* __restrict__ x, T* __restrict__ y,
                        Offset n, T* partial, unsigned* counter, T* xy) {
    const Offset start = Offset(blockIdx.x) * reduction_chunk + threadIdx.x;
    T sum = T(0);
#pragma unroll
    for (int k = 0; k < elements_per_thread; ++k) {
        const Offset i = start + Offset(k) * block_threads;
        if (i >= n) continue;
        const T given = x[i];
        const T product = d[i] * given;
        y[i] = product;
        sum = fma(given, product, sum);
    }
    finish_sum(sum, partial, counter, xy);
}

/// Elementwise three-term recurrence; four elements per thread. `next` may be any of the vectors.
template <class T>
__global__ void __launch_bounds__(block_threads)
    recurrence_kernel(RecurrenceStep<T> step, const T* q, const T* x, const T* y, const T* r,
                      T* next, Offset n) {
    for_elements<4>(n, [&](Offset i) {
        T sum = step.alpha * q[i];
        if (step.beta != T(0)) sum = fma(step.beta, x[i], sum);
        if (step.gamma != T(0)) sum = fma(step.gamma, y[i], sum);
        if (step.delta != T(0)) sum = fma(step.delta, r[i], sum);
        next[i] = sum;
    });
}

/// Elementwise y_i = f(i); four elements per thread.
template <class T, class F>
__global__ void __launch_bounds__(block_threads) map_kernel(T* y, F f, Offset n) {
    for_elements<4>(n, [&](Offset i) { y[i] = f(i); });
}

/// Launches a kernel over n elements by for_elements<4>, n its last argument.
template <class... Parameters, class... Arguments>
void launch_elements(const Context& context, Offset n, void (*kernel)(Parameters...),
                     Arguments... arguments) {
    if (n == 0) return;
    kernel<<<blocks_for(n, 4 * block_threads), block_threads, 0, stream_of(context)>>>(arguments...,
                                                                                       n);
    TESSERA_CUDA(cudaGetLastError());
}

template <class T, class F>
void map(const Context& context, T* y, Offset n, F f) {
    launch_elements(context, n, map_kernel<T, F>, y, f);
}

/// Launches a kernel that ends with finish_sum, one thread block per chunk.
template <class T, class... Parameters, class... Arguments>
void launch_sum(const Context& context, Offset n, T* result, void (*kernel)(Parameters...),
                Arguments... arguments) {
    if (n == 0) return for_each_index(context, 1, Fill<T>{T(0), result});
    const unsigned chunks = blocks_for(n, int(reduction_chunk));
    const Sums<T> sums(context, chunks);
    kernel<<<chunks, block_threads, 0, stream_of(context)>>>(arguments..., n, sums.partial,
                                                             sums.counters, result);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace

template <class T>
void dots(const Context& context, int count, const T* x, const T* y, Offset n, T* results) {
    if (count == 0) return;
    if (n == 0) return for_each_index(context, count, Fill<T>{T(0), results});
    constexpr int max_vectors = max_groups * vectors_per_pass;
    for (int first = 0; first < count; first += max_vectors) {
        const int vectors = std::min(max_vectors, count - first);
        const int groups = (vectors + vectors_per_pass - 1) / vectors_per_pass;
        const unsigned chunks = blocks_for(n, int(reduction_chunk));
        const Sums<T> sums(context, Offset(vectors) * chunks);
        dots_kernel<<<dim3(chunks, unsigned(groups)), block_threads, 0, stream_of(context)>>>(
            vectors, x + Offset(first) * n, y, n, sums.partial, sums.counters, results + first);
        TESSERA_CUDA(cudaGetLastError());
    }
}

template <class T>
void axpbypcz(const Context& context, Scalar<T> alpha, const T* x, Scalar<T> beta, const T* y,
              Scalar<T> gamma, T* z, Offset n) {
    launch_elements(context, n, axpbypcz_kernel<T>, alpha, x, beta, y, gamma, z);
}

template <class T>
void combine(const Context& context, int count, const T* x, const T* coefficients, Scalar<T> beta,
             T* y, Offset n) {
    Scalar<T> scale = beta;
    int first = 0;
    do {
        const int vectors = std::min(vectors_per_pass, count - first);
        launch_elements(context, n, combine_kernel<T>, vectors, x + Offset(first) * n,
                        coefficients + first, scale, y);
        scale = T(1);
        first += vectors_per_pass;
    } while (first < count);
}

template <class T>
void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x, T* r,
                   T* rr, Offset n) {
    launch_sum(context, n, rr, axpy_pair_dot_kernel<T>, alpha, p, q, x, r);
}

template <class T>
void multiply_elementwise(const Context& context, const T* d, const T* x, T* y, Offset n) {
    map(context, y, n, [d, x] __device__(Offset i) { return d[i] * x[i]; });
}

template <class T>
void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q, const T* x,
                     const T* y, const T* r, T* next, Offset n) {
    launch_elements(context, n, recurrence_kernel<T>, step, q, x, y, r, next);
}

template <class T>
void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,
                              T* xy) {
    launch_sum(context, n, xy, multiply_dot_kernel<T>, d, x, y);
}

#define TESSERA_FOR_EACH(...) \
    template void for_each_index(const Context&, Offset, const __VA_ARGS__&);
#define TESSERA_INSTANTIATE(T)        \
    TESSERA_INSTANTIATE_VECTOR_OPS(T) \
    TESSERA_FOR_EACH(Fill<T>)         \
    TESSERA_FOR_EACH(FillUniform<T>)  \
    TESSERA_FOR_EACH(FillNormal<T>)
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
TESSERA_FOR_EACH(Convert<double, float>)
TESSERA_FOR_EACH(Convert<float, double>)

}  // namespace tessera::cuda
