# Tests of the project as a whole: its rules, its installation, its documents. Scripts print
# "SKIPPED name: reason" and return 77 where they cannot run.
function(tessera_add_script name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

set(scripts ${PROJECT_SOURCE_DIR}/tests)
tessera_add_script(include_rule ${scripts}/include_rule.sh ${PROJECT_SOURCE_DIR})
tessera_add_script(include_rule.self_test ${scripts}/include_rule.sh --self-test)
tessera_add_script(launcher ${scripts}/launcher.sh ${PROJECT_SOURCE_DIR})

add_executable(example_solve ${PROJECT_SOURCE_DIR}/examples/solve.cpp)
target_link_libraries(example_solve PRIVATE tessera::tessera)
tessera_add_script(example example_solve)
tessera_add_script(readme ${scripts}/readme.sh ${PROJECT_SOURCE_DIR})

# Sanitizers change what is compiled and what a program outside must link.
if(NOT TESSERA_SANITIZE)
  tessera_add_script(weak_symbols ${scripts}/weak_symbols.sh ${PROJECT_BINARY_DIR}
                     ${CMAKE_CXX_COMPILER})
  tessera_add_script(install ${scripts}/install/run.sh ${PROJECT_BINARY_DIR}
                     ${CMAKE_COMMAND} ${CMAKE_GENERATOR} ${CMAKE_CXX_COMPILER})
endif()
