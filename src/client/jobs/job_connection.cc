// The address comes from am.address, which is renamed into place when the ApplicationMaster is
// ready; the credentials come from the folder's secrets.
#include "client/jobs/job_connection.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "rpc/security/credentials.h"

namespace tony::client {

absl::StatusOr<std::unique_ptr<rpc::JobClient>> ConnectToJob(const storage::JobFolder& folder) {
  absl::StatusOr<std::string> address = os::ReadFile(folder.am_address());
  if (!address.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the ApplicationMaster has not published its address: ",
                     std::string(address.status().message())));
  }
  absl::StripAsciiWhitespace(&*address);
  TONY_ASSIGN_OR_RETURN(const rpc::Credentials credentials,
                        rpc::LoadCredentials(folder.client_credentials()));
  return std::make_unique<rpc::JobClient>(*address, credentials);
}

}  // namespace tony::client
