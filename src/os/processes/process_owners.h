// Tells who else uses this machine.
#pragma once

#include <string>

namespace tony::os {

/// The name of a person other than this user who runs a process on this machine; empty if there is
/// none to be seen. System accounts and root do not count. Makes one pass over /proc. Thread safe.
std::string AnotherPerson();

}  // namespace tony::os
