#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sparse/spmv_sliced/spmv_sliced_f32_cpu.cpp"
#include "hwy/foreach_target.h"
#include "sparse/spmv_sliced/spmv_sliced-inl.h"

#if HWY_ONCE

namespace tessera::cpu {

template decltype(multiply_step<float>) multiply_step<float>;

}  // namespace tessera::cpu
#endif  // HWY_ONCE
