// Completes the command line of tony-submit.
#pragma once

#include <string>
#include <vector>

namespace tony::client {

/// The answer (RenderCompletion()) for the last of `words`, which come after the program's name.
std::string CompleteSubmit(std::vector<std::string> words);

}  // namespace tony::client
