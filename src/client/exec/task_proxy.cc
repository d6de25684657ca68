// One event loop accepts connections and follows the job's events at the same time; each connection
// has a TunnelPump of its own.
#include "client/exec/task_proxy.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal.h"
#include "common/status_macros.h"
#include "os/network/peer_user.h"

namespace tony::client {
namespace {

bool IsOwnConnection(const TcpSocket& socket) {
  return os::CheckLoopbackPeer(static_cast<uint16_t>(socket.peer_port()),
                               static_cast<uint16_t>(socket.local_port()))
      .ok();
}

}  // namespace

TaskProxy::TaskProxy(EventLoop& loop, std::unique_ptr<rpc::JobClient> client, Target target,
                     Writer err)
    : loop_(loop),
      target_(std::move(target)),
      err_(std::move(err)),
      result_(std::nullopt),
      client_(std::move(client)) {}

TaskProxy::~TaskProxy() {
  // The client's callbacks post to the loop, so the client goes first.
  client_.reset();
}

absl::StatusOr<std::unique_ptr<TaskProxy>> TaskProxy::Open(EventLoop& loop,
                                                           std::unique_ptr<rpc::JobClient> client,
                                                           const Target& target, int port,
                                                           Writer err) {
  auto proxy =
      std::unique_ptr<TaskProxy>(new TaskProxy(loop, std::move(client), target, std::move(err)));
  TONY_ASSIGN_OR_RETURN(
      proxy->listener_,
      TcpListener::Listen(loop, "127.0.0.1", port, [proxy = proxy.get()](auto socket) {
        proxy->OnAccepted(std::move(socket));
      }));
  return proxy;
}

void TaskProxy::Reconnect(std::unique_ptr<rpc::JobClient> client) {
  pumps_.clear();
  client_ = std::move(client);
}

absl::StatusOr<std::optional<core::Verdict>> TaskProxy::Serve() {
  const auto signals =
      loop_.WatchSignals({SIGINT, SIGTERM, SIGHUP}, [this](int) { Stop(std::nullopt); });
  client_->Follow(0, false,
                  {[this](const core::JobEvent& event) {
                     const auto* ended = std::get_if<core::JobEnded>(&event.body);
                     if (ended == nullptr) return;
                     loop_.Post([this, verdict = ended->verdict] { Stop({verdict}); });
                   },
                   [this](const absl::Status& status) {
                     loop_.Post([this, status] {
                       Stop(absl::UnavailableError(
                           absl::StrCat("the ApplicationMaster is gone, and the tunnel with it: ",
                                        std::string(status.message()))));
                     });
                   }});
  loop_.Run();
  return result_;
}

void TaskProxy::OnAccepted(std::unique_ptr<TcpSocket> socket) {
  // The loopback address is open to all users of the machine, so the peer's user is checked.
  if (!IsOwnConnection(*socket)) {
    PrintOnce("a connection of another user of this machine was closed");
    return socket->Break();
  }
  auto& pump = pumps_.emplace_back();
  pump = std::make_unique<rpc::TunnelPump>(
      loop_, std::move(socket),
      [this](auto callbacks) {
        return client_->tunnels().Open(target_.task, target_.port, std::move(callbacks));
      },
      [this, &pump](const absl::Status& status) { OnDone(pump.get(), status); });
}

void TaskProxy::OnDone(const rpc::TunnelPump* pump, const absl::Status& status) {
  pumps_.remove_if([pump](const auto& other) { return other.get() == pump; });
  // A connection that a browser broke off is no news for the user.
  if (status.ok() || absl::IsDeadlineExceeded(status)) return;
  PrintOnce(std::string(status.message()));
}

void TaskProxy::PrintOnce(const std::string& sentence) {
  if (sentence == last_notice_) return;
  last_notice_ = sentence;
  err_(absl::StrCat("tony: ", SafeText(absl::StrCat(target_.task.ToString(), ": ", sentence)),
                    "\n"));
}

void TaskProxy::Stop(absl::StatusOr<std::optional<core::Verdict>> result) {
  // The first result counts: the stream ends after the verdict, and must not replace it.
  if (listener_ == nullptr) return;
  listener_.reset();
  result_ = std::move(result);
  pumps_.clear();
  loop_.Stop();
}

std::string EndOf(const std::string& id, const core::Verdict& verdict) {
  return absl::StrCat("job ", SafeText(id), " has ended, ", core::OutcomeName(verdict.outcome),
                      ": ", SafeText(verdict.sentence));
}

}  // namespace tony::client
