# tessera_instantiate_in(TARGET HEADER NAMESPACE FUNCTIONS ARGUMENTS...)
#
# Compiles the function templates of HEADER for each ARGUMENTS, in an object file of TARGET of its
# own: "float, 11, 16" becomes, for each of the FUNCTIONS (a list) in namespace tessera::NAMESPACE,
#     template decltype(FUNCTION<float, 11, 16>) FUNCTION<float, 11, 16>;
function(tessera_instantiate_in target header namespace functions)
  if(NOT TESSERA_WITH_CUDA)
    return()
  endif()
  get_filename_component(folder ${header} DIRECTORY)
  list(GET functions 0 first)
  foreach(arguments IN LISTS ARGN)
    set(lines "")
    foreach(function IN LISTS functions)
      string(APPEND lines "template decltype(${function}<${arguments}>) ${function}<${arguments}>;\n")
    endforeach()
    string(REGEX REPLACE "[^A-Za-z0-9]+" "_" name "${first}_${arguments}")
    set(file ${PROJECT_BINARY_DIR}/instantiations/${folder}/${name}.cu)
    file(CONFIGURE OUTPUT ${file} @ONLY CONTENT
         "#include \"${header}\"\n\nnamespace tessera::${namespace} {\n${lines}}\n")
    target_sources(${target} PRIVATE ${file})
  endforeach()
endfunction()

# The same for a header of the library: src/HEADER.
function(tessera_instantiate header namespace functions)
  tessera_instantiate_in(tessera ${header} ${namespace} "${functions}" ${ARGN})
endfunction()

set(pivotings fixed partial bunch_kaufman rook full)
foreach(pivoting IN LISTS pivotings)
  set(${pivoting} "Pivoting::${pivoting}, float" "Pivoting::${pivoting}, double")
endforeach()
set(value_pairs "float, float" "f16, float" "bf16, float" "double, double" "float, double"
    "f16, double" "bf16, double")  # Stored values, vectors.

tessera_instantiate(batched/invert/invert_small.cuh batched::cuda invert_fixed_size
                    "float, 1, 10" "float, 11, 16" "float, 17, 24" "float, 25, 32"
                    "double, 1, 10" "double, 11, 16" "double, 17, 24")
tessera_instantiate(batched/invert/invert_small.cuh batched::cuda invert_any_size float double)
set(ldu ${fixed} ${partial} ${full})
set(llt ${fixed} ${full})
set(ldlt ${fixed} ${bunch_kaufman} ${rook} ${full})
tessera_instantiate(batched/factor/factor_ldlt.cuh batched::cuda factorise_ldlt ${ldlt})
foreach(kind ldu llt)
  list(TRANSFORM ${kind} PREPEND "Factorisation::${kind}, ")
  tessera_instantiate(batched/factor/factor_any_size.cuh batched::cuda factorise_as ${${kind}})
endforeach()
list(FILTER ldu EXCLUDE REGEX full)
list(FILTER llt EXCLUDE REGEX full)
tessera_instantiate(batched/factor/factor_per_thread.cuh batched::cuda factorise_per_thread
                    ${ldu} ${llt})
tessera_instantiate(batched/multiply/multiply_pipeline.cuh batched::cuda multiply_pipelined
                    float double)
tessera_instantiate(batched/norm/norm_pipeline.cuh batched::cuda norm_pipelined float double)
tessera_instantiate(batched/solve/solve_tile.cuh batched::cuda solve float double)
foreach(pivoting true false)
  foreach(type float double)
    tessera_instantiate(batched/solve/solve_small.cuh batched::cuda solve_fixed_size
                        "${type}, ${pivoting}, 1, 8" "${type}, ${pivoting}, 9, 16"
                        "${type}, ${pivoting}, 17, 24" "${type}, ${pivoting}, 25, 32")
    tessera_instantiate(batched/solve/solve_small.cuh batched::cuda solve_any_size
                        "${type}, ${pivoting}")
    tessera_instantiate(batched/solve/solve_panels.cuh batched::cuda solve_large
                        "${type}, ${pivoting}")
  endforeach()
endforeach()
tessera_instantiate(batched/solve/solve_tile.cuh batched::cuda inverse_from_factors float double)
tessera_instantiate(precond/block_jacobi/apply/apply_pipeline.cuh cuda apply_pipeline float double)
foreach(type float double)
  tessera_instantiate(precond/block_jacobi/setup/setup_fused.cuh cuda setup_fused
                      "${type}, false" "${type}, true")
endforeach()
tessera_instantiate(precond/incomplete/solve/triangular_solve.cuh incomplete::cuda
                    "triangular_product;reset_solve;solve_rows;diagonal_product;factor_product"
                    float double)
tessera_instantiate(precond/incomplete/numeric/level_group.cuh incomplete::cuda
                    "factor_levels;factor_blocks" float double)
tessera_instantiate(precond/incomplete/numeric/schur.cuh incomplete::cuda
                    "schur_diagonals;schur_blocks;scale_blocks" float double)
foreach(column std::uint16_t Index)
  list(TRANSFORM value_pairs PREPEND "${column}, " OUTPUT_VARIABLE columns_and_values)
  foreach(function multiply_one multiply_several)
    tessera_instantiate(sparse/spmv_sliced/spmv_sliced.cuh cuda ${function}
                        ${columns_and_values})
  endforeach()
endforeach()
