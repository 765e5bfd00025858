# One test binary. A folder src/<family>/<operation> with <operation>_test.cpp gives the ctest
# entries <operation>.cpu and, where the test uses a context, <operation>.cuda; operations with
# vector kernels also run once for each lesser instruction set.
find_package(GTest REQUIRED)
file(GLOB_RECURSE test_sources CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/src/*_test.cpp ${PROJECT_SOURCE_DIR}/tests/*_test.cpp)
find_path(TESSERA_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
set(report ${PROJECT_SOURCE_DIR}/apps/tessera)  # What report_test.cpp tests.
add_executable(tessera_tests ${test_sources} ${PROJECT_SOURCE_DIR}/tests/support/test_main.cpp
               ${report}/report/report_json.cpp ${report}/report/report_table.cpp
               ${report}/report/text.cpp)
target_include_directories(tessera_tests SYSTEM PRIVATE ${TESSERA_JSON_INCLUDE})
target_link_libraries(tessera_tests PRIVATE tessera tessera_internal GTest::gtest)
target_include_directories(tessera_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests ${report})
target_precompile_headers(tessera_tests PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/test.hpp)
target_link_options(tessera_tests PRIVATE -static-libstdc++ -static-libgcc)

# Tests run the programs in their own folder, so these are built with them.
if(TARGET tessera_cli)
  add_dependencies(tessera_tests tessera_cli tessera_bench)
endif()

function(tessera_add_test name suite backend isa)
  add_test(NAME ${name} COMMAND tessera_tests --gtest_filter=${suite}.* --gtest_brief=1)
  set(environment "TESSERA_TEST_BACKEND=${backend};TESSERA_POISON=1;TESSERA_ISA=${isa}")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT "${environment}" SKIP_RETURN_CODE 77)
  if(NOT isa)
    set(isa any)
  endif()
  file(APPEND ${PROJECT_BINARY_DIR}/cases "${name} ${suite} ${backend} ${isa} ${kernels}\n")
endfunction()
# The same list for tests/pack/run, which works without CMake, and whether the operation has CUDA
# kernels of its own.
file(WRITE ${PROJECT_BINARY_DIR}/cases "")

foreach(source IN LISTS test_sources)
  get_filename_component(suite ${source} NAME)
  string(REGEX REPLACE "_test\\.cpp$" "" suite ${suite})
  get_filename_component(folder ${source} DIRECTORY)
  get_filename_component(operation ${folder} NAME)
  file(GLOB cuda_kernels ${folder}/${suite}*.cu ${folder}/${operation}*.cu ${folder}/*.cuh)
  if(cuda_kernels)
    set(kernels own)
  else()
    set(kernels none)
  endif()
  tessera_add_test(${suite}.cpu ${suite} cpu "")
  # The test uses a context, or a test header that it includes does, at any depth.
  set(uses_context "")
  set(files ${source})
  while(files)
    list(POP_FRONT files file)
    file(STRINGS ${file} found REGEX "(^|[^A-Za-z0-9_>.:])(test::)?context\\(\\)")
    list(APPEND uses_context ${found})
    file(STRINGS ${file} headers REGEX "^#include \"[a-z_/]*/test_[a-z_]*\\.hpp\"")
    list(TRANSFORM headers REPLACE ".*\"(.*)\"" "${PROJECT_SOURCE_DIR}/src/\\1")
    list(APPEND files ${headers})
  endwhile()
  # An operation has vector kernels in its folder or in the rooms below.
  set(has_vector_kernels "")
  file(GLOB_RECURSE cpu_kernels ${folder}/*_cpu.cpp)
  foreach(file IN LISTS cpu_kernels)
    if(uses_context OR file STREQUAL "${folder}/${suite}_cpu.cpp")
      file(STRINGS ${file} found REGEX "hwy/foreach_target")
      list(APPEND has_vector_kernels ${found})
    endif()
  endforeach()
  if(has_vector_kernels)
    tessera_add_test(${suite}.cpu.sse4 ${suite} cpu sse4)
    tessera_add_test(${suite}.cpu.avx2 ${suite} cpu avx2)
  endif()
  if(uses_context)
    tessera_add_test(${suite}.cuda ${suite} cuda "")
  endif()
endforeach()

include(cmake/project_tests.cmake)
