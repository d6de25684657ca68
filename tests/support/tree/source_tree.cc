#include "tests/support/tree/source_tree.h"

namespace tony {

std::string InSourceTree(const std::string& file) { return TONY_SOURCE_DIR "/" + file; }

std::string BuiltProgram(const std::string& name) { return TONY_BUILD_DIR "/bin/" + name; }

std::string InBuildFolder(const std::string& file) { return TONY_BUILD_DIR "/" + file; }

}  // namespace tony
