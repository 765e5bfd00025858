# Tests of the project as a whole: its rules, its installation, its documents. Scripts print
# "SKIPPED name: reason" and return 77 where they cannot run.
function(tessera_add_script name)
  add_test(NAME ${name} COMMAND ${ARGN})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

set(scripts ${PROJECT_SOURCE_DIR}/tests)
tessera_add_script(include_rule ${scripts}/include_rule.sh ${PROJECT_SOURCE_DIR})
tessera_add_script(language ${scripts}/language.sh ${PROJECT_SOURCE_DIR})
tessera_add_script(language.self_test ${scripts}/language.sh --self-test)
tessera_add_script(include_rule.self_test ${scripts}/include_rule.sh --self-test)
tessera_add_script(launcher ${scripts}/launcher.sh ${PROJECT_SOURCE_DIR})

foreach(example coarse_matrix matrix_free several_devices solve time_loop)
  add_executable(example_${example} ${PROJECT_SOURCE_DIR}/examples/${example}.cpp)
  target_link_libraries(example_${example} PRIVATE tessera::tessera)
  tessera_add_script(example.${example} example_${example})
endforeach()
if(TESSERA_CUDA)
  add_executable(example_own_stream ${PROJECT_SOURCE_DIR}/examples/own_stream.cu)
  target_link_libraries(example_own_stream PRIVATE tessera::tessera)
  tessera_add_script(example.own_stream example_own_stream)
endif()
if(TARGET tessera_c)
  add_executable(c_interface ${scripts}/c/c_interface.c ${scripts}/c/arrays.c
                 ${scripts}/c/environment.c)
  target_link_libraries(c_interface PRIVATE tessera_c m)
  target_compile_options(c_interface PRIVATE -std=c11 -Wall -Wextra -pedantic)
  tessera_add_script(c_interface.cpu c_interface cpu)
endif()
# Lines that the compiler refuses, each with the sentence that names another call; 0: none of them.
set(refused none "needs a plan, which waits" "dot_to_host" "deleted function" "deleted function")
set(line 0)
foreach(sentence IN LISTS refused)
  add_test(NAME api.refused_line_${line}
           COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -DLINE=${line}
                   -I${PROJECT_SOURCE_DIR}/include ${scripts}/api/refused_lines.cpp)
  if(line)
    set_tests_properties(api.refused_line_${line} PROPERTIES PASS_REGULAR_EXPRESSION "${sentence}")
  endif()
  math(EXPR line "${line} + 1")
endforeach()
# The Python package with the interpreters that ./check makes ready.
if(NOT TESSERA_SANITIZE)
  set(python_tests ${PROJECT_SOURCE_DIR}/python/tests/run.sh ${PROJECT_BINARY_DIR})
  tessera_add_script(python.cpu ${python_tests} python.cpu "${TESSERA_PYTHON}")
  tessera_add_script(python_newest.cpu ${python_tests} python_newest.cpu "${TESSERA_PYTHON_NEWEST}")
  set(documents ${PROJECT_SOURCE_DIR}/python/tests/with_documents.sh ${PROJECT_BINARY_DIR})
  file(GLOB notebooks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/notebooks/*.ipynb)
  tessera_add_script(notebooks.cpu ${documents} notebooks.cpu "${TESSERA_PYTHON_DOCUMENTS}"
                     ${PROJECT_SOURCE_DIR}/python/tests/notebooks.py ${notebooks})
  tessera_add_script(python_reference ${documents} python_reference "${TESSERA_PYTHON_DOCUMENTS}"
                     -m sphinx -W --keep-going -q -E -b html -d ${PROJECT_BINARY_DIR}/python/doctrees
                     ${PROJECT_SOURCE_DIR}/docs/api ${PROJECT_BINARY_DIR}/api)
endif()
tessera_add_script(readme ${scripts}/readme.sh ${PROJECT_SOURCE_DIR})
set(python python3)
if(TESSERA_PYTHON)
  set(python ${TESSERA_PYTHON})
endif()
tessera_add_script(validation_parts ${python} -B ${scripts}/validation_parts.py)

# Sanitizers change what is compiled and what a program outside must link.
if(NOT TESSERA_SANITIZE)
  tessera_add_script(weak_symbols ${scripts}/weak_symbols.sh ${PROJECT_BINARY_DIR}
                     ${CMAKE_CXX_COMPILER})
  tessera_add_script(install ${scripts}/install/run.sh ${PROJECT_BINARY_DIR}
                     ${CMAKE_COMMAND} ${CMAKE_GENERATOR} ${CMAKE_CXX_COMPILER})
endif()
include(cmake/recipes.cmake)
