#pragma once

#include "tessera/context.hpp"

// Highway compiles a kernel file once for each instruction set, through hwy/foreach_target.h; the
// Context selects one of them (Highway's own selection is global to the process). A kernel file
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "sparse/vector_ops/vector_ops_cpu.cpp"
//   #include "hwy/foreach_target.h"
//   #include "hwy/highway.h"
//   HWY_BEFORE_NAMESPACE();
//   namespace tessera::cpu::HWY_NAMESPACE { ... functions on raw pointers ... }
//   HWY_AFTER_NAMESPACE();
//   #if HWY_ONCE
//   namespace tessera::cpu { ... TESSERA_SIMD(context, f)(arguments) ... }
//   #endif
//
// Functions inside HWY_NAMESPACE are static or templates of that namespace, and use no inline
// function of the standard library: the linker may keep any copy of those, also one compiled for
// an instruction set that this CPU lacks.

/// The function of the namespace compiled for the instruction set of `context`, with Highway's
/// names:
///
///   x86-64    N_SSE4 (the baseline), N_AVX2, N_AVX3 (AVX-512)
///   AArch64   HWY_NAMESPACE, here that of the baseline: NEON
///
/// SVE is left out: kernels keep arrays of vectors in registers, and the vectors of SVE, whose size
/// the compiler does not know, cannot be elements of an array.
#if defined(__x86_64__)
#define TESSERA_SIMD(context, ...)                                                           \
    ((context).instruction_set() == ::tessera::InstructionSet::avx512 ? &N_AVX3::__VA_ARGS__ \
     : (context).instruction_set() == ::tessera::InstructionSet::avx2 ? &N_AVX2::__VA_ARGS__ \
                                                                      : &N_SSE4::__VA_ARGS__)
#else
#define TESSERA_SIMD(context, ...) (&HWY_NAMESPACE::__VA_ARGS__)
#endif
