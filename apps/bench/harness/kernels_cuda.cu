#include <functional>
#include <stdexcept>

#include "harness/cuda_kernels.hpp"

namespace tessera::bench {

double seconds_on_gpu(const Context& context, int count, const std::function<void()>& work) {
    const auto stream = static_cast<cudaStream_t>(context.stream());
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin, stream);
    for (int k = 0; k < count; ++k) work();
    cudaEventRecord(end, stream);
    cudaEventSynchronize(end);
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
    return 1e-3 * double(milliseconds) / count;
}

namespace {

/// Streaming read of the arrays of a CSR matrix; 16 bytes per load, grid-stride loops.
__global__ void read_kernel(const double2* values, const int4* columns, const int4* offsets,
                            Offset values_count, Offset columns_count, Offset offsets_count,
                            double* sink) {
    const Offset step = Offset(gridDim.x) * blockDim.x;
    const Offset start = Offset(blockIdx.x) * blockDim.x + threadIdx.x;
    double sum = 0;
    int bits = 0;
#pragma unroll 4
    for (Offset i = start; i < values_count; i += step) sum += values[i].x + values[i].y;
#pragma unroll 4
    for (Offset i = start; i < columns_count; i += step) {
        const int4 c = columns[i];
        bits ^= c.x ^ c.y ^ c.z ^ c.w;
    }
    for (Offset i = start; i < offsets_count; i += step) {
        const int4 c = offsets[i];
        bits ^= c.x ^ c.y ^ c.z ^ c.w;
    }
    if (sum == 0.123456789 && bits == 42) *sink = sum;  // Never; keeps the reads.
}

}  // namespace

void read_csr(const Context& context, const CsrView<double>& matrix, double* sink) {
    read_kernel<<<132 * 16, 256, 0, static_cast<cudaStream_t>(context.stream())>>>(
        reinterpret_cast<const double2*>(matrix.values),
        reinterpret_cast<const int4*>(matrix.column_indices),
        reinterpret_cast<const int4*>(matrix.row_offsets), matrix.nonzeros / 2, matrix.nonzeros / 4,
        Offset(matrix.rows) / 2, sink);
}

namespace {

/// The library's kernels for whole batches overlap the end of the previous kernel; so do these.
template <class... Parameters, class... Arguments>
void launch_overlapping(const Context& context, void (*kernel)(Parameters...),
                        Arguments... arguments) {
    cudaLaunchAttribute overlap{};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = 132 * 16;
    config.blockDim = 256;
    config.stream = static_cast<cudaStream_t>(context.stream());
    config.attrs = &overlap;
    config.numAttrs = 1;
    const cudaError_t error = cudaLaunchKernelEx(&config, kernel, arguments...);
    if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

__device__ __forceinline__ void begin_overlapping() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Streaming read; 16 bytes per load, grid-stride loop.
__global__ void read_values_kernel(const double2* values, Offset count, double* sink) {
    begin_overlapping();
    const Offset step = Offset(gridDim.x) * blockDim.x;
    double sum = 0;
#pragma unroll 4
    for (Offset i = Offset(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        sum += values[i].x + values[i].y;
    }
    if (sum == 0.123456789) *sink = sum;  // Never; keeps the reads.
}

/// Streaming copy; 16 bytes per load and store, grid-stride loop.
__global__ void copy_values_kernel(const double2* from, Offset count, double2* to) {
    begin_overlapping();
    const Offset step = Offset(gridDim.x) * blockDim.x;
#pragma unroll 4
    for (Offset i = Offset(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
        to[i] = from[i];
    }
}

}  // namespace

void read_values(const Context& context, const double* values, Offset count, double* sink) {
    launch_overlapping(context, read_values_kernel, reinterpret_cast<const double2*>(values),
                       count / 2, sink);
}

void copy_values(const Context& context, const double* from, Offset count, double* to) {
    launch_overlapping(context, copy_values_kernel, reinterpret_cast<const double2*>(from),
                       count / 2, reinterpret_cast<double2*>(to));
}

}  // namespace tessera::bench
