# The library `tessera`: every source of src/, found by name.
find_package(Threads REQUIRED)
set(ZLIB_USE_STATIC_LIBS ON)
find_package(ZLIB REQUIRED)
find_path(TESSERA_HIGHWAY_INCLUDE hwy/highway.h REQUIRED)
find_path(TESSERA_FMT_INCLUDE fmt/format-inl.h REQUIRED)
find_path(TESSERA_FAST_FLOAT_INCLUDE fast_float/fast_float.h REQUIRED)

file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp)
list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cpp$")
if(TESSERA_WITH_CUDA)
  file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cu)
  list(APPEND sources ${cuda_sources})
else()
  list(FILTER sources EXCLUDE REGEX "_cuda\\.cpp$")
endif()
if(TESSERA_WITH_CUDA)  # Its scalar steps run on the GPU, too; see run_step.hpp.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/src/krylov/methods/registry.cpp PROPERTIES LANGUAGE CUDA)
endif()
add_library(tessera ${sources})
add_library(tessera::tessera ALIAS tessera)
set_target_properties(tessera PROPERTIES VERSION ${PROJECT_VERSION}
                      SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

include(cmake/instantiate.cmake)

# What the library and its tests are compiled with.
add_library(tessera_internal INTERFACE)
target_include_directories(tessera_internal INTERFACE ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include)
target_include_directories(tessera_internal SYSTEM INTERFACE ${TESSERA_HIGHWAY_INCLUDE}
                           ${TESSERA_FMT_INCLUDE} ${TESSERA_FAST_FLOAT_INCLUDE})
set(tile_mask 0)  # Bit w/2 for the register width w.
foreach(width IN LISTS TESSERA_TILES)
  math(EXPR remainder "${width} % 2")
  if(NOT remainder EQUAL 0 OR width LESS 2 OR width GREATER 32)
    message(FATAL_ERROR "TESSERA_TILES holds ${width}; widths are even numbers in 2..32")
  endif()
  math(EXPR tile_mask "${tile_mask} | (1 << (${width} / 2))")
endforeach()
if(NOT 32 IN_LIST TESSERA_TILES)
  message(FATAL_ERROR "TESSERA_TILES must hold 32, the largest block")
endif()
target_compile_definitions(tessera_internal INTERFACE TESSERA_TILE_MASK=${tile_mask}
  TESSERA_WITH_CUDA=$<BOOL:${TESSERA_WITH_CUDA}> HWY_DISABLE_PCLMUL_AES ${TESSERA_TARGETS}
  FMT_HEADER_ONLY=0)
# No contraction, so that results repeat.
target_compile_options(tessera_internal INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wshadow;${TESSERA_BASELINE};-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall;--expt-relaxed-constexpr;--extended-lambda;--compress-mode=size;-Wno-deprecated-gpu-targets>)

target_include_directories(tessera PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
target_compile_features(tessera PUBLIC cxx_std_20)
target_link_libraries(tessera PRIVATE $<BUILD_INTERFACE:tessera_internal> Threads::Threads
                      ZLIB::ZLIB)
if(TESSERA_WITH_CUDA)
  target_link_libraries(tessera PRIVATE CUDA::cudart_static)
  target_include_directories(tessera SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endif()

# The commit is looked up whenever something is built, and baked in.
add_custom_target(tessera_commit
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${PROJECT_SOURCE_DIR} -D OUT=${PROJECT_BINARY_DIR}/commit.hpp
          -P ${PROJECT_SOURCE_DIR}/cmake/commit.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/commit.hpp)
add_dependencies(tessera tessera_commit)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/base/context.cpp APPEND PROPERTY COMPILE_DEFINITIONS
             TESSERA_VERSION="${PROJECT_VERSION}"
             TESSERA_COMMIT_FILE="${PROJECT_BINARY_DIR}/commit.hpp")
