// JobClient on gRPC's callback API.
#include "rpc/job_client.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "common/status_macros.h"
#include "rpc/convert.h"
#include "rpc/grpc_credentials.h"
#include "rpc/status_convert.h"
#include "rpc/utf8.h"

namespace tony::rpc {
namespace {

std::chrono::system_clock::time_point DeadlineIn(Duration time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
}

}  // namespace

/// Reads one Follow stream. Its owner waits for OnDone before destroying it: were it left to gRPC's
/// thread, that would destroy the channel, too, and with it itself.
class JobClient::FollowStream : public grpc::ClientReadReactor<v1::JobEvent> {
 public:
  FollowStream(v1::JobService::Stub& stub, int64_t after_sequence, bool owner,
               FollowCallbacks callbacks)
      : stub_(stub), callbacks_(std::move(callbacks)) {
    request_.set_after_sequence(after_sequence);
    request_.set_owner(owner);
    request_.set_measurements(callbacks_.on_measurement != nullptr);
  }

  void Start() {
    stub_.async()->Follow(&context_, &request_, this);
    StartRead(&incoming_);
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok && callbacks_.on_open) callbacks_.on_open();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // The end; or an event that could not be read: then the stream does not end before the next
      // one is taken.
      if (!std::exchange(read_failed_, true)) StartRead(&incoming_);
      return;
    }
    if (read_failed_) {
      context_.TryCancel();
      return;
    }
    // An event of a kind that this version does not know is left out.
    absl::StatusOr<core::JobEvent> event = FromProto(incoming_);
    if (event.ok()) Take(*std::move(event));
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    callbacks_.on_closed(FromGrpc(status));
    std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  void CancelAndWait() {
    context_.TryCancel();
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
  }

 private:
  void Take(core::JobEvent event) {
    if (event.sequence != 0) return callbacks_.on_event(std::move(event));
    if (callbacks_.on_measurement) callbacks_.on_measurement(std::move(event));
  }

  v1::JobService::Stub& stub_;
  const FollowCallbacks callbacks_;
  grpc::ClientContext context_;
  v1::FollowRequest request_;
  v1::JobEvent incoming_;
  bool read_failed_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
};

JobClient::JobClient(const std::string& master_address, const Credentials& credentials,
                     std::optional<Duration> silence_limit)
    : channel_(MakeMasterChannel(master_address, credentials, silence_limit)),
      stub_(v1::JobService::NewStub(channel_)) {}

JobClient::~JobClient() {
  if (follow_ != nullptr) follow_->CancelAndWait();
}

void JobClient::Follow(int64_t after_sequence, bool owner, FollowCallbacks callbacks) {
  follow_ = std::make_unique<FollowStream>(*stub_, after_sequence, owner, std::move(callbacks));
  follow_->Start();
}

absl::Status JobClient::Stop(const std::string& reason, Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::StopRequest request;
  request.set_reason(ToUtf8(reason));
  v1::StopResponse response;
  return FromGrpc(stub_->Stop(&context, request, &response));
}

absl::StatusOr<std::string> JobClient::OpenPage(Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::OpenPageResponse response;
  TONY_RETURN_IF_ERROR(FromGrpc(stub_->OpenPage(&context, v1::OpenPageRequest(), &response)));
  return response.url();
}

}  // namespace tony::rpc
