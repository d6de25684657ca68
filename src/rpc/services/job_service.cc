// Each call checks the client's role first; a Follow stream reads the event log at the client's
// pace.
#include "rpc/services/job_service.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "common/logging.h"
#include "rpc/convert/convert.h"
#include "rpc/convert/convert_feed.h"
#include "rpc/convert/convert_stacks.h"
#include "rpc/convert/status_convert.h"
#include "rpc/convert/utf8.h"
#include "rpc/grpc/stream_reactor.h"
#include "rpc/security/peer_role.h"
#include "rpc/services/held_call.h"
#include "rpc/services/refused.h"

namespace tony::rpc {
namespace {

/// Longest sentence that a client may record.
constexpr size_t kMostNoteBytes = 1000;

/// OK if the caller is a client of this job; otherwise PERMISSION_DENIED.
grpc::Status CheckClient(const grpc::CallbackServerContext& context, const std::string& job_id,
                         LogLimit& log) {
  const absl::StatusOr<Role> role = PeerRole(*context.auth_context(), job_id);
  if (role.ok() && role->kind == RoleKind::kClient) return grpc::Status::OK;
  const std::string why =
      role.ok() ? "only a client of the job may do this" : std::string(role.status().message());
  LogRefusal(log, context, job_id, why);
  return grpc::Status(grpc::StatusCode::PERMISSION_DENIED, why);
}

/// The most measurements that go along with one; each has some hundred bytes.
constexpr int kMostTogether = 500;

/// Writes the log to one client: one event at a time, and measurements while no event is left. The
/// log's mutex guards its state. The client gets the log's own copy of each event.
class FollowStream : public ServerStream<grpc::ServerWriteReactor<v1::JobEvent>,
                                         std::shared_ptr<const v1::JobEvent>>,
                     public EventLog::Follower {
 public:
  FollowStream(EventLog& log, const v1::FollowRequest& request, std::function<void()> on_broken)
      : ServerStream(log.mutex(), 1),
        log_(log),
        next_(std::clamp<int64_t>(request.after_sequence(), 0,
                                  std::numeric_limits<int64_t>::max() - 1) +
              1),
        measurements_(request.measurements()),
        on_broken_(std::move(on_broken)) {
    // The initial metadata goes out at once, because the next event may be far off and the client
    // must know that its request arrived.
    StartSendInitialMetadata();
    std::lock_guard lock(log_.mutex());
    log_.AddLocked(this);
    OnChangeLocked();
  }

  void OnChangeLocked() override {
    if (writing_locked() || finished_locked()) return;
    std::shared_ptr<const v1::JobEvent> next = NextLocked();
    if (next != nullptr) {
      // Refused only after a failed write, which has ended the stream.
      WriteLocked(std::move(next)).IgnoreError();
    } else if (log_.closed_locked() && !log_.AwaitsLocked(next_)) {
      FinishLocked(grpc::Status::OK);
    }
  }

  void OnCancel() override {
    std::unique_lock lock(log_.mutex());
    Break(lock);
  }

 private:
  void OnWritten(bool ok, const std::shared_ptr<const v1::JobEvent>& written,
                 std::unique_lock<std::mutex>& lock) override {
    if (!ok) return Break(lock);
    if (written->sequence() != 0) next_ = written->sequence() + 1;
    OnChangeLocked();
  }

  void OnDoneLocked() override { log_.RemoveLocked(this); }

  /// The next message to write. Events come first, so that a measurement always belongs to a run
  /// that the client knows. Measurements are held back while the past is awaited.
  std::shared_ptr<const v1::JobEvent> NextLocked() {
    std::shared_ptr<const v1::JobEvent> event = log_.NextLocked(next_);
    if (event != nullptr || !measurements_ || log_.AwaitsLocked(next_) || log_.closed_locked()) {
      return event;
    }
    const std::optional<EventLog::Measurement> first = log_.NextMeasurementLocked(measured_);
    if (!first) return nullptr;
    measured_ = first->position;
    std::shared_ptr<v1::JobEvent> together;
    while (together == nullptr || together->also_size() < kMostTogether) {
      const std::optional<EventLog::Measurement> next = log_.NextMeasurementLocked(measured_);
      if (!next) break;
      if (together == nullptr) together = std::make_shared<v1::JobEvent>(*first->event);
      *together->add_also() = *next->event;
      measured_ = next->position;
    }
    return together != nullptr ? together : first->event;
  }

  /// The client is gone, as reported by a failed write or by OnCancel, whichever comes first.
  /// Releases `lock`, which holds the mutex.
  void Break(std::unique_lock<std::mutex>& lock) {
    if (!FinishLocked(grpc::Status(grpc::StatusCode::CANCELLED, "the client is gone"))) return;
    lock.unlock();
    LogDebug("a follower of the events is gone", {{"owner", on_broken_ ? "yes" : "no"}});
    if (on_broken_) on_broken_();
  }

  EventLog& log_;
  int64_t next_;
  const bool measurements_;  ///< whether the client wants measurements
  int64_t measured_ = 0;     ///< position of the last measurement written
  const std::function<void()> on_broken_;
};

}  // namespace

JobService::JobService(std::string job_id, EventLog& log, TunnelRelay& tunnels, Callbacks callbacks)
    : job_id_(std::move(job_id)), log_(log), tunnels_(tunnels), callbacks_(std::move(callbacks)) {}

grpc::ServerWriteReactor<v1::JobEvent>* JobService::Follow(grpc::CallbackServerContext* context,
                                                           const v1::FollowRequest* request) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<grpc::ServerWriteReactor<v1::JobEvent>>(allowed);
  LogDebug("a client follows the events", {{"peer", context->peer()},
                                           {"after", request->after_sequence()},
                                           {"owner", request->owner() ? "yes" : "no"}});
  if (request->owner()) callbacks_.on_owner_attached();
  return new FollowStream(log_, *request, request->owner() ? callbacks_.on_owner_gone : nullptr);
}

