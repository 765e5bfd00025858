# The tests of run.sh, one ctest entry for each of its functions test_NAME: petsc.NAME, and
# petsc.also_K.NAME for the PETScs of TESSERA_PETSC_ALSO.
set(script ${CMAKE_CURRENT_LIST_DIR}/run.sh)
file(STRINGS ${script} functions REGEX "^test_[a-z0-9_]+\\(\\)")
foreach(target IN LISTS petsc_targets)
  string(REGEX REPLACE "^petsctessera_?" "" number ${target})
  set(folder ${CMAKE_CURRENT_BINARY_DIR})
  set(prefix petsc)
  if(number)
    string(APPEND folder /also_${number})
    string(APPEND prefix .also_${number})
  endif()
  foreach(function IN LISTS functions)
    string(REGEX REPLACE "^test_([a-z0-9_]+).*" "\\1" name ${function})
    if(number AND name MATCHES "^(installed|python|dolfinx|ex56)$")
      continue()
    endif()
    add_test(NAME ${prefix}.${name} COMMAND ${script} ${name} ${folder} ${PROJECT_BINARY_DIR}
             "${TESSERA_PETSC_MAIN_INCLUDE_DIRS}")
    set_tests_properties(${prefix}.${name} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 240
                         LABELS petsc)
  endforeach()
endforeach()
