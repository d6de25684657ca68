# One target per folder: every .cc below the folder belongs to it.
set(TONY_SOURCE_ROOT ${CMAKE_CURRENT_SOURCE_DIR})

# tony_library(NAME [LIBRARIES ...]): the folder's sources, without main.cc, as a static library.
function(tony_library name)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  list(FILTER sources EXCLUDE REGEX "/main(_[a-z]+)?\\.cc$")
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${TONY_SOURCE_ROOT}/src)
    target_link_libraries(${name} INTERFACE ${ARG_LIBRARIES})
    return()
  endif()
  add_library(${name} STATIC ${sources})
  target_include_directories(${name} PUBLIC ${TONY_SOURCE_ROOT}/src)
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES})
endfunction()

# tony_program(NAME MAIN LIBRARIES ...): one binary from one main file.
function(tony_program name main)
  cmake_parse_arguments(ARG "" "" "LIBRARIES" ${ARGN})
  if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${main})
    return()
  endif()
  add_executable(${name} ${main})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
endfunction()

# tony_test(NAME [LABEL fast|slow] [LIBRARIES ...]): the folder's tests as one binary, each test known to ctest.
function(tony_test name)
  cmake_parse_arguments(ARG "" "LABEL" "LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${name} ${sources})
  target_include_directories(${name} PRIVATE ${TONY_SOURCE_ROOT})
  target_compile_definitions(${name} PRIVATE TONY_SOURCE_DIR="${TONY_SOURCE_ROOT}" TONY_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} GTest::gmock GTest::gtest_main)
  # Listing the tests takes milliseconds, but for a program that is read from the disk first.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()

include(GoogleTest)
