// Completes KEY=VALUE by the table of configuration keys.
#pragma once

#include <string>
#include <vector>

#include "client/completion/completion.h"

namespace tony::client {

/// The keys that begin with `word`, as KEY=, up to the next point where several keys go on behind
/// it: there are hundreds of keys. Behind `=`: the values of a key that has only a few, or files.
/// `types`: the task types that the line has named so far; usual ones are offered as well. Keys
/// without effect are left out.
Completion CompleteKeyValue(const std::string& word, const std::vector<std::string>& types);

/// The task types in `key_values`, which are of the form KEY=VALUE.
std::vector<std::string> TypesIn(const std::vector<std::string>& key_values);

}  // namespace tony::client
