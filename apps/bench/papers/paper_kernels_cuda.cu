#include "harness/cuda_kernels.hpp"
#include "papers/paper_kernels.cuh"
#include "tessera/types.hpp"

namespace tessera::bench {

namespace {

void check(cudaError_t status) {
    if (status != cudaSuccess) throw DeviceError(cudaGetErrorString(status));
}

template <class T>
const void* multiple_kernel(int n) {
    if (n < 1 || n > 32) throw InvalidArgument("the paper's kernels are for n = 1..32");
    if (n <= 22) return paper::multiple_kernel<T, 1, 22>(n);
    if (n <= 27) return paper::multiple_kernel<T, 23, 27>(n);
    return paper::multiple_kernel<T, 28, 32>(n);
}

template <class T>
const void* single_kernel() {
    return reinterpret_cast<const void*>(&paper::single<T>);
}

template <class T>
void launch(const Context& context, const void* kernel, int lanes, int n, Offset batch, const T* in,
            T* out) {
    const Offset blocks = (batch * lanes + paper::threads_per_block - 1) / paper::threads_per_block;
    void* arguments[] = {&n, &batch, &in, &out};
    check(cudaLaunchKernel(kernel, dim3(unsigned(blocks)), dim3(paper::threads_per_block),
                           arguments, 0, static_cast<cudaStream_t>(context.stream())));
}

KernelResources use_of(const void* kernel) {
    cudaFuncAttributes attributes{};
    check(cudaFuncGetAttributes(&attributes, kernel));
    KernelResources use;
    use.registers = attributes.numRegs;
    use.local_bytes = int(attributes.localSizeBytes);
    use.threads = paper::threads_per_block;
    check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&use.blocks, kernel, use.threads, 0));
    return use;
}

}  // namespace

template <class T>
void paper_single(const Context& context, int n, Offset batch, const T* in, T* out) {
    if (n < 1 || n > 32) throw InvalidArgument("the paper's kernels are for n = 1..32");
    launch(context, single_kernel<T>(), 32, n, batch, in, out);
}

template <class T>
void paper_multiple(const Context& context, int n, Offset batch, const T* in, T* out) {
    launch(context, multiple_kernel<T>(n), paper::lanes_of(n), n, batch, in, out);
}

template <class T>
KernelResources paper_single_use() {
    return use_of(single_kernel<T>());
}

template <class T>
KernelResources paper_multiple_use(int n) {
    return use_of(multiple_kernel<T>(n));
}

template void paper_single(const Context&, int, Offset, const float*, float*);
template void paper_single(const Context&, int, Offset, const double*, double*);
template void paper_multiple(const Context&, int, Offset, const float*, float*);
template void paper_multiple(const Context&, int, Offset, const double*, double*);
template KernelResources paper_single_use<float>();
template KernelResources paper_single_use<double>();
template KernelResources paper_multiple_use<float>(int);
template KernelResources paper_multiple_use<double>(int);

}  // namespace tessera::bench
