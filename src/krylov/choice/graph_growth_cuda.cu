#include "base/check_cuda.hpp"
#include "base/zeros.hpp"
#include "gpu/launch.cuh"
#include "krylov/choice/graph_growth.hpp"

namespace tessera::cuda {

namespace {

constexpr int growth_threads = 256;
constexpr unsigned slots = 8192;

/// Adds a node to a table with open addressing; whether it is new.
__device__ bool insert(Index* table, Index node) {
    unsigned at = unsigned(node) * 0x9E3779B1u >> 8 & (slots - 1);
    for (unsigned tries = 0; tries < slots; ++tries) {
        const Index found = atomicCAS(table + at, -1, node);
        if (found == -1 || found == node) return found == -1;
        at = (at + 1) & (slots - 1);
    }
    return false;
}

/// A thread block for each sample: warps take the nodes of a distance in turn, lanes their
/// neighbours.
__global__ void __launch_bounds__(growth_threads)
    grow_kernel(const __grid_constant__ GraphView graph, Growth* all) {
    __shared__ Index seen[slots];
    __shared__ Index nodes[max_growth_nodes];
    __shared__ int count;
    __shared__ unsigned long long entries;
    const int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
    Growth& growth = all[blockIdx.x];
    const Offset max_entries = max_row_entries(graph);
    for (unsigned s = threadIdx.x; s < slots; s += growth_threads) seen[s] = -1;
    __syncthreads();
    if (thread == 0) {
        nodes[0] = growth_start(graph.rows, int(blockIdx.x));
        insert(seen, nodes[0]);
        count = 1;
        entries = 0;
        growth.within[0] = 1;
        growth.ended = 0;
    }
    __syncthreads();
    int distances = 1;
    for (int first = 0, last = 1; distances <= max_distance; ++distances) {
        Offset mine = 0;
        for (int n = first + thread; n < last; n += growth_threads) {
            const Offset neighbours = graph.row_offsets[nodes[n] + 1] - graph.row_offsets[nodes[n]];
            if (neighbours <= max_entries) mine += neighbours;
        }
        if (mine > 0) atomicAdd(&entries, static_cast<unsigned long long>(mine));
        __syncthreads();
        if (entries > max_growth_entries) break;
        for (int n = first + warp; n < last; n += growth_threads / 32) {
            const Index i = nodes[n];
            if (graph.row_offsets[i + 1] - graph.row_offsets[i] > max_entries) continue;
            for (Offset k = graph.row_offsets[i] + lane; k < graph.row_offsets[i + 1]; k += 32) {
                if (*static_cast<volatile int*>(&count) > max_growth_nodes) break;
                const Index j = graph.neighbours[k];
                if (!insert(seen, j)) continue;
                const int place = atomicAdd(&count, 1);
                if (place < max_growth_nodes) nodes[place] = j;
            }
        }
        __syncthreads();
        const int found = count;
        __syncthreads();
        if (found > max_growth_nodes) break;
        if (thread == 0) {
            growth.within[distances] = found;
            growth.ended = found == last;
        }
        if (found == last) {
            ++distances;
            break;
        }
        first = last;
        last = found;
    }
    if (thread == 0) growth.distances = distances;
}

}  // namespace

std::vector<Growth> grow(const Context& context, const GraphView& graph) {
    Buffer<Growth> all = zeros<Growth>(context, growth_samples);
    grow_kernel<<<growth_samples, growth_threads, 0, stream_of(context)>>>(graph, all.data());
    TESSERA_CUDA(cudaGetLastError());
    return copy_to_host(context, all);
}

}  // namespace tessera::cuda
