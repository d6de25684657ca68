# Manual pages and completion for bash, zsh and fish, which tony-manual writes from the tables of
# the programs, and their installation. Sanitizer builds are not installed.
include(GNUInstallDirs)
if(NOT TONY_SANITIZE AND NOT TONY_FUZZ)
  set(share ${CMAKE_BINARY_DIR}/share)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/share.stamp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${share}
    COMMAND tony-manual ${share}
    COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/share.stamp
    DEPENDS tony-manual
    COMMENT "Writing manual pages and completion" VERBATIM)
  add_custom_target(share ALL DEPENDS ${CMAKE_BINARY_DIR}/share.stamp)
  add_dependencies(installed share)
  install(DIRECTORY ${share}/ DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT share)
endif()
