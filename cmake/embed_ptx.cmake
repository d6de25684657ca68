# cmake -D FUNCTION=… -D PTX=… -D OUTPUT=… -P embed_ptx.cmake: writes a C++ file with the PTX as
# text.
file(READ ${PTX} text)
file(WRITE ${OUTPUT} "// Made of a kernel for GPUs.
#include <string_view>

namespace tony::collective {
std::string_view ${FUNCTION}();
std::string_view ${FUNCTION}() { return R\"ptx(${text})ptx\"; }
}  // namespace tony::collective
")
