# The processor that the compiler makes code for (when it crosses, another one than CMake runs on):
# TESSERA_BASELINE, the option that names the oldest model; TESSERA_TARGETS, what restricts the targets
# of Highway to those of src/simd/dispatch.hpp; TESSERA_INSTRUCTION_SETS, their names.
include(CheckCXXSymbolExists)
check_cxx_symbol_exists(__x86_64__ cstddef TESSERA_ON_X86_64)
check_cxx_symbol_exists(__aarch64__ cstddef TESSERA_ON_AARCH64)
if(TESSERA_ON_X86_64)
  set(TESSERA_BASELINE -march=x86-64-v2)
  set(TESSERA_TARGETS "")
  set(TESSERA_INSTRUCTION_SETS "SSE4, AVX2, AVX-512 chosen at run time")
elseif(TESSERA_ON_AARCH64)
  set(TESSERA_BASELINE "")
  set(TESSERA_TARGETS HWY_COMPILE_ONLY_STATIC)
  set(TESSERA_INSTRUCTION_SETS NEON)
  # The baseline has fused operations: nowhere, also not in inline functions of public headers and in
  # the host's part of CUDA files, are they made of a product and a sum.
  add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-ffp-contract=off>
                      $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffp-contract=off>)
else()
  message(FATAL_ERROR "Tessera is built for x86-64 and AArch64; ${CMAKE_CXX_COMPILER} makes code for "
                      "${CMAKE_SYSTEM_PROCESSOR}")
endif()
