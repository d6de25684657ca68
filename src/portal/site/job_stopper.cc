// Files are read on a thread, and the answer comes on one of gRPC's.
#include "portal/site/job_stopper.h"

#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "common/status_macros.h"
#include "rpc/services/job_connection.h"

namespace tony::portal {

bool JobStopper::CanReach(const storage::JobFolder& folder) {
  std::error_code ignored;
  return std::filesystem::exists(folder.client_credentials(), ignored);
}

void JobStopper::Stop(const storage::JobFolder& folder, const std::string& why, Done done) {
  if (calls_.size() >= kMost) {
    return done(absl::ResourceExhaustedError(
        absl::StrCat(kMost, " jobs are being told to end; try again in some seconds")));
  }
  const CallPlace call = calls_.insert(calls_.end(), {std::move(done), nullptr});
  using Client = std::shared_ptr<rpc::JobClient>;
  worker_.Run<Client>(
      nullptr,
      [folder](const Worker::Stop&) -> absl::StatusOr<Client> {
        TONY_ASSIGN_OR_RETURN(
            std::unique_ptr<rpc::JobClient> client,
            rpc::ConnectByFiles(folder.am_address(), folder.client_credentials()));
        return Client(std::move(client));
      },
      [this, call, why](const absl::StatusOr<Client>& client) {
        if (!client.ok()) return Finish(call, client.status());
        call->client = *client;
        Ask(call, why);
      });
}

void JobStopper::Ask(CallPlace call, const std::string& why) {
  call->client->StopLater(
      why, kPatience,
      [&loop = loop_, finish = lifetime_.Guard([this, call](const absl::Status& noted) {
        Finish(call, noted);
      })](const absl::Status& noted) { loop.Post([finish, noted] { finish(noted); }); });
}

// The call is forgotten first: whoever hears of it may begin another one.
void JobStopper::Finish(CallPlace call, const absl::Status& noted) {
  const Done done = std::move(call->done);
  calls_.erase(call);
  done(noted);
}

}  // namespace tony::portal
