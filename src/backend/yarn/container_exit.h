// Interprets YARN's report of a container's end.
#pragma once

#include "core/ports/cluster_backend.h"
#include "hadoop/yarn/records.pb.h"

namespace tony::backend {

/// A container's end, and what it says about the container's node.
struct ContainerExit {
  core::ContainerEnd end;
  /// The node could not start the container: localization or disks failed.
  bool launch_failed = false;
  bool fetch_failed = false;  ///< the localization failed
};

/// Interprets the status of a container in state COMPLETE. Exit statuses from 0 on are the
/// executor's own; those above 128 stand for a signal. Negative statuses are YARN's reasons
/// (ContainerExitStatus), which the diagnostics distinguish further: "aborted" stands for a lost
/// node, where the end of the processes was not observed, for a released container, and for a
/// container that was never used.
ContainerExit ReadContainerExit(const ::hadoop::yarn::ContainerStatusProto& status);

}  // namespace tony::backend
