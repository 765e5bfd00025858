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

/// The function of the namespace compiled for the instruction set of `context`.
#define TESSERA_SIMD(context, ...)                                                           \
    ((context).instruction_set() == ::tessera::InstructionSet::avx512 ? &N_AVX3::__VA_ARGS__ \
     : (context).instruction_set() == ::tessera::InstructionSet::avx2 ? &N_AVX2::__VA_ARGS__ \
                                                                      : &N_SSE4::__VA_ARGS__)
