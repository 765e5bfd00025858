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

/// Number j of a Scalar, or of one per vector.
template <class T>
__device__ T value_of(const NumberPerVector<T>& numbers, int j) {
    return *number(numbers, j);
}
template <class T>
__device__ T value_of(const Scalar<T>& scalar, int) {
    return value_of(scalar);
}

/// Ends a reduction with one result per blockIdx.y: the sum over all thread blocks of that.
template <class T>
__device__ void finish_sum(T sum, T* partial, unsigned* counters, NumberPerVector<T> results) {
    __shared__ T shared[block_threads / 32];
    sum = block_sum(sum, shared);
    const int j = int(blockIdx.y);
    T* const parts = partial + j * Offset(gridDim.x);
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
    finish_sums(counters + j, parts, 1, Offset(gridDim.x), number(results, j), shared);
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

/// Elementwise z = alpha x + beta y + gamma z for the vectors blockIdx.y; four elements per thread;
/// vectors with coefficient 0 are not read. `Gamma`: a Scalar, or one per vector.
template <class Gamma, class T>
__global__ void __launch_bounds__(block_threads)
    axpbypcz_kernel(Scalar<T> alpha, Vectors<const T> xs, Scalar<T> beta, Vectors<const T> ys,
                    Gamma gamma, Vectors<T> zs, Offset n) {
    const Offset j = blockIdx.y;
    const T* const x = xs.data + j * xs.leading;
    const T* const y = ys.data + j * ys.leading;
    T* const z = zs.data + j * zs.leading;
    const T a = value_of(alpha), b = value_of(beta), c = value_of(gamma, int(j));
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

/// x_j^T y_j; one thread block per chunk and vector j (blockIdx.y), sums in the order of
/// dots_kernel.
template <class T>
__global__ void __launch_bounds__(block_threads)
    dot_each_kernel(Vectors<const T> xs, Vectors<const T> ys, Offset n, T* partial,
                    unsigned* counters, NumberPerVector<T> results) {
    const T* __restrict__ const x = xs.data + blockIdx.y * xs.leading;
    const T* __restrict__ const y = ys.data + blockIdx.y * ys.leading;
    const Offset start = Offset(blockIdx.x) * reduction_chunk + threadIdx.x;
    T sum = T(0);
#pragma unroll
    for (int k = 0; k < elements_per_thread; ++k) {
        const Offset i = start + Offset(k) * block_threads;
        if (i < n) sum = fma(x[i], y[i], sum);
    }
    finish_sum(sum, partial, counters, results);
}

/// x += a p and r -= a q, elements of this thread; returns its part of r^T r.
template <class T>
__device__ __forceinline__ T axpy_pair(T a, const T* __restrict__ p, const T* __restrict__ q,
                                       T* __restrict__ x, T* __restrict__ r, Offset n) {
    constexpr int batch = 8;  // Elements whose loads are in flight at a time.
    T sum = T(0);
    for (int first = 0; first < elements_per_thread; first += batch) {
        const Offset start =
            Offset(blockIdx.x) * reduction_chunk + first * block_threads + threadIdx.x;
        T direction[batch], product[batch], solution[batch], residual[batch];
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            const Offset i = start + Offset(k) * block_threads;
            const bool reads = i < n && a != T(0);
            direction[k] = reads ? p[i] : T(0);
            product[k] = reads ? q[i] : T(0);
            solution[k] = reads ? x[i] : T(0);
            residual[k] = i < n ? r[i] : T(0);
        }
#pragma unroll
        for (int k = 0; k < batch; ++k) {
            const Offset i = start + Offset(k) * block_threads;
            if (i < n && a != T(0)) {
                x[i] = fma(a, direction[k], solution[k]);
                residual[k] = fma(-a, product[k], residual[k]);
                r[i] = residual[k];
            }
            sum = fma(residual[k], residual[k], sum);
        }
    }
    return sum;
}

/// Elementwise updates of conjugate gradients fused with r^T r; one thread block per chunk and
/// vector, sums in the order of dots_kernel. `Alpha`: a Scalar, or one per vector.
template <class Alpha, class T>
__global__ void __launch_bounds__(block_threads)
    axpy_pair_dot_kernel(Alpha alpha, Vectors<const T> ps, Vectors<const T> qs, Vectors<T> xs,
                         Vectors<T> rs, Offset n, T* partial, unsigned* counters,
                         NumberPerVector<T> rr) {
    const Offset j = blockIdx.y;
    const T a = value_of(alpha, int(j));
    const T sum = axpy_pair(a, ps.data + j * ps.leading, qs.data + j * qs.leading,
                            xs.data + j * xs.leading, rs.data + j * rs.leading, n);
    finish_sum(sum, partial, counters, rr);
}

/// Elementwise product fused with an inner product; one thread block per chunk, sums in the order
/// of dots_kernel.
template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_dot_kernel(const T* __restrict__ d, const T* __restrict__ x, T* __restrict__ y,
                        Offset n, T* partial, unsigned* counter, NumberPerVector<T> xy) {
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

/// Elementwise y_j = diag(d) x_j, j = blockIdx.y; four elements per thread.
template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_each_kernel(const T* d, Vectors<const T> xs, Vectors<T> ys, Offset n) {
    const T* const x = xs.data + blockIdx.y * xs.leading;
    T* const y = ys.data + blockIdx.y * ys.leading;
    for_elements<4>(n, [&](Offset i) { y[i] = d[i] * x[i]; });
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

/// Launches a kernel over n elements of `vectors` vectors by for_elements<4>, n its last argument.
template <class... Parameters, class... Arguments>
void launch_elements(const Context& context, Offset n, int vectors, void (*kernel)(Parameters...),
                     Arguments... arguments) {
    if (n == 0 || vectors == 0) return;
    const dim3 grid(blocks_for(n, 4 * block_threads), unsigned(vectors));
    kernel<<<grid, block_threads, 0, stream_of(context)>>>(arguments..., n);
    TESSERA_CUDA(cudaGetLastError());
}

/// Launches a kernel that ends with finish_sum, one thread block per chunk and vector.
template <class T, class... Parameters, class... Arguments>
void launch_sum(const Context& context, Offset n, int vectors, const NumberPerVector<T>& results,
                void (*kernel)(Parameters...), Arguments... arguments) {
    if (vectors == 0) return;
    const unsigned chunks = std::max(1u, blocks_for(n, int(reduction_chunk)));
    const Sums<T> sums(context, Offset(vectors) * chunks);
    kernel<<<dim3(chunks, unsigned(vectors)), block_threads, 0, stream_of(context)>>>(
        arguments..., n, sums.partial, sums.counters, results);
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
    launch_elements(context, n, 1, axpbypcz_kernel<Scalar<T>, T>, alpha,
                    Vectors<const T>{x, n, 1, n}, beta, Vectors<const T>{y, n, 1, n}, gamma,
                    Vectors<T>{z, n, 1, n});
}

template <class T>
void combine(const Context& context, int count, const T* x, const T* coefficients, Scalar<T> beta,
             T* y, Offset n) {
    Scalar<T> scale = beta;
    int first = 0;
    do {
        const int vectors = std::min(vectors_per_pass, count - first);
        launch_elements(context, n, 1, combine_kernel<T>, vectors, x + Offset(first) * n,
                        coefficients + first, scale, y);
        scale = T(1);
        first += vectors_per_pass;
    } while (first < count);
}

template <class T>
void dot_each(const Context& context, const Vectors<const T>& x, const Vectors<const T>& y,
              const NumberPerVector<T>& results) {
    for (int first = 0; first < x.count; first += max_groups) {
        const int count = std::min(max_groups, x.count - first);
        launch_sum(context, x.size, count, part(results, first), dot_each_kernel<T>,
                   x.part(first, count), y.part(first, count));
    }
}

template <class T>
void xpby_each(const Context& context, const Vectors<const T>& x, const NumberPerVector<T>& beta,
               const Vectors<T>& y) {
    launch_elements(context, x.size, x.count, axpbypcz_kernel<NumberPerVector<T>, T>,
                    Scalar<T>(T(1)), x, Scalar<T>(T(0)), x, beta, y);
}

template <class T>
void axpy_pair_dot(const Context& context, Scalar<T> alpha, const T* p, const T* q, T* x, T* r,
                   T* rr, Offset n) {
    launch_sum(context, n, 1, NumberPerVector<T>{rr}, axpy_pair_dot_kernel<Scalar<T>, T>, alpha,
               Vectors<const T>{p, n, 1, n}, Vectors<const T>{q, n, 1, n}, Vectors<T>{x, n, 1, n},
               Vectors<T>{r, n, 1, n});
}

template <class T>
void axpy_pair_dot_each(const Context& context, const NumberPerVector<T>& alpha,
                        const Vectors<const T>& p, const Vectors<const T>& q, const Vectors<T>& x,
                        const Vectors<T>& r, const NumberPerVector<T>& rr) {
    for (int first = 0; first < x.count; first += max_groups) {
        const int count = std::min(max_groups, x.count - first);
        launch_sum(context, x.size, count, part(rr, first),
                   axpy_pair_dot_kernel<NumberPerVector<T>, T>, part(alpha, first),
                   p.part(first, count), q.part(first, count), x.part(first, count),
                   r.part(first, count));
    }
}

template <class T>
void multiply_elementwise_each(const Context& context, const T* d, const Vectors<const T>& x,
                               const Vectors<T>& y) {
    launch_elements(context, x.size, x.count, multiply_each_kernel<T>, d, x, y);
}

template <class T>
void recurrence_step(const Context& context, const RecurrenceStep<T>& step, const T* q, const T* x,
                     const T* y, const T* r, T* next, Offset n) {
    launch_elements(context, n, 1, recurrence_kernel<T>, step, q, x, y, r, next);
}

template <class T>
void multiply_elementwise_dot(const Context& context, const T* d, const T* x, T* y, Offset n,
                              T* xy) {
    launch_sum(context, n, 1, NumberPerVector<T>{xy}, multiply_dot_kernel<T>, d, x, y);
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
