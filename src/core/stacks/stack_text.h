// Shows a report of stacks to people.
#pragma once

#include <string>

#include "core/stacks/stack_groups.h"
#include "core/stacks/stack_report.h"

namespace tony::core {

/// The report as lines of text: first the sentence about suspects, then each group with the names,
/// hosts and process ids of its members and its stack, then what could not be read and why. With
/// GroupBy::kAllThreads all threads and all processes are shown. Texts of the program are in it as
/// they are: pass it through SafeLines() before a terminal or a file gets it.
std::string StackText(const StackReport& report, GroupBy by);

}  // namespace tony::core
