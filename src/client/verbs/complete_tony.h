// Completes the command line of `tony`.
#pragma once

#include <string>
#include <vector>

#include "client/completion/completion.h"
#include "client/verbs/verbs.h"

namespace tony::client {

/// Completes the last of `words`, which come after the program's name. Prints nothing: where
/// something cannot be read, there is nothing to offer.
Completion CompleteTony(std::vector<std::string> words, const VerbContext& context);

}  // namespace tony::client
