// The call waits for the connection, but is never repeated: the secret may be used up by then.
#include "rpc/services/voucher.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/security/grpc_credentials.h"
#include "tony/v1/launch.grpc.pb.h"

namespace tony::rpc {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

using SystemTime = std::chrono::system_clock::time_point;

SystemTime In(Duration time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

/// Returns when the channel is connected, or at `end` at the latest. Unavailable – each attempt of
/// `limit` has failed. An attempt that gets no answer at all goes on until gRPC gives it up.
absl::Status Connect(grpc::Channel& channel, Duration limit, SystemTime end) {
  std::optional<SystemTime> give_up;
  while (std::chrono::system_clock::now() < end) {
    const grpc_connectivity_state state = channel.GetState(/*try_to_connect=*/true);
    if (state == GRPC_CHANNEL_READY) break;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && !give_up) give_up = In(limit);
    if (give_up && std::chrono::system_clock::now() >= *give_up) {
      return absl::UnavailableError(
          "it takes no connection, though it listened when it made the voucher; it is gone, and "
          "the "
          "next one has other vouchers");
    }
    channel.WaitForStateChange(state, std::min(end, give_up.value_or(end)));
  }
  return absl::OkStatus();
}

}  // namespace

std::string FormatVoucher(const Voucher& voucher) {
  return json{{"version", kVersion},
              {"container", voucher.container_id},
              {"address", voucher.address},
              {"authority", voucher.authority_pem},
              {"secret", voucher.secret}}
      .dump();
}

absl::StatusOr<Voucher> ParseVoucher(const std::string& text) {
  // The text has a secret, so no message quotes it.
  try {
    const json object = json::parse(text);
    if (object.at("version").get<int>() != kVersion) {
      return absl::InvalidArgumentError(
          "the voucher is of another version of tony; the launcher and the ApplicationMaster must "
          "start the same one");
    }
    return Voucher{.container_id = object.at("container").get<std::string>(),
                   .address = object.at("address").get<std::string>(),
                   .authority_pem = object.at("authority").get<std::string>(),
                   .secret = object.at("secret").get<std::string>()};
  } catch (const json::exception&) {
    return absl::InvalidArgumentError(
        "the voucher is damaged; the launcher must pass the text of its order unchanged");
  }
}

absl::StatusOr<core::LaunchContext> Redeem(const Voucher& voucher, const Newcomer& self,
                                           RedeemPatience patience) {
  Credentials credentials;
  credentials.ca_pem = voucher.authority_pem;
  const std::shared_ptr<grpc::Channel> channel = MakeMasterChannel(voucher.address, credentials);
  const std::unique_ptr<v1::LaunchService::Stub> service = v1::LaunchService::NewStub(channel);
  const SystemTime end = In(patience.limit);
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(end);
  v1::RedeemRequest request;
  request.set_container_id(ToUtf8(voucher.container_id));
  request.set_secret(ToUtf8(voucher.secret));
  request.set_host(ToUtf8(self.host));
  request.set_host_id(ToUtf8(self.host_id));
  request.set_pid(self.process.pid);
  request.set_start_ticks(self.process.start_ticks);
  for (const int gpu : self.gpus) request.add_gpus(gpu);
  v1::RedeemResponse response;
  absl::Status status = Connect(*channel, patience.connect_limit, end);
  if (status.ok()) status = FromGrpc(service->Redeem(&context, request, &response));
  if (!status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the voucher of ", voucher.container_id,
                                     " is not redeemed by the ApplicationMaster at ",
                                     voucher.address, ": ", std::string(status.message())));
  }
  core::LaunchContext order;
  order.arguments.assign(response.arguments().begin(), response.arguments().end());
  order.environment.assign(response.environment().begin(), response.environment().end());
  order.secret = response.credentials();
  return order;
}

}  // namespace tony::rpc
