// Tessera inside a CUDA program that owns the stream and the arrays: -u'' = f on a line. Kernels of
// the program make the matrix, with 32-bit offsets, and look at the solution, all on its stream.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include <tessera/tessera.hpp>

using namespace tessera;

namespace {

constexpr int rows = 10000, nonzeros = 3 * rows - 2;

void check(cudaError_t error) {
    if (error == cudaSuccess) return;
    std::printf("%s\n", cudaGetErrorString(error));
    std::exit(1);
}

/// (-1, 2 + shift, -1); row i begins at 3 i - 1, the first one at 0.
__global__ void assemble(int* row_offsets, int* columns, double* values, double* b, double shift) {
    const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= rows) return;
    int k = i == 0 ? 0 : 3 * i - 1;
    row_offsets[i] = k;
    if (i == rows - 1) row_offsets[rows] = nonzeros;
    for (int j = i - 1; j <= i + 1; ++j) {
        if (j < 0 || j >= rows) continue;
        columns[k] = j;
        values[k++] = i == j ? 2 + shift : -1;
    }
    b[i] = 1;
}

/// *largest = max |b - A x|
__global__ void residual(const double* x, double shift, unsigned long long* largest) {
    const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= rows) return;
    const double left = i > 0 ? x[i - 1] : 0, right = i + 1 < rows ? x[i + 1] : 0;
    const double r = fabs(1 - ((2 + shift) * x[i] - left - right));
    atomicMax(largest, (unsigned long long)__double_as_longlong(r));  // Ordered as the numbers.
}

template <class T>
T* allocate(int count) {
    T* array = nullptr;
    check(cudaMalloc(&array, count * sizeof(T)));
    check(cudaMemset(array, 0, count * sizeof(T)));
    return array;
}

}  // namespace

int main() {
    std::string reason;
    if (cuda_devices(&reason).empty()) {
        std::printf("SKIPPED own_stream: %s\n", reason.c_str());
        return 77;
    }
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream));
    int* row_offsets = allocate<int>(rows + 1);
    int* columns = allocate<int>(nonzeros);
    double* values = allocate<double>(nonzeros);
    double* b = allocate<double>(rows);
    double* x = allocate<double>(rows);
    auto* largest = allocate<unsigned long long>(1);
    {
        const Context context = Context::cuda(0, stream);
        Solver<double> solver(context, "cg", "chebyshev:4");
        for (int step = 0; step < 3; ++step) {
            const double shift = 0.01 * (step + 1);
            assemble<<<(rows + 255) / 256, 256, 0, stream>>>(row_offsets, columns, values, b,
                                                             shift);
            const auto matrix =
                borrow_csr(context, rows, rows, nonzeros, row_offsets, columns, values);
            solver.setup(matrix.view());
            const SolveReport report =
                solver.solve(std::span<const double>(b, rows), std::span<double>(x, rows));
            check(cudaMemsetAsync(largest, 0, sizeof *largest, stream));
            residual<<<(rows + 255) / 256, 256, 0, stream>>>(x, shift, largest);
            double found = 0;
            check(cudaMemcpyAsync(&found, largest, sizeof found, cudaMemcpyDeviceToHost, stream));
            check(cudaStreamSynchronize(stream));
            std::printf("shift %.2f: %s in %lld iterations, largest residual %.1e\n", shift,
                        to_string(report.status), (long long)report.iterations, found);
            if (report.status != Status::converged || !(found < 1e-5)) return 1;
        }
    }  // Before the stream: the Context and the solver are gone.
    check(cudaStreamDestroy(stream));
    return 0;
}
