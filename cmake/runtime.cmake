# The runtime bundle for machines without tony: tony-am, tony-executor and tony-driver with all
# libraries that they need, and the Python package for programs (docs/design/runtime-bundle.md).
# Sanitizer builds make no bundle, because their programs run only on this machine.
set(TONY_RUNTIME ${CMAKE_BINARY_DIR}/runtime/tony-runtime.tar.gz)
if(NOT TONY_SANITIZE)
  set(make_runtime ${CMAKE_SOURCE_DIR}/scripts/make-runtime)
  add_custom_command(OUTPUT ${TONY_RUNTIME}
    COMMAND ${make_runtime} ${TONY_RUNTIME} --bin $<TARGET_FILE_DIR:tony-am>
    DEPENDS tony-am tony-executor tony-driver tony_collective_shared ${python_sources}
            ${make_runtime}
    COMMENT "Packing the runtime bundle" VERBATIM)
  add_custom_target(runtime ALL DEPENDS ${TONY_RUNTIME})
endif()
