# cmake -D FOLDER=… -P embed_page.cmake: writes FOLDER/page_files.cc with page.js.gz and page.css.gz as
# bytes. Each name has a part of its content's digest, so that browsers may keep the file for ever.
foreach(kind js css)
  file(SHA256 ${FOLDER}/page.${kind} digest)
  string(SUBSTRING ${digest} 0 16 digest)
  set(${kind}_name page-${digest}.${kind})
  file(READ ${FOLDER}/page.${kind}.gz bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" ${kind}_bytes "${bytes}")
endforeach()
file(WRITE ${FOLDER}/page_files.cc "// Made of src/web/page.
#include \"web/page_files.h\"

namespace tony::web {
namespace {
constexpr char kScript[] = \"${js_bytes}\";
constexpr char kStyle[] = \"${css_bytes}\";
}  // namespace

PageFile PageScript() {
  return {\"${js_name}\", \"text/javascript; charset=utf-8\", {kScript, sizeof kScript - 1}};
}
PageFile PageStyle() {
  return {\"${css_name}\", \"text/css; charset=utf-8\", {kStyle, sizeof kStyle - 1}};
}
}  // namespace tony::web
")
