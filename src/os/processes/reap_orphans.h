// Taking in the children that others left behind.
#pragma once

namespace tony::os {

/// From now on processes below this one whose parents end become its children, instead of the
/// machine's first process's, which in many containers reaps nobody.
void BecomeSubreaper();

/// Reaps every child that has ended. Only for a process that waits for none of its own children at
/// this moment. Does not wait.
void ReapOrphans();

}  // namespace tony::os
