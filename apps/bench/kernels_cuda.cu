#include <functional>

#include "cuda_kernels.hpp"

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

void read_values(const Context& context, const double* values, Offset count, double* sink) {
    read_kernel<<<132 * 16, 256, 0, static_cast<cudaStream_t>(context.stream())>>>(
        reinterpret_cast<const double2*>(values), nullptr, nullptr, count / 2, 0, 0, sink);
}

}  // namespace tessera::bench
