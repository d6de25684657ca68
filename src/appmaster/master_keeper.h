// Restarts the ApplicationMaster of a detached job, which has no client to do it.
#pragma once

namespace tony::appmaster {

/// Splits the calling process in two, and returns in the one that is to be the ApplicationMaster,
/// with its number from 1. The other one keeps it: it waits for its end, and forks another when it
/// did not end by itself with code 0, as core::MasterRestarts says with a budget of `restarts`,
/// then ends with its code. What tells the keeper to end (SIGTERM, SIGINT, SIGHUP) is passed on,
/// and ends it where it waits before the next start. Should the keeper be killed, the
/// ApplicationMaster goes on without. To be called before there is a second thread; where nothing
/// can be forked the caller goes on unkept.
int SplitOffKeeper(int restarts);

}  // namespace tony::appmaster
