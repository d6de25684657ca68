// Connects a client to the ApplicationMaster of a job in this machine's folders.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "rpc/services/job_client.h"
#include "storage/job_folder.h"

namespace tony::client {

/// Makes a client with the job's address and credentials; nothing is sent yet. Unavailable – the
/// ApplicationMaster has published no address; PermissionDenied, NotFound – the credentials cannot
/// be read.
absl::StatusOr<std::unique_ptr<rpc::JobClient>> ConnectToJob(const storage::JobFolder& folder);

}  // namespace tony::client
