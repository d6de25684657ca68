# Language level, warnings, compiler cache and sanitizers, the same for every target.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(TONY_CCACHE ccache)
if(TONY_CCACHE)
  # The base folder makes a second clone or build folder hit the same cache entries.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${TONY_CCACHE})
endif()

# Precompiled headers (cmake/targets.cmake). With this option, ccache can tell which header a file
# was compiled with.
if(TONY_FUZZ OR TONY_SANITIZE MATCHES address OR NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
else()
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

add_compile_options(-Wall -Wextra -Wno-missing-field-initializers
                    -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(TONY_MOLD mold)
if(TONY_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(TONY_SANITIZE)
  # With -O2 the compiler takes up to 1.7 times as long. Fuzz targets run for a long time, so they
  # keep it.
  if(NOT TONY_FUZZ)
    string(REPLACE "-O2" "-O1" CMAKE_CXX_FLAGS_RELWITHDEBINFO "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
  endif()
  add_compile_options(-fsanitize=${TONY_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TONY_SANITIZE})
  if(TONY_SANITIZE STREQUAL "thread")
    # ThreadSanitizer does not understand fences. Those in Boost.Asio's headers only add to its
    # locks.
    add_compile_options(-Wno-tsan)
  endif()
elseif(TONY_STATIC_DEPS)
  # Not position independent: starts faster and shares more pages between executors (docs/design/linking.md).
  # Bound at the start, so that libc's functions are looked up once by the fork server, not again by
  # each executor.
  add_compile_options(-fno-pie -ffunction-sections -fdata-sections)
  add_link_options(-no-pie -Wl,--gc-sections -Wl,-z,now)
endif()

if(TONY_FUZZ)
  # Only our own code counts edges; libFuzzer itself is linked into its programs only.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
