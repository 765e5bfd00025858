// Times every candidate shape of the small inversion kernel; tune_kernels.py generates the list
// (candidates.inc), builds this and writes the winners.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "batched/invert/invert_per_thread.cuh"
#include "batched/invert/invert_small.cuh"

namespace {

using namespace tessera;
using namespace tessera::batched;

constexpr Offset values_at_once = Offset(1) << 26;

template <class T>
__global__ void fill(Offset count, T* values) {
    const Offset i = Offset(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= count) return;
    unsigned h = unsigned(i) * 2654435761u;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    values[i] = T(h ^ h >> 16) / T(2147483648.0) - T(1);
}

struct Arena {
    Context context = Context::cuda();
    void* from;
    void* to;
    Index* info;
    double copy_bandwidth;

    cudaStream_t stream() const { return static_cast<cudaStream_t>(context.stream()); }
};

template <class F>
double milliseconds(const Arena& arena, F&& work) {
    cudaEvent_t start, stop;
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    work();
    work();
    std::vector<float> times(9);
    for (float& time : times) {
        cudaEventRecord(start, arena.stream());
        work();
        cudaEventRecord(stop, arena.stream());
        cudaEventSynchronize(stop);
        cudaEventElapsedTime(&time, start, stop);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

template <class T>
InvertJob<T> job_of(const Arena& arena, int n) {
    const Index count =
        Index(std::min(values_at_once / (n * n), Offset(500000) * 64 / (n * n) * 16));
    InvertJob<T> job;
    job.a = BatchView<const T>::uniform(count, n, static_cast<const T*>(arena.from));
    job.x = BatchView<T>::uniform(count, n, static_cast<T*>(arena.to));
    job.results.info = arena.info;
    return job;
}

template <class T>
constexpr const char* name = sizeof(T) == 8 ? "f64" : "f32";

/// launch(chain, job), as a fraction of the copy rate.
template <class T, class Launch>
double fraction_of_copy(const Arena& arena, int n, Launch&& launch) {
    const InvertJob<T> job = job_of<T>(arena, n);
    const double time = milliseconds(arena, [&] {
        tessera::cuda::LaunchChain chain(arena.context);
        launch(chain, job);
    });
    return 2.0 * job.a.count * n * n * sizeof(T) / time * 1e3 / arena.copy_bandwidth;
}

/// One line: type, register width, shape, fraction of the copy rate.
template <class T, int Tile, int lanes, int rows, int blocks, bool checked>
void candidate(const Arena& arena) {
    const double fraction = fraction_of_copy<T>(arena, Tile, [](auto& chain, const auto& job) {
        batched::cuda::launch_small<T, Tile, true, lanes, rows, blocks, checked>(chain, job, Tile);
    });
    std::printf("%s %d %d %d %d %d %.4f\n", name<T>, Tile, lanes, rows, blocks, checked, fraction);
    std::fflush(stdout);
}

/// One line: type, rows, thread blocks, fraction of the copy rate.
template <class T, int n, int blocks>
void per_thread_candidate(const Arena& arena) {
    const double fraction = fraction_of_copy<T>(arena, n, [](auto& chain, const auto& job) {
        batched::cuda::launch_per_thread<T, n, blocks>(chain, job);
    });
    std::printf("%s %d %d %.4f\n", name<T>, n, blocks, fraction);
    std::fflush(stdout);
}

void run(const Arena& arena) {
#include "candidates.inc"
}

}  // namespace

int main() {
    Arena arena;
    const Offset bytes = values_at_once * Offset(sizeof(double));
    if (cudaMalloc(&arena.from, bytes) != cudaSuccess ||
        cudaMalloc(&arena.to, bytes) != cudaSuccess ||
        cudaMalloc(&arena.info, values_at_once * Offset(sizeof(Index))) != cudaSuccess) {
        std::fprintf(stderr, "no GPU, or not enough of its memory\n");
        return 1;
    }
    const double copy = milliseconds(arena, [&] {
        cudaMemcpyAsync(arena.to, arena.from, bytes, cudaMemcpyDeviceToDevice, arena.stream());
    });
    arena.copy_bandwidth = 2.0 * double(bytes) / copy * 1e3;
    fill<<<unsigned(values_at_once / 256), 256, 0, arena.stream()>>>(
        values_at_once, static_cast<TUNED_TYPE*>(arena.from));
    run(arena);
    const cudaError_t error = cudaDeviceSynchronize();
    if (error != cudaSuccess) std::fprintf(stderr, "%s\n", cudaGetErrorString(error));
    return error == cudaSuccess ? 0 : 1;
}
