// The table of all verbs of `tony`, for the program, its manual pages and its completion.
#pragma once

#include <string>
#include <vector>

#include "client/verbs/verbs.h"

namespace tony::client {

/// All verbs, in the order in which the help shows them. Never changes. Thread safe.
const std::vector<Verb>& AllVerbs();

/// The verb with this name or alias; null: there is none.
const Verb* VerbCalled(const std::string& name);

/// The options that every verb takes.
const OptionTable& CommonOptions();

/// The options of `verb`, then those that every verb takes.
OptionTable AllOptions(const Verb& verb);

}  // namespace tony::client
