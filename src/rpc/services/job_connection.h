// Connects a client to the ApplicationMaster of a job whose files lie on this machine.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "rpc/services/job_client.h"

namespace tony::rpc {

/// Makes a client with the address in the file `address` and the credentials in the file
/// `credentials`; nothing is sent yet. Unavailable – the ApplicationMaster has published no
/// address; the codes of LoadCredentials().
absl::StatusOr<std::unique_ptr<JobClient>> ConnectByFiles(const std::string& address,
                                                          const std::string& credentials);

}  // namespace tony::rpc
