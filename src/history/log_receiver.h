// Receives the logs of one container through a tunnel.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/event_loop.h"
#include "common/lifetime.h"
#include "history/job_logs.h"
#include "history/log_mirror.h"
#include "rpc/tunnel/tunnel_end.h"

namespace tony::history {

/// Writes each piece into the mirror before it reads the next one. So a slow disk slows the sender
/// down, and no memory fills. Not thread safe: owned by the event loop.
class LogReceiver {
 public:
  struct Callbacks {
    /// Told why a part of the logs does not come, as soon as that is known; null: `on_done` alone
    /// tells.
    std::function<void(const std::string& trouble)> on_trouble;
    /// OK: all has come. DataLoss: a part could not be read; the codes of the Tunnel call and of
    /// LogMirror::Take(). May destroy the receiver.
    std::function<void(const absl::Status&)> on_done;
  };

  /// `patience`: if nothing comes for this long, the receiver is done with DeadlineExceeded; none:
  /// it waits for ever, because logs are followed. `loop` and `mirror` outlive this.
  LogReceiver(EventLoop& loop, LogMirror& mirror, LogOrigin origin, const v1::LogWish& wish,
              std::optional<Duration> patience, const rpc::TunnelDialer& dialer,
              Callbacks callbacks);
  ~LogReceiver();
  LogReceiver(const LogReceiver&) = delete;
  LogReceiver& operator=(const LogReceiver&) = delete;

 private:
  void AwaitFrame();
  void OnWritten();
  void OnFrame(v1::TunnelFrame frame);
  void OnClosed(absl::Status status);
  /// Ends the reception and calls `on_done`. `status` is a copy, because the owner may destroy this
  /// object in the callback.
  void Done(absl::Status status);

  EventLoop& loop_;
  LogMirror& mirror_;
  const LogOrigin origin_;
  const std::optional<Duration> patience_;
  const Callbacks callbacks_;
  Lifetime lifetime_;  ///< ends when the reception is done, or with the receiver
  std::unique_ptr<EventLoop::Handle> late_;
  absl::Status trouble_;  ///< the newest trouble that the sender told of
  bool sent_end_ = false;
  bool received_end_ = false;
  std::unique_ptr<rpc::TunnelEnd> end_;  ///< last member: its callbacks use the others
};

/// The request for the part of an origin's logs that `selection` means.
v1::LogWish WishFor(const LogOrigin& origin, const LogSelection& selection, bool follow);

/// Whether `selection` means the file of an origin, which lies where all files of a container are.
bool IsSelected(const LogOrigin& origin, const LogSelection& selection,
                const logs::ContainerLogFile& file);

/// A container whose logs did not come, and why.
struct UnreachedOrigin {
  LogOrigin origin;
  absl::Status why;  ///< the codes of LogReceiver
};

/// Copies the part of the logs of `origins` that `selection` means and that exists now, from many
/// origins at a time. Blocks. Returns the origins whose logs have not all come.
std::vector<UnreachedOrigin> CopyThroughTunnels(const rpc::TunnelDialer& dialer,
                                                const std::vector<LogOrigin>& origins,
                                                const LogSelection& selection, LogMirror& mirror);

}  // namespace tony::history
