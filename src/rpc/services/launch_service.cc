// A request is checked on gRPC's thread. Its answer comes from the event loop, and may come when
// the executor has given up.
#include "rpc/services/launch_service.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/convert/status_convert.h"
#include "rpc/services/held_call.h"
#include "rpc/services/refused.h"

namespace tony::rpc {
namespace {

constexpr size_t kMostHostBytes = 255;
constexpr int kMostGpus = 1024;

bool IsHostCharacter(unsigned char letter) {
  return std::isalnum(letter) != 0 || letter == '.' || letter == '-' || letter == '_' ||
         letter == ':';
}

/// The host goes into the cluster spec and the users' environment, so it must be one.
absl::Status Check(const v1::RedeemRequest& request) {
  const std::string& host = request.host();
  if (host.empty() || host.size() > kMostHostBytes ||
      !std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return absl::InvalidArgumentError("the container's host is no name and no address");
  }
  if (request.host_id().size() > kMostHostBytes || request.gpus_size() > kMostGpus ||
      std::any_of(request.gpus().begin(), request.gpus().end(), [](int gpu) { return gpu < 0; })) {
    return absl::InvalidArgumentError("the container's machine or devices are malformed");
  }
  return absl::OkStatus();
}

}  // namespace

LaunchService::LaunchService(std::string job_id, const Clock& clock, OneTimeSecrets& secrets,
                             Callbacks callbacks)
    : job_id_(std::move(job_id)),
      clock_(clock),
      secrets_(secrets),
      callbacks_(std::move(callbacks)) {}

grpc::ServerUnaryReactor* LaunchService::Redeem(grpc::CallbackServerContext* context,
                                                const v1::RedeemRequest* request,
                                                v1::RedeemResponse* response) {
  absl::Status allowed = Check(*request);
  if (allowed.ok()) {
    allowed = secrets_.Use(request->container_id(), request->secret(), clock_.Now());
  }
  if (absl::IsAlreadyExists(allowed)) {
    callbacks_.on_second_use(absl::StrCat("The voucher of container ", request->container_id(),
                                          " was used a second time, from ", context->peer(),
                                          ": somebody besides its executor has it"));
  }
  if (!allowed.ok()) {
    LogRefusal(refused_log_, *context, job_id_, std::string(allowed.message()));
    return new Refused<grpc::ServerUnaryReactor>(ToGrpc(allowed));
  }
  const std::shared_ptr<HeldCall> call = HeldCall::Make();
  Newcomer newcomer{.container_id = request->container_id(),
                    .host = request->host(),
                    .host_id = request->host_id(),
                    .process = {request->pid(), request->start_ticks()},
                    .gpus = {request->gpus().begin(), request->gpus().end()},
                    .peer = context->peer()};
  callbacks_.on_newcomer(newcomer, [call, response](const auto& order) {
    call->Answer(order.status(), [&] {
      if (!order.ok()) return;
      *response->mutable_arguments() = {order->arguments.begin(), order->arguments.end()};
      *response->mutable_environment() = {order->environment.begin(), order->environment.end()};
      response->set_credentials(order->secret);
    });
  });
  return call.get();
}

}  // namespace tony::rpc
