# cmake -D FUNCTION=… -D NAMESPACE=… -D FILE=… -D OUTPUT=… -P embed_text.cmake: writes a C++ file
# with a function that returns the text of FILE.
file(READ ${FILE} text)
file(WRITE ${OUTPUT} "// Made of a file of text.
#include <string>

namespace ${NAMESPACE} {
std::string ${FUNCTION}();
std::string ${FUNCTION}() { return R\"embedded(${text})embedded\"; }
}  // namespace ${NAMESPACE}
")
