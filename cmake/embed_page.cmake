# cmake -D FOLDER=… -P embed_page.cmake: writes FOLDER/page_files.cc with page.js.gz, portal.js.gz and page.css.gz as
# bytes. Each name has a part of its content's digest, so that browsers may keep the file for ever.
foreach(file page.js portal.js page.css)
  string(REGEX MATCH "^([a-z]+)\\.([a-z]+)$" whole ${file})
  set(stem ${CMAKE_MATCH_1})
  set(kind ${CMAKE_MATCH_2})
  file(SHA256 ${FOLDER}/${file} digest)
  string(SUBSTRING ${digest} 0 16 digest)
  set(${stem}_${kind}_name ${stem}-${digest}.${kind})
  file(READ ${FOLDER}/${file}.gz bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" ${stem}_${kind}_bytes "${bytes}")
endforeach()
file(WRITE ${FOLDER}/page_files.cc "// Made of src/web/page.
#include \"web/page_files.h\"

namespace tony::web {
namespace {
constexpr char kScript[] = \"${page_js_bytes}\";
constexpr char kPortalScript[] = \"${portal_js_bytes}\";
constexpr char kStyle[] = \"${page_css_bytes}\";
}  // namespace

PageFile PageScript() {
  return {\"${page_js_name}\", \"text/javascript; charset=utf-8\", {kScript, sizeof kScript - 1}};
}
PageFile PortalScript() {
  return {\"${portal_js_name}\", \"text/javascript; charset=utf-8\", {kPortalScript, sizeof kPortalScript - 1}};
}
PageFile PageStyle() {
  return {\"${page_css_name}\", \"text/css; charset=utf-8\", {kStyle, sizeof kStyle - 1}};
}
}  // namespace tony::web
")
