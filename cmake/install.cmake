# `cmake --install build --prefix P`: what a user needs, stripped. The programs find each other
# relative to themselves (src/os/processes/installation.h), so the folders below P are fixed and P may
# be moved afterwards. scripts/package makes packages of the same tree.
install(CODE "set(CMAKE_INSTALL_DO_STRIP TRUE)")  # as `cmake --install --strip`, also without it

install(TARGETS tony tony-submit RUNTIME DESTINATION bin)
install(TARGETS tony-am tony-executor tony-driver tony-portal RUNTIME DESTINATION libexec/tony)

# tony.collective, for the programs of jobs. Modules of the build are links, so the sources are taken.
install(DIRECTORY python/tony DESTINATION lib/tony/python FILES_MATCHING PATTERN "*.py"
        PATTERN py.typed)
if(NOT TONY_SANITIZE)
  install(TARGETS tony_collective_shared LIBRARY DESTINATION lib/tony/python/tony/collective)
  if(TARGET tony_columns)
    install(TARGETS tony_columns LIBRARY DESTINATION lib/tony/python/tony/cluster)
  endif()
  install(FILES include/tony/collective.h DESTINATION include/tony)
  install(FILES ${TONY_RUNTIME} DESTINATION lib/tony)
endif()

# Links among the documents hold, as everything is where it is in the repository.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION share/doc/tony)
# The licences of what the job's page is made of want to be with every copy.
foreach(library preact uplot)
  install(FILES third_party/web/${library}/LICENSE DESTINATION share/doc/tony RENAME LICENSE.${library})
endforeach()
install(DIRECTORY docs examples integrations DESTINATION share/doc/tony USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE)

# Builds all that is installed, and nothing else.
add_custom_target(installed DEPENDS tony tony-submit tony-am tony-executor tony-driver tony-portal)
if(NOT TONY_SANITIZE)
  add_dependencies(installed tony_collective_shared runtime)
  if(TARGET tony_columns)
    add_dependencies(installed tony_columns)
  endif()
endif()
