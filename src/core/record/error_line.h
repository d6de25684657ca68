// The line of a program's output that names the exception that ended it.
#pragma once

#include <string>
#include <vector>

namespace tony::core {

/// The last of `lines` that names an exception as Python prints it at the end of a traceback, from
/// the exception's name on: "RuntimeError: bad batch 17". Text in front, such as "[rank1]: ", is left
/// out. Empty if there is none.
std::string ErrorLine(const std::vector<std::string>& lines);

}  // namespace tony::core
