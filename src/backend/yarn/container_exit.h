// How YARN's words about a container's end are to be understood.
#pragma once

#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// A container's end, and what it says about its node.
struct ContainerExit {
  core::ContainerEnd end;
  bool launch_failed = false;  ///< the node could not start it: localization, its disks
  bool fetch_failed = false;   ///< localization, that is
};

/// Of a container of state COMPLETE. Exit statuses of 0 and more are the executor's own, above 128
/// a signal's; those below 0 are YARN's reasons (ContainerExitStatus), which its diagnostics tell
/// apart further: the one for "aborted" stands for a lost node, where nobody saw the processes end,
/// for a released container, and for one that was never used.
ContainerExit ReadContainerExit(const ::hadoop::yarn::ContainerStatusProto& status);

}  // namespace tony::backend