grpc::ServerUnaryReactor* JobService::Stop(grpc::CallbackServerContext* context,
                                           const v1::StopRequest* request, v1::StopResponse*) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (allowed.ok()) {
    LogInfo("a client stops the job", {{"job", job_id_}, {"peer", context->peer()}});
    callbacks_.on_stop(request->reason());
  }
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(allowed);
  return reactor;
}

grpc::ServerUnaryReactor* JobService::Note(grpc::CallbackServerContext* context,
                                           const v1::NoteRequest* request, v1::NoteResponse*) {
  grpc::Status answer = CheckClient(*context, job_id_, refused_log_);
  if (answer.ok() && request->sentence().size() > kMostNoteBytes) {
    answer = grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "the note is too long");
  }
  if (answer.ok()) callbacks_.on_note(request->sentence());
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(answer);
  return reactor;
}

TunnelReactor* JobService::Tunnel(grpc::CallbackServerContext* context) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<TunnelReactor>(allowed);
  return tunnels_.FromClient(context);
}

grpc::ServerUnaryReactor* JobService::OpenPage(grpc::CallbackServerContext* context,
                                               const v1::OpenPageRequest*,
                                               v1::OpenPageResponse* response) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<grpc::ServerUnaryReactor>(allowed);
  const std::shared_ptr<HeldCall> call = HeldCall::Make();
  callbacks_.on_page([call, response](const absl::StatusOr<std::string>& url) {
    call->Answer(url.status(), [&] { response->set_url(ToUtf8(*url)); });
  });
  return call.get();
}

absl::Status JobService::NotFed() {
  return absl::FailedPreconditionError(
      "the job's tasks are not fed; a job with tony.feed.enabled=true is");
}

grpc::ServerUnaryReactor* JobService::Feeds(grpc::CallbackServerContext* context,
                                            const v1::FeedsRequest*, v1::FeedsResponse* response) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<grpc::ServerUnaryReactor>(allowed);
  const std::shared_ptr<HeldCall> call = HeldCall::Make();
  callbacks_.on_feeds([call, response](const absl::StatusOr<core::JobFeeds>& feeds) {
    call->Answer(feeds.status(), [&] { *response = ToProto(*feeds); });
  });
  return call.get();
}

grpc::ServerUnaryReactor* JobService::EndFeed(grpc::CallbackServerContext* context,
                                              const v1::EndFeedRequest* request,
                                              v1::EndFeedResponse*) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<grpc::ServerUnaryReactor>(allowed);
  const std::shared_ptr<HeldCall> call = HeldCall::Make();
  callbacks_.on_end_feed(request->feed(),
                         [call](const absl::Status& status) { call->Answer(status); });
  return call.get();
}

grpc::ServerUnaryReactor* JobService::Stacks(grpc::CallbackServerContext* context,
                                             const v1::StacksRequest* request,
                                             v1::StacksResponse* response) {
  const grpc::Status allowed = CheckClient(*context, job_id_, refused_log_);
  if (!allowed.ok()) return new Refused<grpc::ServerUnaryReactor>(allowed);
  std::vector<core::TaskId> tasks;
  for (const v1::TaskId& task : request->tasks()) tasks.push_back(FromProto(task));
  const std::shared_ptr<HeldCall> call = HeldCall::Make();
  callbacks_.on_stacks(tasks, [call, response](const absl::StatusOr<core::StackReport>& report) {
    call->Answer(report.status(), [&] { *response = ToProto(*report); });
  });
  return call.get();
}

}  // namespace tony::rpc
