# Kernels for GPUs, compiled to PTX if there is a CUDA compiler, so that nothing of CUDA is linked.
find_program(TONY_NVCC nvcc HINTS /usr/local/cuda/bin DOC "CUDA's compiler; scripts/cuda-compiler fetches one")
if(NOT TONY_NVCC)
  execute_process(COMMAND ${CMAKE_SOURCE_DIR}/scripts/cuda-compiler --find
    OUTPUT_VARIABLE fetched OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(fetched)
    set(TONY_NVCC ${fetched} CACHE FILEPATH "CUDA's compiler" FORCE)
  endif()
endif()
set(TONY_NVCC_OPTIONS -ptx -O3 -std=c++17 -arch=compute_75 -fmad=false -ccbin ${CMAKE_CXX_COMPILER})

# A compiler that does not work with this C++ compiler counts as missing.
if(TONY_NVCC AND NOT TONY_NVCC_TRIED STREQUAL TONY_NVCC)
  file(WRITE ${CMAKE_BINARY_DIR}/cuda/try.cu "#include <string_view>\n__global__ void Try() {}\n")
  execute_process(COMMAND ${TONY_NVCC} ${TONY_NVCC_OPTIONS} -o try.ptx try.cu
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/cuda RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  if(failed)
    message(STATUS "No kernels for GPUs: ${TONY_NVCC} does not go with ${CMAKE_CXX_COMPILER}: ${why}")
    set(TONY_NVCC "TONY_NVCC-NOTFOUND" CACHE FILEPATH "CUDA's compiler" FORCE)
  endif()
  set(TONY_NVCC_TRIED ${TONY_NVCC} CACHE INTERNAL "")
endif()

# tony_embed_ptx(TARGET FUNCTION KERNEL.cu HEADERS...): gives the target `FUNCTION`, which returns
# the kernel's PTX, or nothing if there is no compiler.
function(tony_embed_ptx target function source)
  get_filename_component(name ${source} NAME_WE)
  set(ptx ${CMAKE_CURRENT_BINARY_DIR}/${name}.ptx)
  set(embedded ${CMAKE_CURRENT_BINARY_DIR}/${name}_ptx.cc)
  set(embed ${CMAKE_COMMAND} -D FUNCTION=${function} -D PTX=${ptx} -D OUTPUT=${embedded}
      -P ${CMAKE_SOURCE_DIR}/cmake/embed_ptx.cmake)
  if(TONY_NVCC)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
    get_filename_component(compiler_folder ${TONY_NVCC} DIRECTORY)
    # For the oldest GPUs that the compiler knows, and in the oldest PTX version with the kernel's
    # instructions: newer GPUs and drivers accept both. The assembler refuses instructions that this
    # version lacks.
    add_custom_command(OUTPUT ${embedded}
      COMMAND ${TONY_NVCC} ${TONY_NVCC_OPTIONS} -I${TONY_SOURCE_ROOT}/src -o ${ptx}
              ${CMAKE_CURRENT_SOURCE_DIR}/${source}
      COMMAND sed -i "s/^[.]version .*/.version 7.0/" ${ptx}
      COMMAND ${compiler_folder}/ptxas -arch=sm_75 -o ${ptx}.cubin ${ptx}
      COMMAND ${embed}
      DEPENDS ${source} ${ARGN} ${CMAKE_SOURCE_DIR}/cmake/embed_ptx.cmake
      COMMENT "Compiling ${name} for GPUs" VERBATIM)
  else()
    file(WRITE ${ptx} "")
    execute_process(COMMAND ${embed})
  endif()
  target_sources(${target} PRIVATE ${embedded})
endfunction()
