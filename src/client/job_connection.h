// How a client reaches the ApplicationMaster of a job in this machine's folders.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "backend/job_folder.h"
#include "rpc/job_client.h"

namespace tony::client {

/// A client with the job's address and credentials; nothing is sent yet.
/// Unavailable – the ApplicationMaster has published no address; PermissionDenied, NotFound – the
/// credentials cannot be read.
absl::StatusOr<std::unique_ptr<rpc::JobClient>> ConnectToJob(const backend::JobFolder& folder);

}  // namespace tony::client
