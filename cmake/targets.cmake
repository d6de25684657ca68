# One target per folder: every .cc below the folder belongs to it.
set(TONY_SOURCE_ROOT ${CMAKE_CURRENT_SOURCE_DIR})

# Headers that nearly every file includes are precompiled: the standard library's and abseil's for
# all, GoogleTest's also for the tests (CONTRIBUTING.md). The asan build does without, so that it
# finds files that do not include what they use.
file(GENERATE OUTPUT ${CMAKE_BINARY_DIR}/headers/headers.cc CONTENT "")
foreach(name tony_headers tony_test_headers)
  add_library(${name} STATIC ${CMAKE_BINARY_DIR}/headers/headers.cc)
  target_precompile_headers(${name} PRIVATE
    <algorithm> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <string>
    <string_view> <utility> <variant> <vector>
    <absl/status/status.h> <absl/status/statusor.h> <absl/strings/match.h>
    <absl/strings/str_cat.h> <absl/strings/str_join.h> <absl/strings/str_split.h>)
endforeach()
target_precompile_headers(tony_test_headers PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
target_link_libraries(tony_test_headers PRIVATE GTest::gmock)

# The tests' own code is compiled with -O1, which takes 28 % less compile time than -O2. The code
# under test is not.
set(TONY_TEST_OPTIMIZATION "")
if(CMAKE_CXX_FLAGS_RELWITHDEBINFO MATCHES "-O2" AND CMAKE_BUILD_TYPE STREQUAL RelWithDebInfo AND NOT TONY_FUZZ)
  set(TONY_TEST_OPTIMIZATION -O1)
endif()
target_compile_options(tony_test_headers PRIVATE ${TONY_TEST_OPTIMIZATION})

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
  target_precompile_headers(${name} REUSE_FROM tony_headers)
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
  target_precompile_headers(${name} REUSE_FROM tony_headers)
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES})
endfunction()

# The .cc files of the current folder and its sub-folders, except folders that build something of
# their own: those with a CMakeLists.txt, and the named programs.
function(tony_find_tests result)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.cc)
  set(found "")
  foreach(file ${files})
    get_filename_component(folder ${file} DIRECTORY)
    set(own OFF)
    while(NOT folder STREQUAL "")
      get_filename_component(name ${folder} NAME)
      if(name STREQUAL programs OR EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
        set(own ON)
      endif()
      get_filename_component(folder ${folder} DIRECTORY)
    endwhile()
    if(NOT own)
      list(APPEND found ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# tony_test(NAME [FLAT] [LABEL fast|slow] [LIBRARIES ...]): builds the tests of the folder, and of
# its sub-folders unless FLAT, as one binary. ctest knows each test.
function(tony_test name)
  cmake_parse_arguments(ARG "FLAT" "LABEL" "LIBRARIES" ${ARGN})
  if(ARG_FLAT)
    file(GLOB sources CONFIGURE_DEPENDS *.cc)
  else()
    tony_find_tests(sources)
  endif()
  if(NOT sources)
    return()
  endif()
  if(NOT ARG_LABEL)
    set(ARG_LABEL fast)
  endif()
  add_executable(${name} ${sources})
  target_precompile_headers(${name} REUSE_FROM tony_test_headers)
  target_compile_options(${name} PRIVATE ${TONY_TEST_OPTIMIZATION})
  target_include_directories(${name} PRIVATE ${TONY_SOURCE_ROOT})
  target_link_libraries(${name} PRIVATE ${ARG_LIBRARIES} tony_test_tree GTest::gmock GTest::gtest_main)
  # Listing the tests takes milliseconds, unless the program has to be read from the disk first.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120
    PROPERTIES LABELS ${ARG_LABEL} TIMEOUT 300)
endfunction()

include(GoogleTest)
