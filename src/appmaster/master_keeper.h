// Restarts the ApplicationMaster of a detached job, because no client is there to do it.
#pragma once

#include <string>

namespace tony::appmaster {

/// Forks the calling process in two. The call returns in the child, which is to become the
/// ApplicationMaster. It returns how the ApplicationMaster before it ended ("was killed by signal 9
/// (SIGKILL)"), and an empty text in the first one. The parent is the keeper and never returns:
/// 1. The keeper waits for the ApplicationMaster's end.
/// 2. If the ApplicationMaster did not exit by itself with code 0, the keeper forks another one,
///    as core::MasterRestarts allows with a budget of `restarts`; then it exits with the last one's
///    code.
/// 3. The keeper passes SIGTERM, SIGINT and SIGHUP on. While it waits before the next start,
///    such a signal ends the keeper.
///
/// If the keeper itself is killed, the ApplicationMaster goes on without it. Call this while the
/// process has only one thread. If fork fails, the caller goes on without a keeper.
std::string SplitOffKeeper(int restarts);

}  // namespace tony::appmaster
