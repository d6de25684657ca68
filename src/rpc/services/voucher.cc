// The call waits for the connection, but is never repeated: the secret may be used up by then.
#include "rpc/services/voucher.h"

#include <chrono>
#include <memory>

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
                                           Duration limit) {
  Credentials credentials;
  credentials.ca_pem = voucher.authority_pem;
  const std::unique_ptr<v1::LaunchService::Stub> service =
      v1::LaunchService::NewStub(MakeMasterChannel(voucher.address, credentials));
  grpc::ClientContext context;
  context.set_wait_for_ready(true);
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::duration_cast<std::chrono::milliseconds>(limit));
  v1::RedeemRequest request;
  request.set_container_id(ToUtf8(voucher.container_id));
  request.set_secret(ToUtf8(voucher.secret));
  request.set_host(ToUtf8(self.host));
  request.set_host_id(ToUtf8(self.host_id));
  request.set_pid(self.process.pid);
  request.set_start_ticks(self.process.start_ticks);
  for (const int gpu : self.gpus) request.add_gpus(gpu);
  v1::RedeemResponse response;
  const absl::Status status = FromGrpc(service->Redeem(&context, request, &response));
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
