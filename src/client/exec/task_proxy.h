// Opens a port of this machine that leads to a port of a task.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/show/progress_printer.h"
#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "core/record/job_event.h"
#include "rpc/services/job_client.h"
#include "rpc/tunnel/tunnel_pump.h"

namespace tony::client {

/// Listens on 127.0.0.1 and carries each connection through the job's ApplicationMaster to the
/// task. Connections of other users of this machine are closed, because a task's page may ask for
/// no password. Not thread safe: owned by the event loop, which outlives it.
class TaskProxy {
 public:
  /// Where connections lead.
  struct Target {
    core::TaskId task;
    int port = 0;  ///< 0: the task's visualization port, or its own port if it has none
  };

  /// Opens the proxy. `port`: where to listen; 0: any free one. `err`: for the user, about
  /// connections that fail. InvalidArgument, Unavailable – as TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<TaskProxy>> Open(EventLoop& loop,
                                                         std::unique_ptr<rpc::JobClient> client,
                                                         const Target& target, int port,
                                                         Writer err);
  /// Breaks its connections.
  ~TaskProxy();

  int port() const { return listener_->port(); }

  /// Goes on with another ApplicationMaster; connections through the last one are broken.
  void Reconnect(std::unique_ptr<rpc::JobClient> client);

  /// Runs the loop and carries connections until the end. Returns the verdict when the job has
  /// ended; nothing after Ctrl-C. Unavailable – the ApplicationMaster is gone.
  absl::StatusOr<std::optional<core::Verdict>> Serve();

 private:
  TaskProxy(EventLoop& loop, std::unique_ptr<rpc::JobClient> client, Target target, Writer err);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);
  void OnDone(const rpc::TunnelPump* pump, const absl::Status& status);
  /// Tells the user a sentence, unless it is the same as the last one.
  void PrintOnce(const std::string& sentence);
  void Stop(absl::StatusOr<std::optional<core::Verdict>> result);

  EventLoop& loop_;
  const Target target_;
  const Writer err_;
  std::string last_notice_;
  absl::StatusOr<std::optional<core::Verdict>> result_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<rpc::JobClient> client_;
  std::list<std::unique_ptr<rpc::TunnelPump>> pumps_;
};

/// A sentence about the end of job `id`, for the user of a proxy.
std::string EndOf(const std::string& id, const core::Verdict& verdict);

}  // namespace tony::client
