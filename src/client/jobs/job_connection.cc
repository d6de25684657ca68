// The address comes from am.address; the credentials come from the folder's secrets.
#include "client/jobs/job_connection.h"

#include "rpc/services/job_connection.h"

namespace tony::client {

absl::StatusOr<std::unique_ptr<rpc::JobClient>> ConnectToJob(const storage::JobFolder& folder) {
  return rpc::ConnectByFiles(folder.am_address(), folder.client_credentials());
}

}  // namespace tony::client
