// Gets containers from an external launcher: a process that starts tony-executor for us somewhere.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "backend/launcher/launcher_messages.h"
#include "backend/launcher/packet_socket.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "core/ports/cluster_backend.h"
#include "os/files/unique_fd.h"

namespace tony::backend {

/// Parameters of a LauncherBackend.
struct LauncherBackendOptions {
  std::string job_id;
  int incarnation = 1;  ///< of the ApplicationMaster
  os::UniqueFd socket;  ///< see PacketSocket
  std::vector<LauncherFile> files;
  /// Makes the voucher of a container.
  std::function<absl::StatusOr<std::string>(const std::string& container_id)> make_voucher;
  /// The container's voucher is void from now on.
  std::function<void(const std::string& container_id)> void_voucher;
  /// The launcher is gone, or breaks the protocol: the job can get no container any more. Called
  /// once, on the loop.
  std::function<void(const std::string& why)> on_lost;
};

/// Orders containers from the launcher, one for each container id. The executor itself reports
/// where it runs, by redeeming its voucher; that is the grant (docs/design/launcher.md).
///
/// ```
///           voucher redeemed          Launch
///  ORDERED ─────────────────▶ GRANTED ──────▶ RUNNING
///     │ CancelRequests           │ Kill          │ Kill
///     ▼                          ▼               ▼
///   gone; the launcher is told  gone          the launcher is told; it reports the end
/// ```
/// A container ends when the launcher or its executor says so. An order whose executor ends before
/// it has redeemed the voucher goes out again. Not thread safe: owned by the event
/// loop.
class LauncherBackend : public core::ClusterBackend {
 public:
  /// Answers an executor that has redeemed its voucher; see rpc::LaunchService.
  using Answer = std::function<void(const absl::StatusOr<core::LaunchContext>&)>;

  /// `loop` and `listener` must outlive this object.
  LauncherBackend(EventLoop& loop, LauncherBackendOptions options, Listener& listener);
  /// The launcher sees the end of the socket. Executors that have not been answered are refused.
  ~LauncherBackend() override;
  LauncherBackend(const LauncherBackend&) = delete;
  LauncherBackend& operator=(const LauncherBackend&) = delete;

  /// An executor has redeemed the voucher of `place.id`: it runs as `place.executor` on
  /// `place.host`, with `place.gpus`. NotFound is answered if the container is not awaited, and
  /// FailedPrecondition if it has fewer GPUs than were ordered.
  void OnRedeemed(const core::Container& place, Answer answer);

  /// The container's executor has said that it ends, as its program has. OnContainerEnded follows.
  void OnExecutorLeft(const std::string& container_id, const core::ContainerEnd& end);

  void Reclaim(const std::vector<core::Container>& containers) override;
  void Request(const std::vector<core::ContainerRequest>& requests) override;
  void Launch(const std::string& container_id, const core::LaunchContext& context) override;
  void Kill(const std::string& container_id) override;
  void GiveBackSpare() override {}  // the launcher keeps what containers leave
  void CancelRequests() override;

 private:
  enum class State { kOrdered, kGranted, kRunning };
  struct LiveContainer {
    core::ContainerRequest request;
    State state = State::kOrdered;
    Answer answer;  ///< set while it is granted
  };

  std::string NextId();
  void Order(const core::ContainerRequest& request);
  /// The same for a container whose executor ended before it had redeemed its voucher.
  void OrderAgain(const core::ContainerRequest& request, const std::string& why);
  /// Sends the packets with which an ApplicationMaster begins, before its first other one.
  void SayHello();
  void Send(std::string packet);
  void OnPacket(const std::string& packet);
  void On(const ContainerReport& report);
  void On(const WaitingReport& report);
  void On(const RefusalReport& report);
  void On(const UnknownReport& report);
  void Refuse(const std::string& sentence, bool never_fits);
  void Lose(const std::string& why);
  /// Forgets the container; its executor, if it still waits for an answer, gets `why`.
  void Drop(const std::string& container_id, const absl::Status& why);

  EventLoop& loop_;
  LauncherBackendOptions options_;
  Listener& listener_;
  PacketSocket socket_;
  bool greeted_ = false;
  bool lost_ = false;
  std::map<std::string, LiveContainer> containers_;
  int failures_ = 0;     ///< orders in a row that came to nothing
  int last_number_ = 0;  ///< in the newest container id
  Lifetime lifetime_;
};

}  // namespace tony::backend
