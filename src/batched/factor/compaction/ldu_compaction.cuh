#pragma once

#include "batched/factor/compaction/tile.cuh"

/// Kernel and launch of CompactLdu.
namespace tessera::batched::cuda {

namespace {

/// LDU with full pivoting in FP32; one matrix per 8 lanes, four rows per lane in registers. Every
/// eight steps the remaining rows and columns are compacted through shared memory.
__global__ void __launch_bounds__(32 * CompactShape::warps, compaction_blocks)
    factor_compact_kernel(const __grid_constant__ SizeClasses classes,
                          const __grid_constant__ FactorJob<float> job, bool aligned) {
    using Shape = CompactShape;
    static_assert(Shape::matrices * Shape::bytes >= factor_bytes<float>(32, 32));
    extern __shared__ __align__(16) unsigned char compact_memory[];
    begin_dependent();
    const TeamBatch batch = classes.of_block(Shape::warps * Shape::matrices);
    const int n = batch.n;
    const int warp = int(threadIdx.x / 32);
    const int mine = int(threadIdx.x % 32 / Shape::lanes);
    unsigned char* const memory = compact_memory + warp * Shape::matrices * Shape::bytes;
    const Offset first = batch.first + warp * Shape::matrices;
    const bool active = first + mine < batch.end;
    unsigned fallback;
    {
        const Offset b = classes.matrix(active ? first + mine : batch.end - 1);
        CompactLdu ldu(compact_memory, n);
        ldu.load(start_of(job.a, b), job.a.sizes != nullptr ? n : job.a.leading_dimension, aligned);
        const bool in_range = ldu.eliminate(threshold_of(job.options, b, 1.0F));
        fallback = __ballot_sync(full_warp, active && !in_range && threadIdx.x % Shape::lanes == 0);
        if (active && in_range) {
            const auto& p = job.permutations;
            const Offset line = job.f.sizes != nullptr ? n : job.f.leading_dimension;
            Index* const rows = p.rows != nullptr ? p.rows + p.start(b) : nullptr;
            Index* const columns = p.columns != nullptr ? p.columns + p.start(b) : nullptr;
            if (n == 32 && line == 32) {
                ldu.store<true>(start_of(job.f, b), line, rows, columns);
            } else {
                ldu.store<false>(start_of(job.f, b), line, rows, columns);
            }
            if (threadIdx.x % Shape::lanes == 0 && job.results.info != nullptr) {
                job.results.info[b] = 0;
            }
        }
    }
    if (fallback == 0) return;
    unsigned remaining = 0;
    for (int m = 0; m < Shape::matrices; ++m) remaining |= (fallback >> m * Shape::lanes & 1) << m;
    __syncwarp();
    factorise_fallback<Ldu<Pivoting::full>, 32>(
        job, remaining, n, memory, [&classes, first](int m) { return classes.matrix(first + m); });
}

}  // namespace

template <class T>
bool ldu_by_compaction(const Context& context, const FactorJob<T>& job) {
    using Shape = CompactShape;
    if (wants_more_than_info(job.results) || job.options.relative) return false;
    const bool aligned = job.a.size % 4 == 0 && is_contiguous_aligned(job.a);
    const StagedLaunch launch = staged_launch(
        job.a, job.plan, 17, 32, Shape::warps * Shape::matrices, [](Index) { return 1; },
        [](Index) { return Shape::warps * Shape::matrices * Shape::bytes; });
    if (launch.blocks == 0) return true;
    launch_dependent(factor_compact_kernel, launch.blocks, 32 * Shape::warps, launch.team_bytes,
                     stream_of(context), launch.classes, job, aligned);
    return true;
}

}  // namespace tessera::batched::cuda
