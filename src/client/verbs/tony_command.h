// Runs the command `tony`: chooses the verb and maps its errors to exit statuses.
#pragma once

#include <string>
#include <vector>

#include "client/verbs/verbs.h"

namespace tony::client {

/// Runs `tony ARGUMENTS…` and returns its exit status (VerbExit). Errors are printed.
int RunTony(const std::vector<std::string>& arguments, const VerbContext& context);

}  // namespace tony::client
