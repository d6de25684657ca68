# The Python packages for PYTHONPATH=${TONY_PYTHON_DIR}. Modules are links to the source tree, so a
# change takes effect at once. Built files lie beside them.
set(TONY_PYTHON_DIR ${CMAKE_BINARY_DIR}/python)

file(GLOB_RECURSE python_modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python
     ${CMAKE_SOURCE_DIR}/python/*.py ${CMAKE_SOURCE_DIR}/python/*/py.typed)
# Removes links to modules that do not exist any more.
file(GLOB_RECURSE linked_modules RELATIVE ${TONY_PYTHON_DIR} ${TONY_PYTHON_DIR}/*.py)
list(REMOVE_ITEM linked_modules ${python_modules})
foreach(module ${linked_modules})
  file(REMOVE ${TONY_PYTHON_DIR}/${module})
endforeach()
set(python_sources ${python_modules})
list(TRANSFORM python_sources PREPEND ${CMAKE_SOURCE_DIR}/python/)
foreach(module ${python_modules})
  get_filename_component(folder ${TONY_PYTHON_DIR}/${module} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/${module} ${TONY_PYTHON_DIR}/${module} SYMBOLIC)
endforeach()
