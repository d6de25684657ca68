// Opens a port of this machine that leads to a port of a task.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "client/verbs/verbs.h"
#include "common/event_loop.h"
#include "common/tcp_socket.h"
#include "core/record/job_event.h"
#include "rpc/services/job_client.h"
#include "rpc/tunnel/tunnel_pump.h"

namespace tony::client {

/// Listens on 127.0.0.1 and carries each connection through the job's ApplicationMaster to the
/// task, until the job ends or the user ends this. Connections of other users of this machine are
/// closed, because a task's page may ask for no password. Not thread safe.
class TaskProxy {
 public:
  /// Opens the proxy to the task's visualization port, or to its own port if it has no
  /// visualization port. Port 0: any free one. InvalidArgument, Unavailable – as
  /// TcpListener::Listen.
  static absl::StatusOr<std::unique_ptr<TaskProxy>> Open(std::unique_ptr<rpc::JobClient> client,
                                                         const core::TaskId& task, int port,
                                                         Writer err);
  ~TaskProxy();

  int port() const { return listener_->port(); }

  /// Carries connections until the end. Returns the verdict when the job has ended; nothing after
  /// Ctrl-C. Unavailable – the ApplicationMaster is gone.
  absl::StatusOr<std::optional<core::Verdict>> Serve();

 private:
  TaskProxy(std::unique_ptr<rpc::JobClient> client, core::TaskId task, Writer err);
  void OnAccepted(std::unique_ptr<TcpSocket> socket);
  void OnDone(const rpc::TunnelPump* pump, const absl::Status& status);
  /// Tells the user a sentence, unless it is the same as the last one.
  void PrintOnce(const std::string& sentence);
  void Stop(absl::StatusOr<std::optional<core::Verdict>> result);

  EventLoop loop_;
  const core::TaskId task_;
  const Writer err_;
  std::string last_notice_;
  absl::StatusOr<std::optional<core::Verdict>> result_;
  std::unique_ptr<TcpListener> listener_;
  std::unique_ptr<rpc::JobClient> client_;
  const rpc::TunnelDialer dialer_;
  std::list<std::unique_ptr<rpc::TunnelPump>> pumps_;
};

}  // namespace tony::client
