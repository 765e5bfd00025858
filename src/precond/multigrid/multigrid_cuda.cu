#include "gpu/for_each.cuh"
#include "gpu/scan.cuh"
#include "gpu/warp.cuh"
#include "precond/multigrid/aggregates/aggregation_rows.hpp"
#include "precond/multigrid/aggregates/strength_rows.hpp"
#include "precond/multigrid/blocks/block_scaling.hpp"
#include "precond/multigrid/blocks/for_each_block.cuh"
#include "precond/multigrid/setup/coarsest_rows.hpp"
#include "precond/multigrid/setup/near_null_rows.hpp"
#include "precond/multigrid/setup/padding_rows.hpp"
#include "precond/multigrid/setup/prolongator_rows.hpp"

namespace tessera::cuda {

using namespace multigrid;

#define TESSERA_FOR_EACH(F) template void for_each_index(const Context&, Offset, const F&);
TESSERA_FOR_EACH_REAL(ApplyScaling)
TESSERA_FOR_EACH_REAL(CouplingSums)
TESSERA_FOR_EACH_REAL(FillPadded)
TESSERA_FOR_EACH_REAL(Gather)
TESSERA_FOR_EACH_REAL(WriteRows)
TESSERA_FOR_EACH(InvertDiagonalFactors)
TESSERA_FOR_EACH(ScaleNearNull)
TESSERA_FOR_EACH(MeasureDiagonal)
TESSERA_FOR_EACH(SumNearness)
TESSERA_FOR_EACH(AddNearness)
TESSERA_FOR_EACH(WeighCouplings)
TESSERA_FOR_EACH(CopyStrong)
TESSERA_FOR_EACH(ClearAggregates)
TESSERA_FOR_EACH(BeginSearch)
TESSERA_FOR_EACH(SmallestNearby)
TESSERA_FOR_EACH(Decide)
TESSERA_FOR_EACH(MarkRoots)
TESSERA_FOR_EACH(TakeNeighbours)
TESSERA_FOR_EACH(JoinStrongest)
TESSERA_FOR_EACH(MarkLeft)
TESSERA_FOR_EACH(MarkMembers)
TESSERA_FOR_EACH(CopyMembers)
TESSERA_FOR_EACH(NumberMarked)
TESSERA_FOR_EACH(CopyNearNull)
TESSERA_FOR_EACH(CheckFinite)
TESSERA_FOR_EACH(ClearUncoupled)
TESSERA_FOR_EACH(CompareBlocks)
TESSERA_FOR_EACH(ApplyToModes)
TESSERA_FOR_EACH(WriteDense)
TESSERA_FOR_EACH(AddModes)
TESSERA_FOR_EACH(CountSparse)
TESSERA_FOR_EACH(CopySparse)
TESSERA_FOR_EACH(SubtractFromTentative)
TESSERA_FOR_EACH(SetDropped)
TESSERA_FOR_EACH(Means)
TESSERA_FOR_EACH(RigidBodyRows)
TESSERA_FOR_EACH(TranslationRow)
#define TESSERA_SCALE_BLOCKS(N)                                                   \
    template void for_each_block(const Context&, const BsrView<double>&, double*, \
                                 const ScaleBlocks<N>&);
TESSERA_SCALE_BLOCKS(0)
TESSERA_SCALE_BLOCKS(1)
TESSERA_SCALE_BLOCKS(2)
TESSERA_SCALE_BLOCKS(3)
TESSERA_SCALE_BLOCKS(6)
template void for_each_block(const Context&, const BsrView<double>&, double*, const ScaleRows&);
template void for_each_block(const Context&, const BsrView<double>&, double*, const ScaleColumns&);
template void for_each_block(const Context&, const BsrView<double>&, const double*,
                             const MeasureBlock&);
template void exclusive_scan(const Context&, Offset, CountStrong, Offset*);
template void exclusive_scan(const Context&, Offset, PaddedLength<float>, Offset*);
template void exclusive_scan(const Context&, Offset, PaddedLength<double>, Offset*);

namespace {

constexpr int orthonormalise_threads = 128;

struct Lanes {
    int first;
    static constexpr int step = 32;
    __device__ double sum(double value) const { return lanes_sum(value); }
};

__global__ void __launch_bounds__(orthonormalise_threads)
    orthonormalise_kernel(Offset aggregates, const __grid_constant__ Orthonormalise f) {
    const Offset thread = Offset(blockIdx.x) * orthonormalise_threads + threadIdx.x;
    if (thread / 32 < aggregates) f.run(thread / 32, Lanes{int(thread % 32)});
}

}  // namespace

void orthonormalise(const Context& context, Offset aggregates, const Orthonormalise& f) {
    if (aggregates == 0) return;
    const unsigned blocks = blocks_for(aggregates, orthonormalise_threads / 32);
    orthonormalise_kernel<<<blocks, orthonormalise_threads, 0, stream_of(context)>>>(aggregates, f);
    TESSERA_CUDA(cudaGetLastError());
}

}  // namespace tessera::cuda
