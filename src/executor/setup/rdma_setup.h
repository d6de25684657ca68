// Prepares a program that needs a network adapter for RDMA.
#pragma once

#include <sys/resource.h>

#include <string>

#include "absl/status/statusor.h"
#include "core/runtime/runtime.h"

namespace tony::executor {

/// The means of a machine for a program that needs RDMA. A plain value.
struct RdmaSetup {
  core::Environment variables;  ///< variables to lay over the task's
  std::string sentence;         ///< the ports, for people
};

/// Looks for active ports whose device file this user may open. The variables let NCCL and UCX use
/// these ports; one that `of_job` has keeps its value. `root`: the root of the file system.
/// `lockable`: how much memory the program may lock, in bytes.
///
/// FailedPrecondition – the machine has no adapter, or none with an active port; the user may not
/// open it; or too little memory may be locked. The sentence says what to do.
absl::StatusOr<RdmaSetup> SetUpRdma(const core::Environment& of_job, const std::string& root,
                                    rlim_t lockable);

/// How much memory this process and its children may lock, in bytes; RLIM_INFINITY: any amount.
rlim_t LockableMemory();

}  // namespace tony::executor
