#include "base/check_cuda.hpp"
#include "gpu/launch.cuh"
#include "krylov/bicgstab_steps.hpp"
#include "krylov/cg_steps.hpp"
#include "krylov/gmres_steps.hpp"
#include "krylov/idr_steps.hpp"
#include "krylov/minres_steps.hpp"
#include "krylov/richardson_steps.hpp"
#include "krylov/run_step.hpp"
#include "krylov/sqmr_steps.hpp"

namespace tessera::cuda {

namespace {

template <class Step>
__global__ void step_kernel(Step step) {
    step();
}

}  // namespace

template <class Step>
void run_step(const Context& context, const Step& step) {
    step_kernel<<<1, 1, 0, stream_of(context)>>>(step);
    TESSERA_CUDA(cudaGetLastError());
}

#define TESSERA_INSTANTIATE(Step)                                            \
    template void run_step<Step<float>>(const Context&, const Step<float>&); \
    template void run_step<Step<double>>(const Context&, const Step<double>&);
TESSERA_INSTANTIATE(CgAlpha)
TESSERA_INSTANTIATE(CgBeta)
TESSERA_INSTANTIATE(RichardsonBegin)
TESSERA_INSTANTIATE(RichardsonEnd)
TESSERA_INSTANTIATE(BicgstabStart)
TESSERA_INSTANTIATE(BicgstabAlpha)
TESSERA_INSTANTIATE(BicgstabOmega)
TESSERA_INSTANTIATE(BicgstabBeta)
TESSERA_INSTANTIATE(IdrNegate)
TESSERA_INSTANTIATE(IdrNormalise)
TESSERA_INSTANTIATE(IdrStart)
TESSERA_INSTANTIATE(IdrProject)
TESSERA_INSTANTIATE(IdrBiorthogonalise)
TESSERA_INSTANTIATE(IdrUpdate)
TESSERA_INSTANTIATE(IdrOmega)
TESSERA_INSTANTIATE(IdrEnd)
TESSERA_INSTANTIATE(IdrReplaced)
TESSERA_INSTANTIATE(IdrSmooth)
TESSERA_INSTANTIATE(GmresBegin)
TESSERA_INSTANTIATE(GmresProject)
TESSERA_INSTANTIATE(GmresRotate)
TESSERA_INSTANTIATE(GmresSolve)
TESSERA_INSTANTIATE(MinresStart)
TESSERA_INSTANTIATE(MinresLanczos)
TESSERA_INSTANTIATE(MinresRotate)
TESSERA_INSTANTIATE(MinresEnd)
TESSERA_INSTANTIATE(SqmrStart)
TESSERA_INSTANTIATE(SqmrAlpha)
TESSERA_INSTANTIATE(SqmrSmooth)
TESSERA_INSTANTIATE(SqmrBeta)

}  // namespace tessera::cuda
