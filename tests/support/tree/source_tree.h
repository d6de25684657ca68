// Where the tests find what is not in their own program. Only source_tree.cc is compiled with the
// folders' paths, so that ccache finds the other objects also for a clone elsewhere.
#pragma once

#include <string>

namespace tony {

/// The path of `file`, e.g. "docs/configuration.md", in the source tree.
std::string InSourceTree(const std::string& file);

/// The path of the built program `name`, e.g. "tony-executor".
std::string BuiltProgram(const std::string& name);

/// The path of `file` in the build folder.
std::string InBuildFolder(const std::string& file);

}  // namespace tony
