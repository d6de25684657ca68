// Asynchronous calls on gRPC's callback API; each is leaked if gRPC never lets go of it.
#include "rpc/services/job_client.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "common/logging.h"
#include "common/status_macros.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/convert_feed.h"
#include "rpc/convert/convert_stacks.h"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/grpc/pending_call.h"
#include "rpc/security/grpc_credentials.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {
namespace {

/// How long gRPC may take to let go of a cancelled call: no time, unless it has no threads.
constexpr std::chrono::seconds kLetGoPatience{2};

std::chrono::system_clock::time_point DeadlineIn(Duration time) {
  return std::chrono::system_clock::now() +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(time);
}

/// The status of a call that had `deadline`. gRPC's own words for one that was too slow name
/// neither who was asked nor for how long.
absl::Status StatusOf(const grpc::Status& status, Duration deadline) {
  if (status.error_code() != grpc::StatusCode::DEADLINE_EXCEEDED) return FromGrpc(status);
  return absl::DeadlineExceededError(absl::StrCat("the ApplicationMaster has not answered within ",
                                                  absl::FormatDuration(absl::FromChrono(deadline)),
                                                  "; its machine may be busy"));
}

/// One call whose answer comes later; owned like a FollowStream.
template <typename Request, typename Response>
class LaterCall {
 public:
  LaterCall(const std::shared_ptr<grpc::Channel>& channel, Duration deadline,
            std::function<void(absl::Status)> on_answer)
      : stub_(v1::JobService::NewStub(channel)),
        deadline_(deadline),
        on_answer_(std::move(on_answer)) {
    context_.set_deadline(DeadlineIn(deadline));
  }

  /// False: gRPC may still use this object.
  bool CancelAndWait(Duration patience) {
    context_.TryCancel();
    return call_.AwaitDone(patience);
  }

 protected:
  std::function<void(grpc::Status)> OnAnswer() {
    return [this](const grpc::Status& status) {
      call_.Tell([&] { on_answer_(StatusOf(status, deadline_)); });
      call_.SetDone();
    };
  }

  const std::unique_ptr<v1::JobService::Stub> stub_;
  grpc::ClientContext context_;
  Request request_;
  Response response_;

 private:
  const Duration deadline_;
  const std::function<void(absl::Status)> on_answer_;
  PendingCall call_;
};

/// Destroys a call, or leaks it if gRPC may still use it.
template <typename Call>
void LetGo(std::unique_ptr<Call>& call, Duration patience) {
  if (call != nullptr && !call->CancelAndWait(patience)) (void)call.release();
  call.reset();
}

}  // namespace

/// Reads one Follow stream. The owner waits for OnDone and destroys the stream itself. gRPC's
/// thread must not do that: it would also destroy the channel, and with it the thread it runs on.
/// The stream shares the channel in case it is leaked.
class JobClient::FollowStream : public grpc::ClientReadReactor<v1::JobEvent> {
 public:
  FollowStream(const std::shared_ptr<grpc::Channel>& channel, int64_t after_sequence, bool owner,
               FollowCallbacks callbacks)
      : stub_(v1::JobService::NewStub(channel)), callbacks_(std::move(callbacks)) {
    request_.set_after_sequence(after_sequence);
    request_.set_owner(owner);
    request_.set_measurements(callbacks_.on_measurement != nullptr);
  }

  void Start() {
    stub_->async()->Follow(&context_, &request_, this);
    StartRead(&incoming_);
    StartCall();
  }

  void OnReadInitialMetadataDone(bool ok) override {
    if (ok && callbacks_.on_open) call_.Tell(callbacks_.on_open);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      // Either the stream has ended, or an event could not be read. In the second case the stream
      // ends only after one more read has been started.
      if (!std::exchange(read_failed_, true)) StartRead(&incoming_);
      return;
    }
    if (read_failed_) {
      LogWarning("an event cannot be read: the stream of events is given up");
      context_.TryCancel();
      return;
    }
    Hear(incoming_);
    // Only a measurement brings others along.
    for (const v1::JobEvent& measured : incoming_.also()) {
      if (incoming_.sequence() == 0 && measured.sequence() == 0) Hear(measured);
    }
    StartRead(&incoming_);
  }

  void OnDone(const grpc::Status& status) override {
    call_.Tell([&] { callbacks_.on_closed(FromGrpc(status)); });
    call_.SetDone();
  }

  /// False: gRPC may still use this object.
  bool CancelAndWait(Duration patience) {
    context_.TryCancel();
    return call_.AwaitDone(patience);
  }

 private:
  /// Events of a kind unknown to this version are left out.
  void Hear(const v1::JobEvent& message) {
    absl::StatusOr<core::JobEvent> event = FromProto(message);
    if (!event.ok()) {
      return LogDebug("an event of an unknown kind is left out",
                      {{"sequence", message.sequence()}});
    }
    call_.Tell([&] { Take(*std::move(event)); });
  }
  void Take(core::JobEvent event) {
    if (event.sequence != 0) return callbacks_.on_event(std::move(event));
    if (callbacks_.on_measurement) callbacks_.on_measurement(std::move(event));
  }

  const std::unique_ptr<v1::JobService::Stub> stub_;
  const FollowCallbacks callbacks_;
  grpc::ClientContext context_;
  v1::FollowRequest request_;
  v1::JobEvent incoming_;
  bool read_failed_ = false;
  PendingCall call_;
};

