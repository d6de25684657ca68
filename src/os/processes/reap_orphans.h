// Adopts and reaps processes whose parents have ended.
#pragma once

namespace tony::os {

/// Makes this process a subreaper: from now on a process below it whose parent ends becomes its
/// child, instead of the child of the machine's first process, which in many containers reaps
/// nobody.
void BecomeSubreaper();

/// Reaps every child that has ended. Only for a process that is not waiting for any of its own
/// children at this moment. Does not wait.
void ReapOrphans();

}  // namespace tony::os
