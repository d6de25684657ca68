# The Python packages as they are used: PYTHONPATH=${TONY_PYTHON_DIR}. Modules are links to the source tree, so that a
# change is seen at once; what is built lies beside them.
set(TONY_PYTHON_DIR ${CMAKE_BINARY_DIR}/python)

file(GLOB_RECURSE python_modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/python
     ${CMAKE_SOURCE_DIR}/python/*.py)
foreach(module ${python_modules})
  get_filename_component(folder ${TONY_PYTHON_DIR}/${module} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/python/${module} ${TONY_PYTHON_DIR}/${module} SYMBOLIC)
endforeach()
