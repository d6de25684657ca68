# The pages of src/web/page: a script for a job's page, one for the portal's list, and one style sheet, which esbuild makes of TypeScript and of the libraries
# in third_party/web. The programs contain both, compressed.
find_program(TONY_ESBUILD esbuild)
if(NOT TONY_ESBUILD)
  message(FATAL_ERROR "esbuild is missing, which bundles the job's page; scripts/setup --for build installs it")
endif()

# tony_embed_page(TARGET FOLDER): gives the target the functions of web/page_files.h.
function(tony_embed_page target folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.ts ${folder}/*.tsx ${folder}/*.css ${folder}/tsconfig.json
       ${CMAKE_SOURCE_DIR}/third_party/web/SHA256SUMS)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/page)
  set(bundle ${TONY_ESBUILD} --bundle --minify --charset=utf8 --log-level=warning --target=es2020)
  add_custom_command(OUTPUT ${made}/page_files.cc
    COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
    COMMAND ${bundle} --format=iife --tsconfig=${folder}/tsconfig.json ${folder}/main.tsx --outfile=${made}/page.js
    COMMAND ${bundle} --format=iife --tsconfig=${folder}/tsconfig.json ${folder}/portal.tsx --outfile=${made}/portal.js
    COMMAND ${bundle} ${folder}/style.css --outfile=${made}/page.css
    COMMAND gzip -9nkf ${made}/page.js ${made}/portal.js ${made}/page.css
    COMMAND ${CMAKE_COMMAND} -D FOLDER=${made} -P ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
    DEPENDS ${sources} ${CMAKE_SOURCE_DIR}/cmake/embed_page.cmake
    COMMENT "Bundling the job's page" VERBATIM)
  target_sources(${target} PRIVATE ${made}/page_files.cc)
endfunction()
