// A client's connection to a job's ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/feed/job_feeds.h"
#include "core/record/job_event.h"
#include "core/stacks/stack_report.h"
#include "rpc/security/credentials.h"
#include "rpc/tunnel/tunnel_end.h"

// Neither gRPC nor protobuf is included here: they cost each file that includes this one seconds of
// the compiler's time.
namespace tony::rpc {

/// Calls of JobService from a client's side. Thread safe.
class JobClient {
 public:
  struct FollowCallbacks {
    std::function<void(core::JobEvent)> on_event;
    /// The stream is over; OK after the job's last event. Called exactly once.
    std::function<void(absl::Status)> on_closed;
    /// The ApplicationMaster has accepted the stream, on which nothing may arrive for a long time.
    /// Called before all events, and not at all if the ApplicationMaster cannot be reached.
    /// Optional.
    std::function<void()> on_open = nullptr;
    /// The newest measurement of a running task: a core::TaskMeasured without a sequence number.
    /// Optional: without it the client asks for no measurements.
    std::function<void(core::JobEvent)> on_measurement = nullptr;
  };

  /// `silence_limit`: interval of pings, and the time after which an unanswered ping ends a stream
  /// (Unavailable). It is needed because a machine that vanishes closes no connection. nullopt: no
  /// pings; enough on one machine, where the kernel closes a dead process's connections.
  JobClient(const std::string& master_address, const Credentials& credentials,
            std::optional<Duration> silence_limit = std::nullopt);
  /// Breaks an open Follow and waits until gRPC has let go of it. That takes no time, except for a
  /// few seconds if gRPC could start no thread.
  ~JobClient();

  /// Streams the events after `after_sequence` to the callbacks, on gRPC's threads, one at a time.
  /// `owner`: the job ends when this stream breaks. At most one Follow per client.
  void Follow(int64_t after_sequence, bool owner, FollowCallbacks callbacks);

  /// Asks the ApplicationMaster to end the job as KILLED; when this returns OK, the wish is noted.
  /// Unavailable, DeadlineExceeded – the ApplicationMaster cannot be reached. PermissionDenied –
  /// the credentials are not a client's.
  absl::Status Stop(const std::string& reason, Duration deadline);

  /// Like Stop(), without waiting. The answer comes on one of gRPC's threads, at most once, and not
  /// after this object is destroyed. Must not be called again before the answer has come.
  void StopLater(const std::string& reason, Duration deadline,
                 std::function<void(absl::Status)> on_answer);

  /// Asks the ApplicationMaster to record a sentence among the job's notes. The answer comes as
  /// that of StopLater(), with its codes; InvalidArgument – the sentence has more than 1000 bytes.
  void NoteLater(const std::string& sentence, Duration deadline,
                 std::function<void(absl::Status)> on_answer);

  /// The URL of the job's page; it may be good for one visit only. The codes of Stop(), and those
  /// of the ApplicationMaster's listening socket.
  absl::StatusOr<std::string> OpenPage(Duration deadline);

  /// Where and how the job is fed. The codes of Stop(); FailedPrecondition – it is not.
  absl::StatusOr<core::JobFeeds> Feeds(Duration deadline);
  /// Ends a feed of the job. The codes of Feeds(); InvalidArgument – no feed can be called so;
  /// ResourceExhausted – the job has as many feeds as it may have.
  absl::Status EndFeed(const std::string& feed, Duration deadline);

  /// The stacks of the processes of `tasks`; of all running tasks, if there are none. The codes of
  /// Stop(); NotFound – the job has no such task. ResourceExhausted – too many clients ask at once.
  /// Unimplemented – the ApplicationMaster is of an earlier version.
  absl::StatusOr<core::StackReport> Stacks(const std::vector<core::TaskId>& tasks,
                                           Duration deadline);

  /// Makes tunnels to the job's tasks over this client's connection; they may outlive the client.
  TunnelDialer tunnels() const { return TunnelDialer(channel_); }

 private:
  class FollowStream;
  class StopCall;
  class NoteCall;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<FollowStream> follow_;
  std::unique_ptr<StopCall> stop_;
  std::unique_ptr<NoteCall> note_;
};

}  // namespace tony::rpc
