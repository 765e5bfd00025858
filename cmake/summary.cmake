# What will be built, and how to get what will not.
message(STATUS "Tessera ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}")
message(STATUS "  CPU backend    on   (SSE4, AVX2, AVX-512 chosen at run time)")
if(TESSERA_WITH_CUDA)
  message(STATUS "  CUDA backend   on   (nvcc ${CMAKE_CUDA_COMPILER_VERSION}, ${CMAKE_CUDA_ARCHITECTURES})")
elseif(cuda_wanted STREQUAL "OFF")
  message(STATUS "  CUDA backend   off  (TESSERA_CUDA=${TESSERA_CUDA})")
else()
  message(STATUS "  CUDA backend   off  (no nvcc: install the CUDA toolkit 13.0 or newer, or pass "
                 "-DCMAKE_CUDA_COMPILER=/path/to/nvcc)")
endif()
message(STATUS "  command line   ${TESSERA_APPS}")
message(STATUS "  tests          ${TESSERA_TESTS}")
message(STATUS "  Python module  ${TESSERA_PYTHON_MODULE}")
