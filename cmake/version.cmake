# tony_version: the library with the text of --version. The commit stands in one generated file that
# is written again when git's log of HEAD has grown, so a commit compiles that file and links the
# programs.
#
# Run as a script, `cmake -D SOURCE=… -D VERSION=… -D OUTPUT=… -P version.cmake`, it writes that file.
if(CMAKE_SCRIPT_MODE_FILE)
  # A repository around an unpacked archive is not the archive's.
  set(commit "")
  if(EXISTS ${SOURCE}/.git)
    execute_process(COMMAND git -C ${SOURCE} log -1 --abbrev=7 "--format=%h, %cs"
      OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  else()
    file(STRINGS ${SOURCE}/cmake/commit.txt commit LIMIT_COUNT 1)
  endif()
  if(NOT commit MATCHES "^[0-9a-f]+, [0-9-]+$")
    set(commit "unknown")
  endif()
  file(WRITE ${OUTPUT} "// Written by cmake/version.cmake.
#include \"common/version.h\"

std::string tony::VersionText() { return \"tony ${VERSION} (commit ${commit})\"; }
")
  return()
endif()

set(version_source ${CMAKE_BINARY_DIR}/version/version_text.cc)
# In a work tree the log is elsewhere than in .git. It grows with each commit, checkout and reset.
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} rev-parse --path-format=absolute --git-path logs/HEAD
  OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/.git OR NOT EXISTS "${head_log}")
  set(head_log "")
endif()
add_custom_command(OUTPUT ${version_source}
  COMMAND ${CMAKE_COMMAND} -D SOURCE=${CMAKE_SOURCE_DIR} -D VERSION=${PROJECT_VERSION}
          -D OUTPUT=${version_source} -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
  DEPENDS ${CMAKE_SOURCE_DIR}/cmake/version.cmake ${CMAKE_SOURCE_DIR}/cmake/commit.txt ${head_log}
  COMMENT "Noting the commit" VERBATIM)
add_library(tony_version STATIC ${version_source})
target_include_directories(tony_version PRIVATE ${CMAKE_SOURCE_DIR}/src)
