# The recipes of CONTRIBUTING.md, followed word by word: the configurations and the lines of both
# registries come from its text, the toy solver is a copy of richardson.hpp, and the toy
# preconditioner is in tests/recipes. The program has registries of its own in place of the library's.
set(recipes ${PROJECT_SOURCE_DIR}/tests/recipes)
set(toys ${PROJECT_SOURCE_DIR}/src/precond/toy ${PROJECT_SOURCE_DIR}/src/krylov/methods/toy.hpp)
foreach(toy IN LISTS toys)
  if(EXISTS ${toy})  # Somebody follows the recipes; the library's toys would be met twice.
    return()
  endif()
endforeach()
set(out ${PROJECT_BINARY_DIR}/recipes)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md
             ${PROJECT_SOURCE_DIR}/src/precond/registry.cpp
             ${PROJECT_SOURCE_DIR}/src/krylov/methods/registry.cpp
             ${PROJECT_SOURCE_DIR}/src/krylov/methods/richardson.hpp)

# Sets `result` to the one part of `text` that matches, without what stands around its group.
function(tessera_extract result text pattern)
  if(NOT text MATCHES "${pattern}")
    message(FATAL_ERROR "CONTRIBUTING.md and its registries no longer have ${pattern}")
  endif()
  set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# A registry of the library with one more include and entry.
function(tessera_registry from to header entry)
  file(READ ${PROJECT_SOURCE_DIR}/src/${from} text)
  tessera_extract(first "${text}" "all = {[ \n]*(entry<[A-Za-z]+>)")
  string(REPLACE "${first}(" "${entry}\n        ${first}(" text "${text}")
  file(CONFIGURE OUTPUT ${out}/${to} @ONLY CONTENT "#include \"${header}\"\n${text}")
endfunction()

file(READ ${PROJECT_SOURCE_DIR}/CONTRIBUTING.md text)
string(REPLACE "\n   " "\n" text "${text}")
tessera_extract(config "${text}" "```cpp\n(struct ToyConfig {.*)\n```\n\nA preconditioner")
tessera_extract(header "${text}" "which includes[ \n]`\"precond/toy/toy.hpp\"`[ \n]and[ \n]`\"([^\"]*)\"`")
tessera_extract(entry "${text}" "`(entry<ToyConfig>[^`]*)`")
file(CONFIGURE OUTPUT ${out}/precond/toy/config.hpp @ONLY CONTENT
     "#pragma once\n\n#include \"precond/toy/toy.hpp\"\n#include \"${header}\"\n\nnamespace tessera {\n\n${config}\n\n}\n")
tessera_registry(precond/registry.cpp precond_registry.cpp precond/toy/config.hpp "${entry}")

tessera_extract(config "${text}" "```cpp\n([^`]*using ToyMethodConfig = [^`]*)\n```")
tessera_extract(entry "${text}" "`(entry<ToyMethodConfig>[^`]*)`")
file(READ ${PROJECT_SOURCE_DIR}/src/krylov/methods/richardson.hpp method)
tessera_extract(last "${method}" "(using RichardsonConfig =[^;]*;)")
string(REPLACE "${last}" "${config}" method "${method}")
string(REPLACE Richardson ToyMethod method "${method}")
file(CONFIGURE OUTPUT ${out}/krylov/methods/toy.hpp @ONLY CONTENT "${method}")
tessera_registry(krylov/methods/registry.cpp methods_registry.cpp krylov/methods/toy.hpp "${entry}")

add_executable(tessera_recipes ${out}/precond_registry.cpp ${out}/methods_registry.cpp
               ${recipes}/precond/toy/toy.cpp ${recipes}/use_toys.cpp)
target_include_directories(tessera_recipes PRIVATE ${out} ${recipes})
target_link_libraries(tessera_recipes PRIVATE tessera tessera_internal)
tessera_add_script(recipes tessera_recipes)