/// A Stop call whose answer comes later.
class JobClient::StopCall : public LaterCall<v1::StopRequest, v1::StopResponse> {
 public:
  using LaterCall::LaterCall;

  void Start(const std::string& reason) {
    request_.set_reason(ToUtf8(reason));
    stub_->async()->Stop(&context_, &request_, &response_, OnAnswer());
  }
};

/// A Note call whose answer comes later.
class JobClient::NoteCall : public LaterCall<v1::NoteRequest, v1::NoteResponse> {
 public:
  using LaterCall::LaterCall;

  void Start(const std::string& sentence) {
    request_.set_sentence(ToUtf8(sentence));
    stub_->async()->Note(&context_, &request_, &response_, OnAnswer());
  }
};

JobClient::JobClient(const std::string& master_address, const Credentials& credentials,
                     std::optional<Duration> silence_limit)
    : channel_(MakeMasterChannel(master_address, credentials, silence_limit)) {}

JobClient::~JobClient() {
  // The second wait is skipped after a first one that timed out: gRPC without threads answers
  // neither call.
  const bool answers = follow_ == nullptr || follow_->CancelAndWait(kLetGoPatience);
  if (!answers) {
    LogDebug("gRPC does not let go of a call: it is leaked");
    (void)follow_.release();
  }
  const Duration patience = answers ? Duration(kLetGoPatience) : Duration::zero();
  LetGo(stop_, patience);
  LetGo(note_, patience);
}

void JobClient::Follow(int64_t after_sequence, bool owner, FollowCallbacks callbacks) {
  follow_ = std::make_unique<FollowStream>(channel_, after_sequence, owner, std::move(callbacks));
  follow_->Start();
}

absl::Status JobClient::Stop(const std::string& reason, Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::StopRequest request;
  request.set_reason(ToUtf8(reason));
  v1::StopResponse response;
  return StatusOf(v1::JobService::NewStub(channel_)->Stop(&context, request, &response), deadline);
}

void JobClient::StopLater(const std::string& reason, Duration deadline,
                          std::function<void(absl::Status)> on_answer) {
  // The earlier call has been answered, but gRPC may still be using it.
  LetGo(stop_, kLetGoPatience);
  stop_ = std::make_unique<StopCall>(channel_, deadline, std::move(on_answer));
  stop_->Start(reason);
}

void JobClient::NoteLater(const std::string& sentence, Duration deadline,
                          std::function<void(absl::Status)> on_answer) {
  LetGo(note_, kLetGoPatience);
  note_ = std::make_unique<NoteCall>(channel_, deadline, std::move(on_answer));
  note_->Start(sentence);
}

absl::StatusOr<core::JobFeeds> JobClient::Feeds(Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::FeedsResponse response;
  TONY_RETURN_IF_ERROR(StatusOf(
      v1::JobService::NewStub(channel_)->Feeds(&context, v1::FeedsRequest(), &response), deadline));
  return FromProto(response);
}

absl::Status JobClient::EndFeed(const std::string& feed, Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::EndFeedRequest request;
  request.set_feed(ToUtf8(feed));
  v1::EndFeedResponse response;
  return StatusOf(v1::JobService::NewStub(channel_)->EndFeed(&context, request, &response),
                  deadline);
}

absl::StatusOr<core::StackReport> JobClient::Stacks(const std::vector<core::TaskId>& tasks,
                                                    Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::StacksRequest request;
  for (const core::TaskId& task : tasks) *request.add_tasks() = ToProto(task);
  v1::StacksResponse response;
  TONY_RETURN_IF_ERROR(
      StatusOf(v1::JobService::NewStub(channel_)->Stacks(&context, request, &response), deadline));
  return FromProto(response);
}

absl::StatusOr<std::string> JobClient::OpenPage(Duration deadline) {
  grpc::ClientContext context;
  context.set_deadline(DeadlineIn(deadline));
  v1::OpenPageResponse response;
  const std::unique_ptr<v1::JobService::Stub> stub = v1::JobService::NewStub(channel_);
  TONY_RETURN_IF_ERROR(
      StatusOf(stub->OpenPage(&context, v1::OpenPageRequest(), &response), deadline));
  return response.url();
}

}  // namespace tony::rpc
