// A client's connection to a job's ApplicationMaster.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "core/record/job_event.h"
#include "rpc/security/credentials.h"
#include "rpc/tunnel/tunnel_end.h"
#include "tony/v1/application_master.grpc.pb.h"

namespace tony::rpc {

/// Thread safe.
class JobClient {
 public:
  struct FollowCallbacks {
    std::function<void(core::JobEvent)> on_event;
    /// The stream is over: OK after the job's last event. Comes exactly once.
    std::function<void(absl::Status)> on_closed;
    /// The ApplicationMaster has taken the stream, in which nothing may come for long. Comes before
    /// all events, and not at all when it cannot be reached. May be missing.
    std::function<void()> on_open = nullptr;
    /// The newest measurement of a running task, a core::TaskMeasured without number. May be
    /// missing: then the ApplicationMaster is not asked for any.
    std::function<void(core::JobEvent)> on_measurement = nullptr;
  };

  /// `silence_limit`: a stream ends (Unavailable) when the other side has let a ping of ours
  /// unanswered for so long, and pings are sent as often: a machine that vanishes closes no
  /// connection. None: as on one machine, where the kernel closes what its processes leave.
  JobClient(const std::string& master_address, const Credentials& credentials,
            std::optional<Duration> silence_limit = std::nullopt);
  /// Breaks a Follow that is open and waits until gRPC has let go of it, which takes no time; a few
  /// seconds where gRPC could start no thread that would.
  ~JobClient();

  /// Streams the events after `after_sequence` to the callbacks, on gRPC's threads, one at a time.
  /// `owner`: the job ends when this stream breaks. At most one Follow for a client.
  void Follow(int64_t after_sequence, bool owner, FollowCallbacks callbacks);

  /// Asks the ApplicationMaster to end the job as KILLED; it has noted the wish when this returns
  /// OK. Unavailable, DeadlineExceeded – it cannot be reached; PermissionDenied – the credentials
  /// are not a client's.
  absl::Status Stop(const std::string& reason, Duration deadline);

  /// The same without waiting: the answer comes on one of gRPC's threads, at most once, and not
  /// after this object is destroyed. Not again before it has come.
  void StopLater(const std::string& reason, Duration deadline,
                 std::function<void(absl::Status)> on_answer);

  /// Where the job's page is to be seen; the address may be good for one visit only. The codes of
  /// Stop(), and those of the ApplicationMaster's listening socket.
  absl::StatusOr<std::string> OpenPage(Duration deadline);

  /// Makes tunnels to the job's tasks over this client's connection, which they may outlive.
  TunnelDialer tunnels() const { return TunnelDialer(channel_); }

 private:
  class FollowStream;
  class StopCall;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::JobService::Stub> stub_;
  std::unique_ptr<FollowStream> follow_;
  std::unique_ptr<StopCall> stop_;
};

}  // namespace tony::rpc
