// The address is renamed into place when the ApplicationMaster is ready.
#include "rpc/services/job_connection.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "os/files/files.h"
#include "rpc/security/credentials.h"

namespace tony::rpc {

absl::StatusOr<std::unique_ptr<JobClient>> ConnectByFiles(const std::string& address,
                                                          const std::string& credentials) {
  absl::StatusOr<std::string> master = os::ReadFile(address);
  if (!master.ok()) {
    return absl::UnavailableError(
        absl::StrCat("the ApplicationMaster has not published its address: ",
                     std::string(master.status().message())));
  }
  absl::StripAsciiWhitespace(&*master);
  TONY_ASSIGN_OR_RETURN(const Credentials own, LoadCredentials(credentials));
  return std::make_unique<JobClient>(*master, own);
}

}  // namespace tony::rpc
